"""Two Gaussians fitted to each of many pools at once, by EM (section 3 of the method).

The fit runs on standardised values, starts from the exact two-means split, adds 1e-6 to the variances
and stops when the mean log-likelihood changes by less than 1e-3, or after 100 rounds. scikit-learn's
GaussianMixture started at the same point gives the same parameters to 1e-6.

All pools go through a round together; those that have converged leave. With two components the
responsibilities are 1 / (1 + exp(log p0 - log p1)), a quadratic in z, so that a round is one exp, one
log and three dot products per value.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from distrivote.voting.kernels.kmeans import best_cuts, standardise
from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray
from distrivote.voting.kernels.splits import Splits, cut_at, no_splits, splittable

MAX_ROUNDS = 100
TOLERANCE = 1e-3
REGULARISATION = 1e-6
_TINY = 10 * np.finfo(np.float64).eps
_MAX_LOG_ODDS = 700.0
_LOG_2PI = float(np.log(2 * np.pi))


def fit(ranked: FloatArray, sizes: IntArray) -> Splits:
    """Fit two Gaussians to each row and cut it where the likelier one changes.

    Args:
        ranked: (n, m) confidences in ascending order, valid in the first `sizes` columns.
        sizes: (n,) how many values each row holds.

    A row with fewer than two different values, or with one side empty, stays whole.
    """
    splits = no_splits(ranked)
    rows = splittable(ranked, sizes)
    if not rows.size:
        return splits
    width = int(sizes[rows].max())
    sizes, ranked = sizes[rows], ranked[rows, :width]
    z, centres, scales = standardise(ranked, sizes)
    parameters, n_rounds = _expectation_maximisation(z, sizes)

    flipped = parameters.means[0] > parameters.means[1]
    parameters = _Parameters(*(np.where(flipped, p[::-1], p) for p in parameters))
    inside = np.arange(width) < sizes[:, None]
    n_negative = _first_positive(z, parameters, inside)
    n_negative[n_negative == sizes] = 0
    cut_at(splits, rows, ranked, n_negative)

    splits.weights[rows] = parameters.weights.T
    splits.means[rows] = centres[:, None] + parameters.means.T * scales[:, None]
    splits.sds[rows] = np.sqrt(parameters.variances.T) * scales[:, None]
    splits.n_rounds[rows] = n_rounds
    return splits


class _Parameters(NamedTuple):
    """(2, n) each: one row per component, in units of z."""

    weights: FloatArray
    means: FloatArray
    variances: FloatArray

    @classmethod
    def from_sums(cls, sums: FloatArray, sizes: IntArray) -> Self:
        """Return the parameters for (3, 2, n) sums of responsibilities, times z, times z^2."""
        means, squares = sums[1:] / sums[0]
        variances = np.maximum(squares - means * means, 0.0) + REGULARISATION
        return cls(sums[0] / sizes, means, variances)

    def log_densities(self) -> _Quadratics:
        square = 0.5 / self.variances
        linear = 2.0 * square * self.means
        constant = np.log(self.weights) - 0.5 * (np.log(self.variances) + _LOG_2PI + linear * self.means)
        return _Quadratics(constant, linear, square)


class _Quadratics(NamedTuple):
    """log p_c(z) = constant_c + linear_c * z - square_c * z^2 for both components: (2, n) each."""

    constant: FloatArray
    linear: FloatArray
    square: FloatArray

    def log_odds(self, z: FloatArray, out: FloatArray) -> FloatArray:
        """Return log p0 - log p1 for every value."""
        np.multiply(z, (self.square[1] - self.square[0])[:, None], out=out)
        out += (self.linear[0] - self.linear[1])[:, None]
        out *= z
        out += (self.constant[0] - self.constant[1])[:, None]
        return out


def _both(upper: tuple[FloatArray | IntArray, ...], whole: FloatArray) -> FloatArray:
    """Return (3, 2, n) sums for both components, given those of the upper one and of all values."""
    sums = np.empty((3, 2, whole.shape[1]))
    sums[:, 1] = upper
    np.subtract(whole, sums[:, 1], out=sums[:, 0])
    return sums


def _start(z: FloatArray, squares: FloatArray, whole: FloatArray, sizes: IntArray) -> _Parameters:
    """Return the parameters of the two sides of the best two-means cut."""
    n_low, sum_low = best_cuts(z, sizes)
    upper = np.arange(z.shape[1]) >= n_low[:, None]
    sides = (sizes - n_low, whole[1] - sum_low, np.einsum("ij,ij->i", squares, upper))
    return _Parameters.from_sums(_both(sides, whole), sizes)


def _expectation_maximisation(z: FloatArray, sizes: IntArray) -> tuple[_Parameters, IntArray]:
    """Return the fitted parameters of every row and its number of rounds."""
    n, m = z.shape
    squares = z * z
    ones: FloatArray | None = None
    if (sizes < m).any():
        ones = (np.arange(m) < sizes[:, None]).astype(np.float64)
    whole = np.stack([sizes.astype(np.float64), z.sum(axis=1), squares.sum(axis=1)])
    current = _start(z, squares, whole, sizes)
    fitted = _Parameters(*np.empty((3, 2, n)))
    n_rounds = np.empty(n, dtype=np.int64)
    previous = np.full(n, -np.inf)
    live = np.arange(n)
    scratch = np.empty((2, n, m))

    for n_round in range(1, MAX_ROUNDS + 1):
        logs = current.log_densities()
        total, log_total = scratch[:, : len(z)]
        logs.log_odds(z, out=total)
        beyond = _clip(total, ones)
        np.exp(total, out=total)
        total += 1.0  # (p0 + p1) / p1
        np.log(total, out=log_total)
        upper = np.reciprocal(total, out=total)  # the responsibility of component 1
        excess, n_upper = _row_sums(log_total, ones) + beyond, _row_sums(upper, ones)
        likelihood = (excess + logs.linear[1] * whole[1] - logs.square[1] * whole[2]) / sizes
        likelihood += logs.constant[1]
        sums = _both((n_upper, _row_sums(upper, z), _row_sums(upper, squares)), whole)
        np.maximum(sums[0], 0.0, out=sums[0])
        sums[0] += _TINY
        current = _Parameters.from_sums(sums, sizes)

        done = np.abs(likelihood - previous) < TOLERANCE
        if n_round == MAX_ROUNDS:
            done[:] = True
        previous = likelihood
        if not done.any():
            continue
        finished = live[done]
        for ours, theirs in zip(fitted, current, strict=True):
            ours[:, finished] = theirs[:, done]
        n_rounds[finished] = n_round
        going = ~done
        live, previous, sizes, whole = live[going], previous[going], sizes[going], whole[:, going]
        if not live.size:
            break
        z, squares = z[going], squares[going]
        ones = None if ones is None else ones[going]
        current = _Parameters(*(values[:, going] for values in current))
    return fitted, n_rounds


def _clip(log_odds: FloatArray, ones: FloatArray | None) -> FloatArray | float:
    """Clip log-odds where exp would overflow; return how much was clipped from each row."""
    if log_odds.max() <= _MAX_LOG_ODDS:
        return 0.0
    beyond = _row_sums(np.maximum(log_odds - _MAX_LOG_ODDS, 0.0), ones)
    np.minimum(log_odds, _MAX_LOG_ODDS, out=log_odds)
    return beyond


def _row_sums(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    sums: FloatArray
    sums = values.sum(axis=1) if weights is None else np.einsum("ij,ij->i", values, weights)
    return sums


def _first_positive(z: FloatArray, parameters: _Parameters, inside: BoolArray) -> IntArray:
    """Return the index of the first value of each row that is likelier under component 1.

    At or above the positive mean a value is always positive, at or below the negative mean never, and
    between them the odds rise, so one index is enough.
    """
    negative_mean, positive_mean = parameters.means[:, :, None]
    likelier = parameters.log_densities().log_odds(z, out=np.empty_like(z)) < 0.0
    positive = (z >= positive_mean) | (likelier & (z > negative_mean))
    positive |= ~inside
    first: IntArray = np.where(positive.any(axis=1), positive.argmax(axis=1), z.shape[1])
    return first
