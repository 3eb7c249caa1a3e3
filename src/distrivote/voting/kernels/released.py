"""The split of the authors' released script: scikit-learn's two Gaussians with `random_state=0`.

GaussianMixture(2, random_state=0) with its defaults: on the raw confidences, starting from its k-means
(k-means++ with the first numbers of that seed, then Lloyd's iterations), 1e-6 added to the variances, until
the mean log-likelihood changes by less than 1e-3, at most 100 rounds. The seed picks trajectories by index,
so that the result depends on their order. scikit-learn gives the same labels.

The cut is the midpoint between the two labels if label 0 lies below label 1; otherwise the script takes the
midpoint of label 1's highest and label 0's lowest value, even if the two overlap. Values at or above the cut
are likely right, values at or below it likely wrong: a trajectory on the cut is both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray
from distrivote.voting.kernels.splits import Splits, sums_in_parts

MAX_ROUNDS = 100
TOLERANCE = 1e-3
REGULARISATION = 1e-6
MAX_LLOYD_ROUNDS = 300
LLOYD_TOLERANCE = 1e-4
_TINY = 10 * np.finfo(np.float64).eps
_LOG_2PI = float(np.log(2 * np.pi))


def released_splits(values: FloatArray, sizes: IntArray) -> Splits:
    """Return the split of each row of confidences in the order of their trajectories."""
    splits = whole_rows(values, sizes)
    rows = np.flatnonzero(sizes >= 2)
    if not rows.size:
        return splits
    width = int(sizes[rows].max())
    inside = np.arange(width) < sizes[rows, None]
    some = np.where(inside, values[rows, :width], 0.0)
    fitted = _fit(some, inside, sizes[rows])
    cut_on_both_sides(splits, rows, some, inside, _thresholds(some, inside, fitted.labels))
    order = np.argsort(fitted.means, axis=0, kind="stable")
    for ours, theirs in zip(
        (splits.weights, splits.means, splits.sds),
        (fitted.weights, fitted.means, np.sqrt(fitted.variances)),
        strict=True,
    ):
        ours[rows] = np.take_along_axis(theirs, order, axis=0).T
    splits.n_rounds[rows] = fitted.n_rounds
    return splits


def whole_rows(values: FloatArray, sizes: IntArray) -> Splits:
    """Return splits that call everything likely right, and nothing likely wrong."""
    n = len(values)
    lowest = np.where(np.arange(values.shape[1]) < sizes[:, None], values, np.inf).min(axis=1)
    weights, means, sds = np.full((3, n, 2), np.nan)
    return Splits(lowest, np.full(n, np.nan), weights, means, sds, np.zeros(n, dtype=np.int64))


def cut_on_both_sides(
    splits: Splits, rows: IntArray, values: FloatArray, inside: BoolArray, cuts: FloatArray
) -> None:
    """Record that values at or above the cut are likely right, and those at or below it likely wrong."""
    above, below = values >= cuts[:, None], values <= cuts[:, None]
    splits.lowest_positive[rows] = np.where(inside & above, values, np.inf).min(axis=1)
    highest = np.where(inside & below, values, -np.inf).max(axis=1)
    splits.highest_negative[rows] = np.where(highest > -np.inf, highest, np.nan)


def _thresholds(values: FloatArray, inside: BoolArray, labels: BoolArray) -> FloatArray:
    def ends(which: BoolArray) -> tuple[FloatArray, FloatArray]:
        return np.where(which, values, np.inf).min(axis=1), np.where(which, values, -np.inf).max(axis=1)

    (low_0, high_0), (low_1, high_1) = ends(inside & ~labels), ends(inside & labels)
    with np.errstate(invalid="ignore"):  # infinities where one label has no values
        between = np.where(high_0 <= low_1, (high_0 + low_1) / 2, (high_1 + low_0) / 2)
    one_label = np.isinf(low_0) | np.isinf(low_1)
    cuts: FloatArray = np.where(one_label, np.minimum(low_0, low_1), between)
    return cuts


class _Fit(NamedTuple):
    """Two Gaussians for each row, (2, n) by label, and (n, m) which label each value has."""

    weights: FloatArray
    means: FloatArray
    variances: FloatArray
    labels: BoolArray
    n_rounds: IntArray


def _fit(values: FloatArray, inside: BoolArray, sizes: IntArray) -> _Fit:
    """Return the fit by expectation and maximisation from the labels of k-means."""
    n = len(values)
    shares = np.where(inside, two_means_labels(values, inside, sizes), 0.0)
    current = _maximised(values, inside, shares)
    fitted, n_rounds = np.empty((3, 2, n)), np.empty(n, dtype=np.int64)
    live, some, within, counts = np.arange(n), values, inside, sizes
    previous = np.full(n, -np.inf)
    for n_round in range(1, MAX_ROUNDS + 1):
        logs = _log_densities(current, some)
        totals = np.logaddexp(*logs)
        likelihood = np.where(within, totals, 0.0).sum(axis=1) / counts
        current = _maximised(some, within, np.where(within, np.exp(logs[1] - totals), 0.0))
        done = np.abs(likelihood - previous) < TOLERANCE
        if n_round == MAX_ROUNDS:
            done[:] = True
        fitted[:, :, live[done]] = current[:, :, done]
        n_rounds[live[done]] = n_round
        going = ~done
        live, some, within, counts = live[going], some[going], within[going], counts[going]
        previous, current = likelihood[going], current[:, :, going]
        if not live.size:
            break
    logs = _log_densities(fitted, values)
    weights, means, variances = fitted
    return _Fit(weights, means, variances, inside & (logs[1] > logs[0]), n_rounds)


def _maximised(values: FloatArray, inside: BoolArray, shares: FloatArray) -> FloatArray:
    """Return (3, 2, n) weights, means and variances, for the share of label 1 in each value."""
    found = np.empty((3, 2, len(values)))
    for label, share in enumerate((np.where(inside, 1.0 - shares, 0.0), shares)):
        total = share.sum(axis=1) + _TINY
        means = (share * values).sum(axis=1) / total
        squares = (share * (values - means[:, None]) ** 2).sum(axis=1)
        found[:, label] = total, means, squares / total + REGULARISATION
    found[0] /= found[0].sum(axis=0)
    return found


def _log_densities(parameters: FloatArray, values: FloatArray) -> FloatArray:
    """Return (2, n, m) the logarithms of each label's weighted density."""
    weights, means, variances = parameters[..., None]
    logs: FloatArray = np.log(weights) - 0.5 * (
        _LOG_2PI + np.log(variances) + (values - means) ** 2 / variances
    )
    return logs


