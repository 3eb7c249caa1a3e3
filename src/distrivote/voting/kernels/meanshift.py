"""The mean-shift split: scikit-learn's, with its estimated bandwidth, one pool at a time.

Clusters whose centre lies above the midpoint of the outermost two centres are positive. scikit-learn is
loaded on use.
"""

from __future__ import annotations

import numpy as np

from distrivote.errors import MissingPackageError
from distrivote.voting.kernels.pools import FloatArray, IntArray
from distrivote.voting.kernels.splits import Splits, cut_at, no_splits, splittable


def mean_shift_splits(ranked: FloatArray, sizes: IntArray) -> Splits:
    """Return the split of each row; a bandwidth of 0, or a single cluster, splits nothing."""
    splits = no_splits(ranked)
    for row in splittable(ranked, sizes):
        values = ranked[row, : sizes[row]]
        n_negative = _n_negative(values)
        cut_at(splits, np.array([row]), values[None], np.array([n_negative]))
    return splits


def _n_negative(values: FloatArray) -> int:
    try:
        from sklearn.cluster import MeanShift, estimate_bandwidth
    except ImportError as error:
        raise MissingPackageError("scikit-learn", "meanshift", "the mean-shift split") from error
    points = values[:, None]
    bandwidth = estimate_bandwidth(points)
    if bandwidth == 0:
        return 0
    fitted = MeanShift(bandwidth=bandwidth).fit(points)
    centres = fitted.cluster_centers_[:, 0]
    positive = centres[fitted.labels_] > (centres.min() + centres.max()) / 2
    return int(positive.argmax()) if positive.any() else 0
