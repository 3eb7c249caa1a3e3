"""GSM8K in its original form, and the local copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from distrivote.benchmarks import gsm8k, load
from distrivote.benchmarks.question_table import QuestionRow, QuestionTable
from distrivote.errors import InputError

LOCAL = Path(__file__).parents[1] / "data" / "gsm8k_test_100.jsonl"


def test_the_local_copy_has_all_problems_with_numbers_for_answers() -> None:
    benchmark = load("gsm8k", path=LOCAL)
    assert len(benchmark) == len({problem.id for problem in benchmark}) == 100
    assert benchmark.problems[-1].id == "gsm8k-0100"
    for problem in benchmark:
        float(problem.answer or "")
    assert len(load("gsm8k", path=LOCAL, limit=10)) == 10


@pytest.mark.parametrize(
    ("answer", "final"),
    [
        ("5 * 2 = <<5*2=10>>10\n#### 10", "10"),
        ("#### 70,000", "70000"),
        ("#### 1,234,567.5", "1234567.5"),
        ("1,2", "1,2"),
        ("see #### 3\n#### -4 ", "-4"),
        (18, "18"),
    ],
)
def test_the_answer_is_what_follows_the_marks(answer: object, final: str) -> None:
    rows = [QuestionRow("row 1", {"question": "q", "answer": answer})]
    assert gsm8k.problems(QuestionTable("made up", rows))[0].answer == final


def test_marks_with_nothing_behind_them_are_an_error() -> None:
    rows = [QuestionRow("mine, line 1", {"question": "q", "answer": "1 + 1\n####"})]
    with pytest.raises(InputError, match="mine, line 1: nothing follows #### in answer"):
        gsm8k.problems(QuestionTable("mine", rows))
