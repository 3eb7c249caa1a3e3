"""Votes by rank: the weight of a trajectory depends on its rank by confidence.

Of equal confidences the earlier trajectory counts as surer. Weights depend only on the size of a pool, so
they are computed once per size and shared.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from distrivote.voting.kernels.pools import (
    TIE,
    BoolArray,
    FloatArray,
    IntArray,
    Pools,
    sums_by_answer,
)


def ascending_ranks(confidences: FloatArray, members: BoolArray, negated: bool) -> IntArray:
    """Return each member's rank from 1, the least sure, upwards; 0 for those that take no part."""
    values = np.where(members, -confidences if negated else confidences, np.inf)
    # Sorting from the last trajectory to the first puts the earlier of two equal ones above.
    order = np.argsort(values[:, ::-1], axis=1, kind="stable")
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(1, values.shape[1] + 1)[None], axis=1)
    return np.where(members, ranks[:, ::-1], 0)


def borda_scores(pools: Pools, members: BoolArray, power: float, negated: bool) -> FloatArray:
    """Return the answers' sums of rank ** power."""
    ranks = ascending_ranks(pools.confidences, members, negated)
    # A table of powers: a pow per trajectory would cost more than the rest of the vote.
    table = np.arange(members.shape[1] + 1, dtype=np.float64) ** power
    table[0] = 0.0
    return sums_by_answer(pools, table[ranks])


@lru_cache(maxsize=64)
def _bests_of(m: int, n: int) -> FloatArray:
    """Return, for ranks 0 (not a member) to n, the chance to be the best of m drawn with replacement."""
    ranks = np.arange(1, n + 1)
    # (i/n)^m - ((i-1)/n)^m, without cancellation.
    gains = np.ones(n)
    gains[1:] = -np.expm1(m * np.log1p(-1.0 / ranks[1:]))
    return np.concatenate([[0.0], (ranks / n) ** m * gains])


@lru_cache(maxsize=1024)
def candidate_sizes(n: int, q: float) -> tuple[int, ...]:
    """Return the different max(1, floor(q^j n)) for j = 0, 1, ..., largest first, down to 1."""
    # Computed from the decimal: in floats 0.7^2 is less than 0.49, which would lose one of a hundred.
    ratio = Fraction(str(q))
    sizes, above, below = [n], n, 1
    while sizes[-1] > 1:
        # From here on steps are smaller than one, so no size is skipped.
        if (1.0 - q) * (sizes[-1] + 1) < 0.999:
            return (*sizes, *range(sizes[-1] - 1, 0, -1))
        above, below = above * ratio.numerator, below * ratio.denominator
        size = max(1, above // below)
        if size < sizes[-1]:
            sizes.append(size)
    return tuple(sizes)


def bests_scores(pools: Pools, members: BoolArray, q: float | None, negated: bool) -> FloatArray:
    """Return each answer's chance to win best-of-m; m adapts with ratio q, or is floor(sqrt n)."""
    ranks = ascending_ranks(pools.confidences, members, negated)
    sizes = np.count_nonzero(members, axis=1)
    scores = np.zeros((len(ranks), pools.n_answers))
    for n in np.unique(sizes[sizes > 0]).tolist():
        rows = np.flatnonzero(sizes == n)
        some = pools.rows(rows)
        if q is None:
            scores[rows] = sums_by_answer(some, _bests_of(int(np.sqrt(n)), n)[ranks[rows]])
        else:
            scores[rows] = _steadiest(some, ranks[rows], n, q)
    return scores


def _steadiest(pools: Pools, ranks: IntArray, n: int, q: float) -> FloatArray:
    """Return the chances at the larger m of the consecutive pair between which they change least.

    The pair with the smaller m wins a tie.
    """
    larger = sums_by_answer(pools, _bests_of(n, n)[ranks])
    chosen, least = larger, np.full(len(ranks), np.inf)
    for m in candidate_sizes(n, q)[1:]:
        smaller = sums_by_answer(pools, _bests_of(m, n)[ranks])
        change = np.abs(smaller - larger).sum(axis=1)
        better = change <= least + TIE
        chosen = np.where(better[:, None], larger, chosen)
        least = np.where(better, np.minimum(change, least), least)
        larger = smaller
    return chosen
