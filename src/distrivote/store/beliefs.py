"""How far the confidences of a file can be trusted, learned from its own questions, for `auto`.

The first questions decide for all: a file of any length is read once, and every command that votes on
it uses the same trust. Each value of `by` counts as one model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from distrivote.store.tables.questions import Questions
from distrivote.voting.methods import parse_method
from distrivote.voting.models import Worth, worth_of_pools
from distrivote.voting.trust import Trust
from distrivote.voting.vote import trust_of

MOST_QUESTIONS = 256
"""The number of questions that are used: after that the trust hardly changes."""

Beliefs = Mapping[str, Trust]
"""The trust of each model; "" without `by`."""


def learned_first(questions: Iterable[Questions]) -> tuple[Iterator[Questions], Beliefs]:
    """Return the same questions, and the trust of each model learned from the first of them."""
    rest, held, n = iter(questions), list[Questions](), 0
    for some in rest:
        held.append(some)
        n += len(some)
        if n >= MOST_QUESTIONS:
            break
    return chain(held, rest), _beliefs(held)


def worth_first(questions: Iterable[Questions]) -> tuple[Iterator[Questions], Worth]:
    """Return the same questions, and what their models are worth by the votes on the first of them."""
    rest, held, n = iter(questions), list[Questions](), 0
    for some in rest:
        held.append(some)
        n += len(some)
        if some.models is None or n >= MOST_QUESTIONS:
            break
    tables = [
        (some.classes[low:high], some.models[low:high])
        for some in held
        if some.models is not None
        for low, high in pairwise(some.offsets.tolist())
    ]
    return chain(held, rest), worth_of_pools(tables[:MOST_QUESTIONS])


def learns(methods: Iterable[str]) -> bool:
    """Whether one of the methods uses trust."""
    return any(parse_method(name).trust is not None for name in methods)


def models_of(some: Questions) -> list[str]:
    """Return the model of each question; "" if the file does not name several."""
    return [""] * len(some) if some.by is None else [str(value) for value in some.by.to_pylist()]


def of_model(some: Questions, mine: npt.NDArray[np.bool_]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the classes, confidences and offsets of the questions of one model."""
    sizes = np.diff(some.offsets)
    inside = slice(int(some.offsets[0]), int(some.offsets[-1]))
    rows = np.repeat(mine, sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes[mine])])
    return some.classes[inside][rows], some.confidences[inside][rows], offsets


def _beliefs(held: Sequence[Questions]) -> Beliefs:
    if any(some.models is not None for some in held):
        return {}  # their confidences become ranks, which are judged in each question
    parts: dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
    n = 0
    for some in held:
        left = MOST_QUESTIONS - n
        models = np.array(models_of(some), dtype=object)
        first = np.arange(len(some)) < left
        for model in dict.fromkeys(models[first].tolist()):
            parts.setdefault(model, []).append(of_model(some, first & (models == model)))
        n += len(some)
    return {model: _trust(some) for model, some in parts.items()}


def _trust(parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Trust:
    classes, confidences = (np.concatenate([part[column] for part in parts]) for column in (0, 1))
    sizes = np.concatenate([np.diff(offsets) for _, _, offsets in parts])
    return trust_of(classes, confidences, np.concatenate([[0], np.cumsum(sizes)]))
