"""Which trajectories are likely right? Each filter cuts a pool in two by confidence.

A filter only stores its parameters; `split` cuts many pools at once. The positive side is everything at
or above one confidence, and it is never empty when anything was answered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np

from distrivote.errors import InputError
from distrivote.voting.kernels import gmm
from distrivote.voting.kernels.kmeans import two_means_splits
from distrivote.voting.kernels.meanshift import mean_shift_splits
from distrivote.voting.kernels.pools import FloatArray, IntArray
from distrivote.voting.kernels.released import cut_on_both_sides, released_splits, whole_rows
from distrivote.voting.kernels.splits import Splits, cut_at, no_splits, splittable


class Filter(Protocol):
    """Cuts pools in two."""

    @property
    def name(self) -> str: ...

    @property
    def by_rank(self) -> bool:
        """Whether the cut depends on the order of confidences alone."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether the order of trajectories matters: then `split` gets confidences in it, not sorted."""
        ...

    def split(self, ranked: FloatArray, sizes: IntArray) -> Splits:
        """Cut rows of ascending confidences, valid in their first `sizes` columns."""
        ...


@dataclass(frozen=True, slots=True)
class GmmFilter:
    """Two Gaussians by EM; the side of the higher mean is positive. This is the paper's filter."""

    name: ClassVar[str] = "gmm"
    by_rank: ClassVar[bool] = False
    ordered: ClassVar[bool] = False

    def split(self, ranked: FloatArray, sizes: IntArray) -> Splits:
        return gmm.fit(ranked, sizes)


def mixture_cut(confidences: Iterable[float]) -> float:
    """Return from which confidence on trajectories are likely right, by two Gaussians; NaN if none is cut.

    >>> mixture_cut([9.0, 9.2, 5.0, 5.2, math.nan])
    9.0
    """
    known = np.sort([value for value in confidences if not math.isnan(value)])
    if not len(known):
        return math.nan
    splits = gmm.fit(known[None], np.array([len(known)]))
    return math.nan if np.isnan(splits.highest_negative[0]) else float(splits.lowest_positive[0])


@dataclass(frozen=True, slots=True)
class KMeansFilter:
    """The exact optimal two-means split."""

    name: ClassVar[str] = "kmeans"
    by_rank: ClassVar[bool] = False
    ordered: ClassVar[bool] = False

    def split(self, ranked: FloatArray, sizes: IntArray) -> Splits:
        return two_means_splits(ranked, sizes)


@dataclass(frozen=True, slots=True)
class MeanShiftFilter:
    """Mean-shift with scikit-learn's bandwidth: the clusters above the midpoint of the outermost two."""

    name: ClassVar[str] = "meanshift"
    by_rank: ClassVar[bool] = False
    ordered: ClassVar[bool] = False

    def split(self, ranked: FloatArray, sizes: IntArray) -> Splits:
        return mean_shift_splits(ranked, sizes)


@dataclass(frozen=True, slots=True)
class _Share:
    """What filters that keep a fixed share of the pool have in common."""

    fraction: float = 0.5
    by_rank: ClassVar[bool] = True
    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise InputError(
                f"top fraction {self.fraction:g} is out of range: give the share to keep, above 0 and up to 1"
            )

    @property
    def name(self) -> str:
        percent = 100 * self.fraction
        return f"top{percent:.0f}" if percent == round(percent) else "top"


@dataclass(frozen=True, slots=True)
class TopFilter(_Share):
    """The most confident share of the pool: everything at or above the quantile 1 - fraction."""

    def split(self, ranked: FloatArray, sizes: IntArray) -> Splits:
        splits = no_splits(ranked)
        rows = splittable(ranked, sizes)
        if rows.size:
            ranked, sizes = ranked[rows], sizes[rows]
            # In floats 1 - 0.7 is more than 0.3, which would exclude the trajectory at the quantile.
            rest = float(1 - Fraction(str(self.fraction)))
            quantiles = _linear_quantiles(ranked, sizes, rest)
            cut_at(splits, rows, ranked, np.count_nonzero(ranked < quantiles[:, None], axis=1))
        return splits


@dataclass(frozen=True, slots=True)
class ReleasedGmmFilter:
    """The split of the authors' released script: scikit-learn's fit with a seed, and its cut."""

    name: ClassVar[str] = "gmm"
    by_rank: ClassVar[bool] = False
    ordered: ClassVar[bool] = True

    def split(self, ranked: FloatArray, sizes: IntArray) -> Splits:
        return released_splits(ranked, sizes)


@dataclass(frozen=True, slots=True)
class ReleasedTopFilter(_Share):
    """The most confident share as in the released script: a value on the quantile is on both sides."""

    def split(self, ranked: FloatArray, sizes: IntArray) -> Splits:
        splits = whole_rows(ranked, sizes)
        rows = np.flatnonzero(sizes >= 1)
        if rows.size:
            ranked, sizes = ranked[rows], sizes[rows]
            rest = (1 - self.fraction) * 100 / 100  # as in the script, with its rounding
            inside = np.arange(ranked.shape[1]) < sizes[:, None]
            quantiles = _linear_quantiles(ranked, sizes, rest)
            cut_on_both_sides(splits, rows, ranked, inside, quantiles)
        return splits


def _linear_quantiles(ranked: FloatArray, sizes: IntArray, q: float) -> FloatArray:
    """Return numpy's linear quantile of each row, to the last bit."""
    each = np.arange(len(ranked))
    place = q * (sizes - 1)
    below = np.floor(place).astype(np.int64)
    low, high = ranked[each, below], ranked[each, np.minimum(below + 1, sizes - 1)]
    part = place - below
    # numpy interpolates from the nearer end.
    span = high - low
    quantiles: FloatArray = np.where(part < 0.5, low + span * part, high - span * (1.0 - part))
    return quantiles
