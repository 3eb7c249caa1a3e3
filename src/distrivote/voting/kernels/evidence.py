"""What the confidences of a pool say for each answer, before anything is known of their worth.

Only their order counts. The r-th of the n confidences of a pool, from the lowest, has the score that a
standard normal number has at (r - 1/2) / n; equal ones share the mean of theirs. The scores of a pool
always are the same n numbers, so that no outlier stretches the scale, and one trajectory that gets surer
only takes score from those that it passes: the gap of its own answer never falls and that of no other
answer rises. Nothing that depends on sizes could promise this whatever the unit of the confidences
(docs/trust.md has the proof).
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from distrivote.voting.kernels.pools import FloatArray, Pools, or_infinity, sums_by_answer


class Evidence(NamedTuple):
    """(n_pools, n_answers) each but for `within`."""

    counts: FloatArray
    """How many with a confidence gave each answer."""

    gaps: FloatArray
    """How far the mean score of an answer lies above that of all other trajectories; 0 where there are
    none, or where all confidences are equal."""

    within: FloatArray
    """(n_pools,) The squared distances of the scores from the mean of their answer, added up."""

    votes: FloatArray
    """How many gave each answer, with a confidence or without."""


def evidence_of(pools: Pools) -> Evidence:
    """Return the evidence of every pool."""
    scores = rank_scores(pools)
    counts = sums_by_answer(pools, pools.answered.astype(np.float64))
    sums = sums_by_answer(pools, scores)
    rest = counts.sum(axis=1, keepdims=True) - counts
    compared = (counts > 0) & (rest > 0)
    means = sums / np.where(counts > 0, counts, 1.0)
    others = (sums.sum(axis=1, keepdims=True) - sums) / np.where(rest > 0, rest, 1.0)
    gaps = np.where(compared, means - others, 0.0)
    within = np.square(scores).sum(axis=1) - (sums * means).sum(axis=1)
    return Evidence(counts, gaps, np.maximum(within, 0.0), counts)


def rank_scores(pools: Pools) -> FloatArray:
    """Return (n_pools, n_columns) the score of every trajectory; 0 where there is none, or all are equal."""
    values = or_infinity(pools.confidences, pools.answered)
    order = np.argsort(values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    sizes, which = np.unique(np.count_nonzero(pools.answered, axis=1), return_inverse=True)
    width = ranked.shape[1]
    below = np.zeros((len(sizes), width + 1))  # the scores below each place, added up
    for row, n in enumerate(sizes.tolist()):
        below[row, 1 : n + 1] = np.cumsum(_normal_scores(n))
        below[row, n:] = 0.0  # they are symmetric
    starts = np.zeros((len(ranked), width), dtype=np.int64)
    places = np.arange(1, width)
    new = ranked[:, 1:] != ranked[:, :-1]
    starts[:, 1:] = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.full((len(ranked), width), width)
    ends[:, :-1] = np.minimum.accumulate(np.where(new, places, width)[:, ::-1], axis=1)[:, ::-1]
    shared = (below[which[:, None], ends] - below[which[:, None], starts]) / (ends - starts)
    scores: FloatArray = np.empty_like(shared)
    np.put_along_axis(scores, order, shared, axis=1)
    return scores


@lru_cache(maxsize=256)
def _normal_scores(n: int) -> FloatArray:
    inverse = NormalDist().inv_cdf
    lower = [inverse((rank + 0.5) / n) for rank in range(n // 2)]
    return np.array([*lower, *([0.0] * (n % 2)), *(-score for score in reversed(lower))])
