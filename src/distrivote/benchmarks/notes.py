"""`notes`: short notes made from a seed, whose facts are asked for as one JSON object.

    receipt    shop, date, items with quantities, total, payment
    order      customer, items with quantities, address, day of delivery, gift or not
    meeting    title, date, start, end, place, people
    invoice    number, customer, amount, currency, due date, paid or not
    booking    guest, arrival, departure, adults, children, breakfast or not
    call       caller, company, telephone number, call back on, at, about what

Dates, times and numbers are written as people write them and asked for in one format; some are relative
("within 14 days"), some are corrected later in the note. Lists keep the order of the note. All kinds are
mixed, so that the first problems are the same for every size. Pure.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from distrivote.benchmarks.draws import Draws
from distrivote.benchmarks.levels import DEFAULT_SIZE, graded
from distrivote.benchmarks.note_kinds import KINDS, Note
from distrivote.benchmarks.question_table import numbered
from distrivote.problem import Problem

NAME = "notes"
ANSWER = "json"
"""The kind of answer that is asked for."""


class _Put(NamedTuple):
    question: str
    answer: str


def problems(seed: int = 0, size: int = DEFAULT_SIZE) -> tuple[Problem, ...]:
    """Return notes determined by (seed, size), all different; the answer is a JSON object.

    >>> problem = problems(seed=0, size=5)[0]
    >>> problem.id, problem.template, sorted(json.loads(problem.answer))[0]
    ('notes-0001', 'plain', 'about')
    """
    draws = Draws(seed)
    notes = graded(size, 1, lambda _: _put(draws.pick(KINDS)(draws)))
    return tuple(
        Problem(put.question, numbered(NAME, number, 4), put.answer, template="plain")
        for number, put in enumerate(notes, 1)
    )


def _put(note: Note) -> _Put:
    keys = "\n".join(f"- {field.key}: {field.form}" for field in note.fields)
    question = (
        f"Read this note.\n\n{note.text}\n\nReturn one JSON object with these keys:\n{keys}\n\n"
        "Reply with the JSON object only, on one line."
    )
    answer = json.dumps({field.key: field.value for field in note.fields}, ensure_ascii=False)
    return _Put(question, answer)
