"""Anybody's table of questions and answers."""

from __future__ import annotations

from typing import Any

import pytest

from distrivote.benchmarks import tables
from distrivote.benchmarks.question_table import QuestionRow, QuestionTable
from distrivote.problem import Problem


def table(*values: dict[str, Any]) -> QuestionTable:
    return QuestionTable(
        "mine", [QuestionRow(f"mine, line {number}", row) for number, row in enumerate(values, 1)]
    )


@pytest.mark.parametrize(
    ("answer", "text"),
    [(42, "42"), (42.0, "42"), (0.5, "0.5"), (True, "true"), (" x ", "x"), (None, None), ("", None)],
)
def test_an_answer_is_text_or_unknown(answer: object, text: str | None) -> None:
    assert tables.problems(table({"question": "q", "answer": answer}))[0].answer == text


def test_a_row_that_leaves_the_answer_out_has_none() -> None:
    problems = tables.problems(table({"question": "p", "answer": 1}, {"question": "q"}))
    assert problems == (
        Problem("p", "1", "1", template="math"),
        Problem("q", "2", None, template="math"),
    )


@pytest.mark.parametrize("column", ["id", "question_id"])
def test_ids_are_kept_as_they_are(column: str) -> None:
    problems = tables.problems(table({"question": "q", "answer": 1, column: 7.0}))
    assert problems[0].id == "7"


def test_questions_may_be_alike_if_their_ids_are_not() -> None:
    assert len(tables.problems(table(*[{"question": "q", "answer": 1}] * 3))) == 3


def test_a_column_of_system_messages_gives_each_question_its_own() -> None:
    problems = tables.problems(
        table(
            {"question": "p", "answer": 1, "system": "Be brief."},
            {"question": "q", "answer": 1, "system": ""},
            {"question": "r", "answer": 1},
        )
    )
    assert [problem.system for problem in problems] == ["Be brief.", None, None]
