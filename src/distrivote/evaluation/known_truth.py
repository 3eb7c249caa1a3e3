"""Answers of one question and what is known about their truth -> a pool.

Truth is given by row: 1 right, 0 wrong, or `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from distrivote.evaluation.pools import Flags, Ints, Pool
from distrivote.nouns import count, verb
from distrivote.store.columns import CONFIDENCE

UNKNOWN = -1


def known_pool(question: str, arrays: Mapping[str, Any]) -> Pool | None:
    """Return the pool of one question; None if it is not known which answers are right."""
    truth = arrays["truth"]
    if (truth == UNKNOWN).all():
        return None
    classes = _in_order(arrays["classes"])
    measures = {
        key.removeprefix("measure "): values
        for key, values in arrays.items()
        if key.startswith("measure ") and np.isfinite(values).any()
    }
    return Pool(
        question,
        classes,
        _known(classes, truth),
        arrays[CONFIDENCE],
        measures,
        arrays.get("n_tokens"),
        arrays.get("n_steps"),
        arrays.get("n_reflections"),
        arrays.get("n_paragraphs"),
        seconds=arrays.get("seconds"),
        weights=arrays.get("weights"),
        models=tuple(arrays.get("models", ())),
    )


def _in_order(classes: Ints) -> Ints:
    """Renumber the classes in the order in which they first appear."""
    given, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    first = np.where(given < 0, -1, first)
    numbers = np.empty(len(given), dtype=np.int64)
    numbers[np.argsort(first, kind="stable")] = np.arange(len(given)) - bool((given < 0).any())
    return numbers[inverse]


def _known(classes: Ints, truth: Any) -> Flags:
    """Return what is right; an unknown row is like others with its answer, otherwise wrong."""
    correct = np.asarray(truth == 1) & (classes >= 0)
    unsaid = (truth == UNKNOWN) & (classes >= 0)
    for number in np.unique(classes[unsaid]).tolist():
        told = truth[(classes == number) & (truth != UNKNOWN)]
        correct[unsaid & (classes == number)] = bool(len(told)) and bool(2 * (told == 1).sum() > len(told))
    return correct


def note_unknown(notes: list[str], name: str, n_unknown: int, n: int) -> None:
    if 0 < n_unknown < n:
        have = f"{verb(n_unknown, 'have')} no known answer and {verb(n_unknown, 'are')}"
        notes.append(f"{name}: {n_unknown} of {count(n, 'question')} {have} left out")
