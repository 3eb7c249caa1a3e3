"""Mean-shift of sorted values with a flat kernel, for many pools at once: scikit-learn's, in one dimension.

The bandwidth is the mean distance to the (0.3 n)-th nearest value, itself included. A window of that radius
is placed around each value and moved to the mean of the values in it, until it moves by no more than a
thousandth of the bandwidth. The means found are ordered by their number of values, then by size; each removes
all later ones within a bandwidth, and a value belongs to the nearest that remains, on a tie to the first.
scikit-learn's MeanShift with its estimated bandwidth gives the same clusters, except for values exactly
between two, where its rounding decides. Clusters whose centre lies above the midpoint of the outermost two
centres are positive.

In sorted values a window is a pair of indices, and cumulative sums give its mean. All windows of all pools
move together; those that meet are merged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray
from distrivote.voting.kernels.splits import Splits, cut_at, no_splits, splittable, sums_in_parts

QUANTILE = 0.3
STILL = 1e-3
"""A window that moves by no more than this share of the bandwidth has converged."""

MAX_MOVES = 300
_ADDED_AT_ONCE = 500
"""The batch in which scikit-learn sums distances."""

_LEADING_BITS = 26


def mean_shift_splits(ranked: FloatArray, sizes: IntArray) -> Splits:
    """Return the split of each row; a bandwidth of 0, or a single cluster, splits nothing."""
    splits = no_splits(ranked)
    rows = splittable(ranked, sizes)
    if not rows.size:
        return splits
    ranked, sizes = ranked[rows], sizes[rows]
    radii = bandwidths(ranked, sizes)
    some = radii > 0
    if some.any():
        rows, ranked, sizes, radii = rows[some], ranked[some], sizes[some], radii[some]
        cut_at(splits, rows, ranked, _n_negative(ranked, sizes, cluster_centres(ranked, sizes, radii)))
    return splits


def bandwidths(ranked: FloatArray, sizes: IntArray) -> FloatArray:
    """Return the mean distance of each row's values to their (0.3 n)-th nearest."""
    n, width = ranked.shape
    columns = np.arange(width)
    values = np.where(columns < sizes[:, None], ranked, 0.0)
    nearest = np.maximum((sizes * QUANTILE).astype(np.int64), 1)[:, None]
    each = np.arange(n)[:, None]

    def down(begin: IntArray) -> FloatArray:
        return values - values[each, begin]

    def up(begin: IntArray) -> FloatArray:
        return values[each, begin + nearest - 1] - values

    # The nearest neighbours of a value are consecutive. They begin at the first index from which the distance
    # up is at least the distance down, or one before.
    last = np.minimum(columns, sizes[:, None] - nearest)
    first = np.minimum(np.maximum(columns - nearest + 1, 0), last)
    begin = _bisected(first, last, lambda places: up(places) < down(places))
    before = np.maximum(begin - 1, first)
    distances = np.minimum(np.maximum(up(begin), down(begin)), np.maximum(up(before), down(before)))
    means: FloatArray = sums_in_parts(distances, sizes, _ADDED_AT_ONCE) / sizes
    return means


def _bisected(low: IntArray, high: IntArray, goes_on: Callable[[IntArray], BoolArray]) -> IntArray:
    """Return the first index from `low` on for which `goes_on` is false, at most `high`."""
    while (low < high).any():
        middle = (low + high) // 2
        on = goes_on(middle)
        low, high = np.where(on, np.minimum(middle + 1, high), low), np.where(on, high, middle)
    return low


class _Sums:
    """The cumulative sums of each row, which give the mean of any slice of it.

    Values are divided into leading bits, whose sums are exact, and the rest, whose sums are nearly exact: a
    mean is that of the exact sum, rounded.
    """

    def __init__(self, ranked: FloatArray, sizes: IntArray) -> None:
        values = np.where(np.arange(ranked.shape[1]) < sizes[:, None], ranked, 0.0)
        unit = np.ldexp(1.0, np.frexp(values.max(axis=1))[1] - _LEADING_BITS)[:, None]
        leading = np.rint(values / unit) * unit
        self._leading, self._rest = _running(leading), _running(values - leading)

    def means(self, rows: IntArray, first: IntArray, end: IntArray) -> FloatArray:
        leading = self._leading[rows, end] - self._leading[rows, first]
        rest = self._rest[rows, end] - self._rest[rows, first]
        found: FloatArray = (leading + rest) / (end - first)
        return found


