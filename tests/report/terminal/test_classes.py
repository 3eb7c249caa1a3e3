"""Which strings were taken for one answer, in words."""

from __future__ import annotations

import pytest

from distrivote.report.terminal.classes import answer_classes, class_lines


@pytest.mark.parametrize(
    ("answers", "classes", "last"),
    [
        (["3", "4"], [0, 1], "  2 answers are each written one way"),
        (["3"], [0], "  1 answer is written one way"),
        (["0.5", "1/2", "3"], [0, 0, 1], "  1 more answer is written one way"),
        (["0.5", "1/2", "3", "4"], [0, 0, 1, 2], "  2 more answers are each written one way"),
    ],
)
def test_answers_of_one_string_are_counted(answers: list[str], classes: list[int], last: str) -> None:
    lines = class_lines(answer_classes(answers, classes, [None] * len(answers)), "math", None, 80)
    assert [line.plain for line in lines][-1] == last
