"""GPQA Diamond: 198 graduate-level multiple choice questions that can't be answered by web search.

The set has the right answer and three wrong ones but no order of them. The order here is drawn from the
question's `Record ID` (without one from its text): the same on every machine, and independent of which other
questions are used. The paper's prompt is the template `choice`.

The set is gated, and its authors ask that it is not shown in plain text on the web.
"""

from __future__ import annotations

from distrivote.benchmarks.draws import Draws
from distrivote.benchmarks.hub import Home
from distrivote.benchmarks.lettering import lettered
from distrivote.benchmarks.question_table import IDS, QuestionRow, QuestionTable, numbered, with_ids
from distrivote.problem import Problem

NAME = "gpqa-diamond"
HOME = Home("Idavidrein/gpqa", config="gpqa_diamond", gated=True)


def problems(rows: QuestionTable) -> tuple[Problem, ...]:
    """Return the problems from rows with `Question`, `Correct Answer` and `Incorrect Answer 1` to `3`.

    >>> row = QuestionRow("row 1", {"Question": "2 + 2?", "Correct Answer": "4", "Incorrect Answer 1": "3",
    ...                     "Incorrect Answer 2": "5", "Incorrect Answer 3": "22", "Record ID": "rec1"})
    >>> problem = problems(QuestionTable("made-up.csv", [row]))[0]
    >>> print(problem.question, problem.answer, sep="\\n")
    2 + 2?
    A) 3
    B) 4
    C) 22
    D) 5
    B
    """
    question, right = rows.column("Question"), rows.column("Correct Answer")
    wrong = [rows.column(f"Incorrect Answer {number}") for number in (1, 2, 3)]
    ids = rows.optional(("Record ID", *IDS))

    def problem(row: QuestionRow, own_id: str) -> Problem:
        asked = row.needed(question)
        draws = Draws.of_text(asked if ids is None else own_id)
        put = lettered(asked, row.needed(right), [row.needed(column) for column in wrong], draws)
        return Problem(put.question, own_id, put.letter, template="choice")

    return with_ids(rows, ids, lambda number: numbered(NAME, number, 3), problem)