def _running(values: FloatArray) -> FloatArray:
    sums = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums


class _Peaks(NamedTuple):
    """Where windows converged, in the order of their starting values."""

    rows: IntArray
    centres: FloatArray
    n_values: IntArray
    began: IntArray


def cluster_centres(ranked: FloatArray, sizes: IntArray, radii: FloatArray) -> FloatArray:
    """Return (n, n_clusters) centres in the order in which they were chosen, NaN where there are fewer."""
    peaks = _peaks(ranked, sizes, radii)
    # A peak that several windows found has as many values as the last of them.
    order = np.lexsort((peaks.began, peaks.centres, peaks.rows))
    rows, centres = peaks.rows[order], peaks.centres[order]
    last = np.append((rows[1:] != rows[:-1]) | (centres[1:] != centres[:-1]), True)
    rows, centres, n_values = rows[last], centres[last], peaks.n_values[order][last]
    order = np.lexsort((-centres, -n_values, rows))
    rows, centres = rows[order], centres[order]
    chosen = []
    while rows.size:
        which, firsts = np.unique(rows, return_index=True)
        column = np.full(len(ranked), np.nan)
        column[which] = centres[firsts]
        chosen.append(column)
        left = np.abs(centres - column[rows]) > radii[rows]
        rows, centres = rows[left], centres[left]
    return np.stack(chosen, axis=1)


def _peaks(ranked: FloatArray, sizes: IntArray, radii: FloatArray) -> _Peaks:
    sums = _Sums(ranked, sizes)
    rows, columns = np.nonzero(np.arange(ranked.shape[1]) < sizes[:, None])
    centres, began = ranked[rows, columns], np.arange(len(rows))
    found: list[_Peaks] = []
    for move in range(MAX_MOVES + 1):
        # Never empty: a mean of values within two radii of each other has one of them within a radius.
        first, end = _windows(ranked, sizes, rows, centres, radii[rows])
        means = sums.means(rows, first, end)
        arrived = np.abs(means - centres) <= STILL * radii[rows]
        if move == MAX_MOVES:
            arrived[:] = True
        found.append(_Peaks(rows[arrived], means[arrived], (end - first)[arrived], began[arrived]))
        rows, centres, began = rows[~arrived], means[~arrived], began[~arrived]
        if not rows.size:
            break
        last = np.append((rows[1:] != rows[:-1]) | (centres[1:] != centres[:-1]), True)
        rows, centres, began = rows[last], centres[last], began[last]
    return _Peaks(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _windows(
    ranked: FloatArray, sizes: IntArray, rows: IntArray, centres: FloatArray, radii: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the first index of each window and the one after its last."""
    start, end = np.zeros(len(rows), dtype=np.int64), sizes[rows]
    edge = end - 1
    first = _bisected(start, end, lambda at: centres - ranked[rows, np.minimum(at, edge)] > radii)
    after = _bisected(first, end, lambda at: ranked[rows, np.minimum(at, edge)] - centres <= radii)
    return first, after


def _n_negative(ranked: FloatArray, sizes: IntArray, centres: FloatArray) -> IntArray:
    """Return how many of the lowest values of each row are nearest to a centre below the midpoint."""
    lowest, highest = np.nanmin(centres, axis=1), np.nanmax(centres, axis=1)
    above = centres > ((lowest + highest) / 2)[:, None]
    lower = np.where(above | np.isnan(centres), -np.inf, centres)
    upper = np.where(above, centres, np.inf)
    lower_first = (lower.argmax(axis=1) < upper.argmin(axis=1))[:, None]
    inside = np.arange(ranked.shape[1]) < sizes[:, None]
    values = np.where(inside, ranked, 0.0)
    down, up = values - lower.max(axis=1, keepdims=True), upper.min(axis=1, keepdims=True) - values
    negative = inside & ((down < up) | (lower_first & (down == up)))
    counts = np.count_nonzero(negative, axis=1)
    n_negative: IntArray = np.where((lowest < highest) & (counts < sizes), counts, 0)
    return n_negative
