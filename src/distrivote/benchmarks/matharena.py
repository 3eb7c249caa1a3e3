"""Final-answer competitions: AIME 2024 and 2025, HMMT February 2025 and BRUMO 2025, 30 problems each.

The paper's prompt is the template `math`. MathArena's sets number their problems in `problem_idx`;
HuggingFaceH4/aime_2024 has its own order and its own `id`s. The numbers of each source are kept, so that its
problems have the same ids from the hub and from a copy.
"""

from __future__ import annotations

from distrivote.benchmarks.hub import Home
from distrivote.benchmarks.question_table import IDS, QuestionRow, QuestionTable, numbered, with_ids
from distrivote.problem import Problem

HOMES = {
    "aime2024": Home("HuggingFaceH4/aime_2024"),
    "aime2025": Home("MathArena/aime_2025"),
    "hmmt2025": Home("MathArena/hmmt_feb_2025"),
    "brumo2025": Home("MathArena/brumo_2025"),
}


def problems(name: str, rows: QuestionTable) -> tuple[Problem, ...]:
    """Return the problems of a competition from rows with `problem` (or `question`) and `answer`.

    >>> row = QuestionRow("row 1", {"problem_idx": 7, "problem": "Find $2+2$.", "answer": "004"})
    >>> problems("aime2025", QuestionTable("hf:MathArena/aime_2025", [row]))
    (Problem(question='Find $2+2$.', id='aime2025-07', answer='4', template='math', system=None),)
    """
    question, answer = rows.column("problem", "question"), rows.column("answer")

    def problem(row: QuestionRow, own_id: str) -> Problem:
        full_id = numbered(name, own_id, 2) if own_id.isdecimal() else own_id
        return Problem(row.needed(question), full_id, _plain(row.needed(answer)), template="math")

    return with_ids(rows, rows.optional((*IDS, "problem_idx")), str, problem)


def _plain(answer: str) -> str:
    """AIME answers have three digits on the answer sheet: 025 means 25."""
    return answer.lstrip("0") or "0" if answer.isdecimal() else answer
