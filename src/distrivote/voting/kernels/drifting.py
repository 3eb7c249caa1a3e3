"""The hierarchical vote as the authors' released script counts it, over many pools at once.

From the highest confidence downwards, the first value below the current interval starts the next one, whose
lower end is one step further down, wherever that value lies: after a gap intervals lag behind the values, and
hold one value each until they have caught up. Each elects its most frequent answer (on a tie that of its
surest trajectory) and gives it the mean confidence of all its members. Of equal confidences the later
trajectory comes first, as in a reversed stable sort.

With `negated` every confidence counts as its negative.
"""

from __future__ import annotations

import numpy as np

from distrivote.voting.kernels.hierarchy import MAX_CELLS, between_intervals
from distrivote.voting.kernels.pools import (
    BoolArray,
    FloatArray,
    IntArray,
    Pools,
    best_answers,
    first_seen,
    signed_scores,
    sums_by_key,
)


def drifting_intervals(descending: FloatArray, sizes: IntArray, n_intervals: int) -> IntArray:
    """Return the interval of each value, 0 the highest, for rows that are valid in their first `sizes`."""
    n, width = descending.shape
    each = np.arange(n)
    highest, lowest = descending[:, 0], descending[each, np.maximum(sizes - 1, 0)]
    anybody = sizes > 0
    with np.errstate(invalid="ignore"):  # infinities in a row without members
        steps = np.where(anybody, (highest - lowest) * (1.0 / n_intervals), 0.0)
    ends = highest - steps
    current = np.zeros(n, dtype=np.int64)
    intervals = np.zeros((n, width), dtype=np.int64)
    for column in range(width):
        below = (descending[:, column] < ends) & (column < sizes)
        current += below
        ends = np.where(below, ends - steps, ends)
        intervals[:, column] = current
    return intervals


def drifting_winners(
    pools: Pools, members: BoolArray, n_intervals: int, negated: bool
) -> tuple[IntArray, FloatArray]:
    """Return the answers of the intervals, highest first, -1 where there is none, and their weights."""
    n, k = len(pools.answers), pools.n_answers
    signed = np.where(members, -pools.confidences if negated else pools.confidences, -np.inf)
    order = np.argsort(signed, axis=1, kind="stable")[:, ::-1]
    values, answers = (np.take_along_axis(each, order, axis=1) for each in (signed, pools.answers))
    sizes = np.count_nonzero(members, axis=1).astype(np.int64)
    inside = np.arange(values.shape[1]) < sizes[:, None]
    intervals = drifting_intervals(values, sizes, n_intervals)
    n_found = int(intervals.max(initial=0)) + 1
    groups = intervals + (np.arange(n) * n_found)[:, None]
    counts = sums_by_key(groups * k + answers, inside.astype(np.float64), n * n_found * k)
    scores = signed_scores(counts.reshape(n * n_found, k), negated=False)
    winners, tied = best_answers(scores)
    if tied.size:
        pool, interval = np.divmod(tied, n_found)
        in_group = inside[pool] & (intervals[pool] == interval[:, None])
        winners[tied] = first_seen(scores[tied], answers[pool], in_group)
    totals = np.bincount(groups.ravel(), np.where(inside, values, 0.0).ravel(), n * n_found)
    n_members = np.bincount(groups.ravel(), inside.ravel(), n * n_found)
    means = np.where(winners >= 0, totals / np.maximum(n_members, 1.0), 0.0)
    return winners.reshape(n, n_found), means.reshape(n, n_found)


def drifting_vote(
    pools: Pools, members: BoolArray, n_intervals: int, negated: bool
) -> tuple[IntArray, FloatArray]:
    """Return the winner of each pool (-1: no members) and the (n_pools, n_answers) scores."""
    n, k = len(pools.answers), pools.n_answers
    rows = max(1, MAX_CELLS // ((n_intervals + 1) * k))
    parts = []
    for start in range(0, max(n, 1), rows):
        some = slice(start, start + rows)
        elected, weights = drifting_winners(pools.rows(some), members[some], n_intervals, negated)
        parts.append(between_intervals(elected, weights, k, negated))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
