"""The exact two-means split of sorted values, for many pools at once.

For sorted values that sum to 0, cutting after the k lowest lowers the within-cluster sum of squares by
n * S_k^2 / (k * (n - k)), where S_k is the sum of those k: a cumulative sum finds the best of all cuts. No
random numbers, no iterations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distrivote.voting.kernels.pools import TIE, FloatArray, IntArray
from distrivote.voting.kernels.splits import Splits, cut_at, no_splits, splittable


class Standardised(NamedTuple):
    """Rows brought to mean 0 and population standard deviation 1."""

    z: FloatArray
    """(n, m) (C - centre) / scale, and 0 beyond each row's size."""

    centres: FloatArray
    scales: FloatArray


def standardise(ranked: FloatArray, sizes: IntArray) -> Standardised:
    """Standardise ascending rows that hold at least two different values each."""
    full = bool((sizes == ranked.shape[1]).all())
    inside = np.arange(ranked.shape[1]) < sizes[:, None]
    n = sizes[:, None]
    z = ranked if full else np.where(inside, ranked, 0.0)
    means = z.sum(axis=1, keepdims=True) / n
    z = z - means if full else (z - means) * inside
    # The mean is rounded; without a second pass values that hardly differ would not sum to 0.
    rest = z.sum(axis=1, keepdims=True) / n
    z = z - rest if full else (z - rest) * inside
    sds = np.sqrt(np.einsum("ij,ij->i", z, z)[:, None] / n)
    z /= sds
    return Standardised(z, (means + rest)[:, 0], sds[:, 0])


def best_cuts(z: FloatArray, sizes: IntArray) -> tuple[IntArray, FloatArray]:
    """Return how many values lie below the best cut (the lower one on a tie), and their sum.

    A cut never separates equal values.
    """
    sums = np.cumsum(z, axis=1)[:, :-1]
    gain = sums * sums
    gain /= _cut_weights(sizes, z.shape[1])
    # Beyond a row's size z is 0, below its last value, which excludes such cuts as well.
    excluded = z[:, 1:] <= z[:, :-1]
    if excluded.any():
        np.copyto(gain, 0.0, where=excluded)
    limits = gain.max(axis=1, keepdims=True)
    limits *= 1.0 - TIE
    cuts = (gain >= limits).argmax(axis=1)
    return cuts + 1, sums[np.arange(len(z)), cuts]


def _cut_weights(sizes: IntArray, width: int) -> FloatArray:
    """Return k * (n - k) for cuts after the k lowest of n: a row for each size, or one if all are equal."""
    below = np.arange(1.0, width)
    one = bool((sizes == sizes[0]).all())
    weights = sizes[: 1 if one else len(sizes), None] - below
    np.maximum(weights, 1.0, out=weights)
    weights *= below
    return weights


def two_means_splits(ranked: FloatArray, sizes: IntArray) -> Splits:
    """Return the two-means split of each row; one without two different values is not split."""
    splits = no_splits(ranked)
    rows = splittable(ranked, sizes)
    if rows.size:
        ranked, sizes = ranked[rows], sizes[rows]
        cuts, _ = best_cuts(standardise(ranked, sizes).z, sizes)
        cut_at(splits, rows, ranked, cuts)
    return splits
