"""Your own problems: a table with the columns `question` and `answer`, optionally `id` or `question_id`.

Without ids a question's id is the number of its row. An empty answer is unknown; an empty question or a
duplicate id is an error. A column `system` holds the system messages of questions.
"""

from __future__ import annotations

from distrivote.benchmarks.question_table import IDS, QuestionRow, QuestionTable, with_ids
from distrivote.problem import Problem


def problems(rows: QuestionTable) -> tuple[Problem, ...]:
    """Return the problem of each row, with the template `math`.

    >>> row = QuestionRow("mine.csv, line 2", {"question": "What is 6 * 7?", "answer": 42})
    >>> problems(QuestionTable("mine.csv", [row]))
    (Problem(question='What is 6 * 7?', id='1', answer='42', template='math', system=None),)
    """
    question, answer = rows.column("question"), rows.column("answer")
    system = rows.optional(["system"])

    def problem(row: QuestionRow, own_id: str) -> Problem:
        told = None if system is None else row.text(system) or None
        return Problem(row.needed(question), own_id, row.text(answer), template="math", system=told)

    return with_ids(rows, rows.optional(IDS), str, problem)
