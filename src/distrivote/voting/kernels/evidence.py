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
from typing import NamedTuple, TypeVar

import numpy as np

from distrivote.voting.kernels.pools import (
    BoolArray,
    FloatArray,
    IntArray,
    Pools,
    keys_by_answer,
    or_infinity,
    sums_by_key,
)

NEAR, FAR = 0.3, 0.8
"""A lead counts from a ratio of 1.35 on, which is rare among measures of token confidence, and in full from
2.2 on. Logarithms."""

_AT_ONCE = 128
"""Pools whose leads are computed together: few enough that no digits are lost."""

_SURELY = 0.999
"""This share of a distance is surely below it, whatever is rounded."""


NumberArray = TypeVar("NumberArray", FloatArray, IntArray)


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
    # Equal confidences have equal scores: their order does not matter, so the sort need not be stable.
    order = np.argsort(values, axis=1)
    order += (np.arange(len(values)) * values.shape[1])[:, None]
    ranked = values.ravel()[order]
    keys, k = keys_by_answer(pools), pools.n_answers
    sorted_keys = keys.ravel()[order]
    sizes = np.count_nonzero(pools.answered, axis=1)
    counts = _sums(keys, pools.answered.astype(np.float64), k)
    scores = rank_scores(ranked, sizes)
    sums = _sums(sorted_keys, scores, k)
    within = np.square(scores).sum(axis=1) - (sums**2 / np.maximum(counts, 1.0)).sum(axis=1)
    leads = np.zeros_like(counts)
    if sized:
        wide, led = lead_scores(ranked, sizes)
        wide_keys = sorted_keys[wide] - ((wide - np.arange(len(wide))) * k)[:, None]
        leads[wide] = _gaps(counts[wide], _sums(wide_keys, led, k))
    return Evidence(counts, _gaps(counts, sums), np.maximum(within, 0.0), counts, leads)


def _sums(keys: IntArray, weights: FloatArray, n_answers: int) -> FloatArray:
    """Return (n_pools, n_answers) sums for the keys of `keys_by_answer`, in any order within a pool."""
    return sums_by_key(keys, weights, len(keys) * n_answers).reshape(len(keys), n_answers)


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
    scores: FloatArray = np.diff(below, axis=1)[which]
    equal = ranked[:, 1:] == ranked[:, :-1]
    equal &= ranked[:, 1:] < np.inf
    tied = np.flatnonzero(equal.any(axis=1))
    if tied.size:
        scores[tied] = _shared_scores(ranked[tied], below, which[tied])
    return scores


def _shared_scores(ranked: FloatArray, below: FloatArray, which: IntArray) -> FloatArray:
    """Return the scores of rows with equal values, which share the mean of theirs."""
    width = ranked.shape[1]
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
    full = bool((sizes == ranked.shape[1]).all())
    for start in range(0, len(wide), _AT_ONCE):
        rows = wide[start : start + _AT_ONCE]
        there = np.arange(ranked.shape[1]) < sizes[rows, None]
        values = np.log(ranked[rows])
        values -= np.log(lowest[rows, None])
        if full:
            scores[start : start + _AT_ONCE] = _leads(values, there).reshape(values.shape)
            continue
        values = np.where(there, values, 0.0)
        scores[start : start + _AT_ONCE][there] = _leads(values, there)
    return wide, scores


def _leads(table: FloatArray, there: BoolArray) -> FloatArray:
    """Return, flat, how far each value leads those of its row on average; rows are sorted from 0 on."""
    n_rows, width = table.shape
    sizes = np.count_nonzero(there, axis=1)
    starts = np.cumsum(sizes) - sizes
    below = np.zeros((n_rows, width + 1))
    np.cumsum(table, axis=1, out=below[:, 1:])
    whole, sums = below[:, -1], below.ravel()
    numbers = np.arange(n_rows)
    # In a full table what belongs to a row is broadcast, which takes half of the time of a copy per value.
    row = np.repeat(numbers, sizes) if sizes.sum() < table.size else None
    values = table if row is None else table[there]

    def each(of_rows: NumberArray) -> NumberArray:
        """Return what belongs to the row of each value."""
        return of_rows[:, None] if row is None else of_rows[row]

    def clipped(some: FloatArray, first: IntArray, last: IntArray, step: float, of: _Places) -> FloatArray:
        """Return the sums of some values' differences to all values of their row, each clipped to `step`.

        Those to the values from position `first` to `last`, counted through all rows, are not clipped.
        """
        inside: FloatArray = some * (last - first)
        inside -= sums[of.sums + last] - sums[of.sums + first]
        inside += step * (first + last - of.ends)
        return inside

    # Rows are shifted so far apart that one search finds the positions in all of them.
    apart = (values + each(numbers * (values.max() + 2 * FAR))).ravel()
    places = _Places(numbers * (width + 1) - starts, 2 * starts + sizes)
    far = values * each(sizes) - each(whole)
    # Few values are that far from the lowest (which is 0) or the highest of their row: no search for others.
    beyond = values > _SURELY * FAR
    beyond |= values < each(table[numbers, sizes - 1] - _SURELY * FAR)
    out = np.flatnonzero(beyond)
    mine = out // width if row is None else row[out]
    first, last = (apart.searchsorted(apart[out] + step) for step in (-FAR, FAR))
    here = _Places(places.sums[mine], places.ends[mine])
    far.ravel()[out] = clipped(values.ravel()[out], first, last, FAR, here)
    last = apart.searchsorted(apart + NEAR)
    first = _positions_below(apart, NEAR, last)
    shape, here = values.shape, _Places(each(places.sums), each(places.ends))
    near = clipped(values, first.reshape(shape), last.reshape(shape), NEAR, here)
    leads: FloatArray = (far - near) / ((FAR - NEAR) * each(sizes))
    return leads.ravel()


class _Places(NamedTuple):
    """What turns positions, counted through all rows, into those that a sum needs."""

    sums: IntArray
    """How far the table of sums is ahead of the values."""

    ends: IntArray
    """Where the row begins plus where it ends."""


def _positions_below(values: FloatArray, step: float, above: IntArray) -> IntArray:
    """Return `values.searchsorted(values - step)`, given `above`, the same with `+ step`, for sorted values.

    One value lies below another by more than `step` where that one lies above it, so counting replaces a
    search. Rounding could tell the two apart: every position is checked, and searched where it is wrong.
    """
    found: IntArray = np.cumsum(np.bincount(above, minlength=len(values) + 1))[:-1]
    keys = values - step
    wrong = np.flatnonzero((values[found] < keys) | (values[found - 1] >= keys))
    found[wrong] = values.searchsorted(keys[wrong])
    return found
