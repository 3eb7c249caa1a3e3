"""Hierarchical voting over many pools at once (section 4 of the method).

The range of the members' confidences is cut into equal intervals. Each interval elects an answer by
weighted vote and gives it the mean confidence of those of its trajectories that voted for it; a
weighted vote over the intervals' answers decides, lowest interval first.

With `negated` every confidence counts as its negative, in the intervals, the sums and the comparison:
the vote of the likely wrong half.
"""

from __future__ import annotations

import numpy as np

from distrivote.voting.kernels.pools import (
    BoolArray,
    FloatArray,
    IntArray,
    Pools,
    best_answers,
    first_seen,
    or_infinity,
    signed_scores,
    sums_by_key,
    winning_answers,
)

# Pools x intervals x answers in one table: 32 MB of sums.
MAX_CELLS = 2**22


def interval_indices(
    confidences: FloatArray, members: BoolArray, n_intervals: int, negated: bool
) -> IntArray:
    """Return the interval of each member, open below and closed above, the first one closed below.

    Index = ceil((C - min) / h) - 1, clipped; 0 for all if h is 0. The index of a trajectory that is not a
    member is undefined.
    """
    low = or_infinity(confidences, members).min(axis=1, keepdims=True)
    high = (confidences * members).max(axis=1, keepdims=True)
    low = np.minimum(low, high)  # also makes it finite in a row without members
    width = (high - low) / n_intervals
    width[width == 0.0] = np.inf
    offsets = high - confidences if negated else confidences - low
    offsets /= width
    np.ceil(offsets, out=offsets)
    offsets -= 1.0
    indices: IntArray = np.clip(offsets, 0.0, n_intervals - 1.0, out=offsets).astype(np.int64)
    return indices


def interval_winners(
    pools: Pools, members: BoolArray, n_intervals: int, negated: bool
) -> tuple[IntArray, FloatArray]:
    """Return (n_pools, n_intervals) interval answers, -1 where empty, and their weights."""
    n, k = len(pools.answers), pools.n_answers
    intervals = interval_indices(pools.confidences, members, n_intervals, negated)
    groups = intervals + (np.arange(n) * n_intervals)[:, None]
    weights = pools.confidences * members
    sums = sums_by_key(groups * k + pools.answers, weights, n * n_intervals * k)
    sums = sums.reshape(n * n_intervals, k)
    scores = signed_scores(sums, negated)

    winners, tied = best_answers(scores)
    if tied.size:
        pool, interval = np.divmod(tied, n_intervals)
        in_group = members[pool] & (intervals[pool] == interval[:, None])
        winners[tied] = first_seen(scores[tied], pools.answers[pool], in_group)

    supports = members & (winners[groups] == pools.answers)
    counts = np.bincount(groups.ravel(), supports.ravel(), n * n_intervals)
    totals = sums[np.arange(len(winners)), winners]
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty interval
        means = np.where(winners >= 0, totals / counts, 0.0)
    if negated:
        means = -means
    return winners.reshape(n, n_intervals), means.reshape(n, n_intervals)


def hierarchical_vote(
    pools: Pools, members: BoolArray, n_intervals: int, negated: bool
) -> tuple[IntArray, FloatArray]:
    """Return the winner of each pool (-1: no members) and the (n_pools, n_answers) scores."""
    n, k = len(pools.answers), pools.n_answers
    rows = max(1, MAX_CELLS // (n_intervals * k))
    if n > rows:
        parts = [
            hierarchical_vote(pools.rows(slice(i, i + rows)), members[i : i + rows], n_intervals, negated)
            for i in range(0, n, rows)
        ]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    return between_intervals(*interval_winners(pools, members, n_intervals, negated), k, negated)


def between_intervals(
    elected: IntArray, weights: FloatArray, n_answers: int, negated: bool
) -> tuple[IntArray, FloatArray]:
    """Return the winners of a weighted vote over intervals' answers (-1: none), and the scores."""
    n, k = len(elected), n_answers
    there = elected >= 0
    keys = np.where(there, elected, 0) + (np.arange(n) * k)[:, None]
    scores: FloatArray = np.bincount(keys.ravel(), weights.ravel(), n * k).reshape(n, k)  # type: ignore[assignment]
    comparable = signed_scores(np.abs(scores), negated)
    return winning_answers(comparable, np.where(there, elected, 0), there), scores
