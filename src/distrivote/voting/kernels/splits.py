"""The common form of every split: each pool divided in two at one cut.

Rows of `ranked` confidences are ascending and valid in their first `sizes` columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray


class Splits(NamedTuple):
    """How each of many pools was cut in two; arrays over pools, component 0 the likely wrong one."""

    lowest_positive: FloatArray
    """(n,) The smallest confidence on the likely right side; the smallest of all if nothing was cut."""

    highest_negative: FloatArray
    """(n,) The largest confidence on the likely wrong side, NaN if there is none."""

    weights: FloatArray
    """(n, 2) NaN where no Gaussians were fitted, as in the next two."""

    means: FloatArray
    sds: FloatArray
    n_rounds: IntArray
    """(n,) EM rounds; 0 where nothing was fitted."""


def no_splits(ranked: FloatArray) -> Splits:
    """Return the splits that call every value positive."""
    n = len(ranked)
    weights, means, sds = np.full((3, n, 2), np.nan)
    return Splits(ranked[:, 0].copy(), np.full(n, np.nan), weights, means, sds, np.zeros(n, dtype=np.int64))


def copy_rows(source: Splits, target: Splits, which: BoolArray) -> None:
    """Copy the splits of some pools over those of another batch of the same pools."""
    for theirs, ours in zip(source, target, strict=True):
        ours[which] = theirs[which]


def put_rows(source: Splits, target: Splits, rows: IntArray) -> None:
    """Write the splits, one per row named, into a larger batch."""
    for theirs, ours in zip(source, target, strict=True):
        ours[rows] = theirs


def copy_of(splits: Splits) -> Splits:
    return Splits(*(values.copy() for values in splits))  # type: ignore[arg-type]


def sums_in_parts(values: FloatArray, sizes: IntArray, at_once: int) -> FloatArray:
    """Return the sum of each row as NumPy sums its values, in parts, to the last bit.

    Values beyond a row's size would change the order of its additions.
    """
    sums = np.zeros(len(values))
    for size in np.unique(sizes).tolist():
        which = sizes == size
        for start in range(0, size, at_once):
            part = values[which, start : min(start + at_once, size)]
            sums[which] += np.ascontiguousarray(part).sum(axis=1)
    return sums


def splittable(ranked: FloatArray, sizes: IntArray) -> IntArray:
    """Return the rows that hold at least two different values."""
    rows = np.flatnonzero(sizes >= 2)
    different: IntArray = rows[ranked[rows, 0] < ranked[rows, sizes[rows] - 1]]
    return different


def cut_at(splits: Splits, rows: IntArray, ranked: FloatArray, n_negative: IntArray) -> None:
    """Record in `splits` that the lowest `n_negative` values of these rows are negative."""
    cut = n_negative > 0
    rows, ranked, n_negative = rows[cut], ranked[cut], n_negative[cut]
    each = np.arange(len(rows))
    splits.lowest_positive[rows] = ranked[each, n_negative]
    splits.highest_negative[rows] = ranked[each, n_negative - 1]
