"""One question of a file, by its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.errors import InputError, suggestion
from distrivote.store.tables.questions import Questions
from distrivote.voting.ballot import Ballot

_MOST_KNOWN = 10_000
"""Names kept for suggestions."""


def find_question(questions: Iterable[Questions], wanted: str) -> Questions:
    """Return the one question of that name, written as ID, or as BY/ID in a file with several runs.

    The whole file is read, since rows of an unsorted one may follow until its end.
    """
    found: list[Questions] = []
    names: list[str] = []
    for some in questions:
        ids = some.ids.cast(pa.string())
        matching = pc.equal(ids, wanted)
        if some.by is not None:
            ids = pc.binary_join_element_wise(some.by.cast(pa.string()), ids, "/")
            matching = pc.or_(matching, pc.equal(ids, wanted))
        if len(names) < _MOST_KNOWN:
            names += ids.slice(0, _MOST_KNOWN - len(names)).to_pylist()
        found += [_only(some, int(i)) for i in pc.indices_nonzero(matching).to_numpy()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(f"there is no question {wanted!r}: {suggestion(wanted, names, most=3)}")
    several = [f"{one.by[0]}/{wanted}" for one in found[:3] if one.by is not None]
    raise InputError(
        f"{len(found)} questions are called {wanted!r}: say which one, as in {' or '.join(several)}"
    )


def _only(some: Questions, index: int) -> Questions:
    low, high = (int(at) for at in some.offsets[index : index + 2])
    return Questions(
        ids=some.ids.slice(index, 1),
        by=some.by.slice(index, 1) if some.by is not None else None,
        offsets=np.array([0, high - low]),
        classes=some.classes[low:high].copy(),
        labels=some.labels,
        confidences=some.confidences[low:high].copy(),
        truths=some.truths.slice(index, 1) if some.truths is not None else None,
        correct=some.correct[low:high].copy() if some.correct is not None else None,
        models=some.models[low:high].copy() if some.models is not None else None,
    )


def ballot_of(one: Questions, notes: Sequence[str] = ()) -> Ballot:
    """Return the ballot of a single question."""
    answers = one.labels.take(pa.array(one.classes, mask=one.classes < 0)).to_pylist()
    confidences = [None if c != c else c for c in one.confidences.tolist()]
    ballot = Ballot.of(answers, confidences, notes)
    return ballot if one.models is None else replace(ballot, models=tuple(one.models.tolist()))
