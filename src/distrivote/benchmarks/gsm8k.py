"""GSM8K: grade-school word problems, 1,319 of them in the test set.

The original answers are worked solutions that end with `#### 42`; only what follows is the answer.
"""

from __future__ import annotations

import re

from distrivote.benchmarks.hub import Home
from distrivote.benchmarks.question_table import IDS, QuestionRow, QuestionTable, numbered, with_ids
from distrivote.errors import InputError
from distrivote.problem import Problem

NAME = "gsm8k"
HOME = Home("openai/gsm8k", config="main", split="test")

_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


def problems(rows: QuestionTable) -> tuple[Problem, ...]:
    """Return the problems from rows with `question` and `answer`.

    >>> row = QuestionRow("row 1", {"question": "Two dozen eggs?", "answer": "2 * 12 = 24\\n#### 24"})
    >>> problems(QuestionTable("hf:openai/gsm8k", [row]))
    (Problem(question='Two dozen eggs?', id='gsm8k-0001', answer='24', template='math', system=None),)
    """
    question, answer = rows.column("question"), rows.column("answer")

    def problem(row: QuestionRow, own_id: str) -> Problem:
        final = row.needed(answer).rpartition("####")[2].strip()
        if not final:
            raise InputError(f"{row.where}: nothing follows #### in {answer}: write the final answer there")
        return Problem(row.needed(question), own_id, _THOUSANDS.sub("", final), template="math")

    return with_ids(rows, rows.optional(IDS), lambda number: numbered(NAME, number, 4), problem)