def two_means_labels(values: FloatArray, inside: BoolArray, sizes: IntArray) -> BoolArray:
    """Return which values scikit-learn's KMeans(2, n_init=1, random_state=0) puts into cluster 1."""
    means = sums_in_parts(values, sizes, values.shape[1]) / sizes
    centred = np.where(inside, values - means[:, None], 0.0)
    tolerances = LLOYD_TOLERANCE * (centred**2).sum(axis=1) / sizes
    centres = _first_centres(centred, inside, sizes)
    labels = np.zeros(values.shape, dtype=np.bool_)
    live = np.arange(len(values))
    before = np.full(values.shape, -1, dtype=np.int8)
    for n_round in range(1, MAX_LLOYD_ROUNDS + 1):
        some, within = centred[live], inside[live]
        found = within & _nearer_to_second(some, centres)
        moved = np.stack([_means(some, within & ~found), _means(some, found)])
        same = (found == before).all(axis=1)
        near = ((moved - centres) ** 2).sum(axis=0) <= tolerances[live]
        # The centres have converged, but the labels were not equal twice: they are assigned once more.
        again = ~same & (near | (n_round == MAX_LLOYD_ROUNDS))
        found[again] = within[again] & _nearer_to_second(some[again], moved[:, again])
        labels[live] = found
        going = ~(same | again)
        live, before, centres = live[going], found[going].astype(np.int8), moved[:, going]
        if not live.size:
            break
    return labels


def _nearer_to_second(values: FloatArray, centres: FloatArray) -> BoolArray:
    first, second = (c[:, None] * c[:, None] - 2.0 * values * c[:, None] for c in centres)
    nearer: BoolArray = second < first
    return nearer


def _means(values: FloatArray, which: BoolArray) -> FloatArray:
    means: FloatArray = np.where(which, values, 0.0).sum(axis=1) / np.maximum(which.sum(axis=1), 1)
    return means


_DRAWN = np.random.RandomState(0).random_sample(3)
"""What k-means++ draws with the seed 0: the first centre, and two candidates for the second."""


@lru_cache(maxsize=1024)
def _first_place(n: int) -> int:
    """Return the index of the trajectory, of n, that is the first centre."""
    chances = np.full(n, 1.0 / n).cumsum()
    return int(np.searchsorted(chances / chances[-1], _DRAWN[0], side="right"))


def _first_centres(centred: FloatArray, inside: BoolArray, sizes: IntArray) -> FloatArray:
    """Return (2, n) the centres of k-means++: the first one, and the better of two candidates."""
    each = np.arange(len(centred))
    first = centred[each, [_first_place(size) for size in sizes.tolist()]]
    distances = _squared_distances(first, centred, inside)
    running = distances.cumsum(axis=1)
    potentials, candidates = [], []
    for drawn in _DRAWN[1:]:
        reached = inside & (running < (drawn * distances.sum(axis=1))[:, None])
        place = np.minimum(np.count_nonzero(reached, axis=1), sizes - 1)
        candidates.append(centred[each, place])
        nearest = np.minimum(distances, _squared_distances(candidates[-1], centred, inside))
        potentials.append(nearest.sum(axis=1))
    second = np.where(potentials[1] < potentials[0], candidates[1], candidates[0])
    return np.stack([first, second])


def _squared_distances(centres: FloatArray, values: FloatArray, inside: BoolArray) -> FloatArray:
    squares = -2.0 * centres[:, None] * values + centres[:, None] ** 2 + values**2
    return np.where(inside, np.maximum(squares, 0.0), 0.0)
