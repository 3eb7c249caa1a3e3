"""The evidence of a pool's confidences for each answer, before they are weighed.

By their order: the r-th of the n confidences of a pool, from the lowest, has the score that a standard
normal number has at (r - 1/2) / n; equal ones share the mean of theirs. The scores of a pool always are the
same n numbers, so that no outlier changes the scale.

By their size: the lead of one trajectory over another is the logarithm of their ratio, from `NEAR` on and
limited to `FAR`. The unit is fixed and every pair is bounded. With a scale that is measured in the pool the
property below could not hold (docs/trust.md has the proof).

If one trajectory becomes surer, neither number of its own answer ever falls, and neither number of another
answer rises.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from distrivote.voting.kernels.pools import (
    BoolArray,
    FloatArray,
    IntArray,
    Pools,
    or_infinity,
    sums_by_answer,
)

NEAR, FAR = 0.3, 0.8
"""A lead counts from a ratio of 1.35 on, which is rare among measures of token confidence, and in full from
2.2 on. Logarithms."""

_AT_ONCE = 256
"""Pools whose leads are computed together: few enough that no digits are lost."""


class Evidence(NamedTuple):
    """(n_pools, n_answers) each, except `within`."""

    counts: FloatArray
    """How many trajectories with a confidence gave each answer."""

    gaps: FloatArray
    """How far the mean score of an answer lies above that of all other trajectories; 0 if there are none,
    or if all confidences are equal."""

    within: FloatArray
    """(n_pools,) The sum of squared distances of the scores from the mean of their answer."""

    votes: FloatArray
    """How many trajectories gave each answer, with a confidence or without."""

    leads: FloatArray
    """From -1 to 1: how far trajectories of an answer lead those of all others, the mean over all pairs."""


def evidence_of(pools: Pools, sized: bool = True) -> Evidence:
    """Return the evidence of every pool; without leads if sizes are not comparable (not `sized`)."""
    values = or_infinity(pools.confidences, pools.answered)
    order = np.argsort(values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    sorted_pools = pools._replace(answers=np.take_along_axis(pools.answers, order, axis=1))
    sizes = np.count_nonzero(pools.answered, axis=1)
    counts = sums_by_answer(pools, pools.answered.astype(np.float64))
    scores = rank_scores(ranked, sizes)
    sums = sums_by_answer(sorted_pools, scores)
    within = np.square(scores).sum(axis=1) - (sums**2 / np.maximum(counts, 1.0)).sum(axis=1)
    leads = np.zeros_like(counts)
    if sized:
        wide, led = lead_scores(ranked, sizes)
        leads[wide] = _gaps(counts[wide], sums_by_answer(sorted_pools.rows(wide), led))
    return Evidence(counts, _gaps(counts, sums), np.maximum(within, 0.0), counts, leads)


def _gaps(counts: FloatArray, sums: FloatArray) -> FloatArray:
    """Return how far the mean of each answer lies above that of all other trajectories."""
    rest = counts.sum(axis=1, keepdims=True) - counts
    compared = (counts > 0) & (rest > 0)
    means = sums / np.where(counts > 0, counts, 1.0)
    others = (sums.sum(axis=1, keepdims=True) - sums) / np.where(rest > 0, rest, 1.0)
    gaps: FloatArray = np.where(compared, means - others, 0.0)
    return gaps


def rank_scores(ranked: FloatArray, sizes: IntArray) -> FloatArray:
    """Return the score of every trajectory of sorted pools, (n_pools, n_columns).

    The first `sizes` of each count; the score of the others is 0, as it is if all are equal.
    """
    distinct, which = np.unique(sizes, return_inverse=True)
    width = ranked.shape[1]
    below = np.zeros((len(distinct), width + 1))  # the sum of the scores below each index
    for row, n in enumerate(distinct.tolist()):
        below[row, 1 : n + 1] = np.cumsum(_normal_scores(n))
        below[row, n:] = 0.0  # they are symmetric
    starts = np.zeros((len(ranked), width), dtype=np.int64)
    places = np.arange(1, width)
    new = ranked[:, 1:] != ranked[:, :-1]
    starts[:, 1:] = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.full((len(ranked), width), width)
    ends[:, :-1] = np.minimum.accumulate(np.where(new, places, width)[:, ::-1], axis=1)[:, ::-1]
    shared: FloatArray = (below[which[:, None], ends] - below[which[:, None], starts]) / (ends - starts)
    return shared


@lru_cache(maxsize=256)
def _normal_scores(n: int) -> FloatArray:
    inverse = NormalDist().inv_cdf
    lower = [inverse((rank + 0.5) / n) for rank in range(n // 2)]
    return np.array([*lower, *([0.0] * (n % 2)), *(-score for score in reversed(lower))])


def lead_scores(ranked: FloatArray, sizes: IntArray) -> tuple[IntArray, FloatArray]:
    """Return which of some sorted pools have a lead, and how far each trajectory leads on average.

    Pools with a confidence that is not positive have none: ratios mean nothing there.
    """
    lowest, highest = ranked[:, 0], ranked[np.arange(len(ranked)), np.maximum(sizes, 1) - 1]
    wide = np.flatnonzero((lowest > 0.0) & (highest > lowest * np.exp(NEAR)))
    scores = np.zeros((len(wide), ranked.shape[1]))
    for start in range(0, len(wide), _AT_ONCE):
        rows = wide[start : start + _AT_ONCE]
        there = np.arange(ranked.shape[1]) < sizes[rows, None]
        values = np.where(there, np.log(ranked[rows]) - np.log(lowest[rows, None]), 0.0)
        scores[start : start + _AT_ONCE][there] = _leads(values, there)
    return wide, scores


def _leads(table: FloatArray, there: BoolArray) -> FloatArray:
    """Return, flat, how far each value leads those of its row on average; rows are sorted."""
    row, _ = np.nonzero(there)
    values, sizes = table[there], np.count_nonzero(there, axis=1)
    starts, n = (np.cumsum(sizes) - sizes)[row], sizes[row]
    below = np.zeros((len(table), table.shape[1] + 1))
    below[:, 1:] = np.cumsum(table, axis=1)
    # Rows are shifted so far apart that one search finds the positions in all of them.
    apart = values + row * (values.max() + 2 * FAR)

    def clipped(width: float) -> FloatArray:
        """Return the sum of the differences to all values, each clipped to `width`."""
        first, last = (apart.searchsorted(apart + step) - starts for step in (-width, width))
        inside: FloatArray = values * (last - first) - (below[row, last] - below[row, first])
        inside += width * (first + last - n)
        return inside

    leads: FloatArray = (clipped(FAR) - clipped(NEAR)) / ((FAR - NEAR) * n)
    return leads
