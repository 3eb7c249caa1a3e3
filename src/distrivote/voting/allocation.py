"""A budget over questions: where the next samples go.

Every question gets a few trajectories at first. Then rounds follow: each gives samples to the questions whose
answer is expected to gain most per sample, which are those that are neither settled nor hopeless. What m more
samples are worth to a question is the gain of the stopping rule `gain` over the next m: how much more
probable the answer is expected to be than today's. Nothing goes where nothing is gained, so that a budget
need not be spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distrivote.defaults import METHOD
from distrivote.voting.ballot import Ballot
from distrivote.voting.kernels.pools import IntArray
from distrivote.voting.methods import parse_method
from distrivote.voting.stopping.outlooks import outlook, uses_confidences
from distrivote.voting.stopping.probable import count_gain

FIRST = 4
"""Trajectories of every question before anything is compared."""

_GROWTH = 0.5
"""A grant is this share of what a question has: few of a question that has few, so that no grant is large
beside what is known."""

_HORIZONS = (0.5, 1.0, 3.0)
"""How far it is looked ahead, in trajectories that a question has: close races need more than one grant."""

_N_COMPLETIONS = 128


class Worth(NamedTuple):
    """What more samples are worth to a question."""

    rate: float
    """Expected gain in probability for each sample, at the best horizon."""

    grant: int
    """How many to give at a time; 0 if it has all that it may have."""


def worth(ballot: Ballot, n_left: int, method: str = METHOD, *, seed: int = 0) -> Worth:
    """Return what samples are worth to a question that may have `n_left` more.

    >>> close, settled = worth(Ballot.of("aabb"), 60), worth(Ballot.of("a" * 12), 52)
    >>> close.rate > 10 * settled.rate, close.grant, settled.grant
    (True, 2, 6)
    """
    n = len(ballot.classes)
    grant = min(max(FIRST if n < FIRST else round(n * _GROWTH), 1), n_left)
    if grant < 1:
        return Worth(0.0, 0)
    if not (ballot.classes >= 0).any():
        return Worth(
            1.0 / (n + 1.0), grant
        )  # nothing is known: it comes first, less so with each that is silent
    horizons = dict.fromkeys(min(max(round(n * share), 1), n_left) for share in _HORIZONS)
    return Worth(max(_gain(ballot, m, method, seed) / m for m in horizons), grant)


def _gain(ballot: Ballot, n_more: int, method: str, seed: int) -> float:
    pipeline = parse_method(method)
    if uses_confidences(ballot, pipeline):
        rng = np.random.default_rng([seed, len(ballot.classes), n_more])
        return float(outlook(ballot, n_more, pipeline, _N_COMPLETIONS, rng).gains.mean())
    votes = ballot.classes[ballot.classes >= 0]
    counts = tuple(sorted(np.unique(votes, return_counts=True)[1].tolist(), reverse=True))
    return count_gain(counts, len(ballot.classes) - len(votes), n_more, _N_COMPLETIONS, seed)


def next_round(worths: Sequence[Worth], n: int) -> IntArray:
    """Return how many of n samples each question gets: grants to those with the highest rates.

    Fewer than n are given where no more questions gain anything. Of equal rates the earlier question comes
    first.

    >>> next_round([Worth(0.01, 4), Worth(0.0, 4), Worth(0.03, 2)], 5).tolist()
    [3, 0, 2]
    """
    given = np.zeros(len(worths), dtype=np.int64)
    order = sorted(range(len(worths)), key=lambda index: (-worths[index].rate, index))
    for index in order:
        if n <= 0 or worths[index].rate <= 0:
            break
        given[index] = min(worths[index].grant, n)
        n -= int(given[index])
    return given


def round_size(n_left: int, n_questions: int) -> int:
    """Return how many samples the next round has, of `n_left` that may still be spent.

    An eighth of what is left, so that later rounds know more, and enough to keep an engine busy.
    """
    return min(max(n_left // 8, n_questions // 4, 16), n_left)
