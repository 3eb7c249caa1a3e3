"""A mixture of any number of Gaussians in one dimension, and how well its components match known groups.

It is fitted by EM on standardised values, as in the split of pools, but started from groups of equal size in
the order of the values; no random numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distrivote.evaluation.pools import Floats, Ints

MAX_ROUNDS = 100
TOLERANCE = 1e-3
REGULARISATION = 1e-6
_TINY = 10 * np.finfo(np.float64).eps
_LOG_2PI = float(np.log(2 * np.pi))


class Mixture(NamedTuple):
    """Fitted Gaussians, and the most likely of them for each value."""

    weights: Floats
    means: Floats
    sds: Floats
    labels: Ints


def fit_mixture(values: Floats, n_components: int) -> Mixture:
    """Return n Gaussians fitted to at least n values; equal values share one.

    >>> fit_mixture(np.array([1.0, 1.1, 5.0, 5.1, 9.0, 9.1]), 3).labels.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    centre, scale = float(values.mean()), float(values.std())
    if scale == 0.0:
        return Mixture(np.ones(1), np.array([centre]), np.zeros(1), np.zeros(len(values), dtype=np.int64))
    z = (values - centre) / scale
    shares = np.zeros((n_components, len(z)))
    groups = np.array_split(np.argsort(z, kind="stable"), n_components)
    for component, members in enumerate(groups):
        shares[component, members] = 1.0
    weights, means, variances = _maximised(z, shares)
    previous = -np.inf
    for _ in range(MAX_ROUNDS):
        logs = _log_densities(z, weights, means, variances)
        totals = np.logaddexp.reduce(logs, axis=0)
        weights, means, variances = _maximised(z, np.exp(logs - totals))
        likelihood = float(totals.mean())
        if abs(likelihood - previous) < TOLERANCE:
            break
        previous = likelihood
    labels = _log_densities(z, weights, means, variances).argmax(axis=0)
    return Mixture(weights, centre + scale * means, scale * np.sqrt(variances), labels)


def _maximised(z: Floats, shares: Floats) -> tuple[Floats, Floats, Floats]:
    totals = shares.sum(axis=1) + _TINY
    means = shares @ z / totals
    squares = (shares * (z - means[:, None]) ** 2).sum(axis=1)
    return totals / totals.sum(), means, squares / totals + REGULARISATION


def _log_densities(z: Floats, weights: Floats, means: Floats, variances: Floats) -> Floats:
    distances = (z - means[:, None]) ** 2 / variances[:, None]
    logs: Floats = (np.log(weights) - 0.5 * (_LOG_2PI + np.log(variances)))[:, None] - 0.5 * distances
    return logs


def crossed(first: Ints, second: Ints) -> Ints:
    """Return how often each pair of groups, numbered from 0, occurs together."""
    n = int(second.max(initial=-1)) + 1
    counts = np.bincount(first * n + second, minlength=(int(first.max(initial=-1)) + 1) * n)
    return counts.reshape(-1, n)


def adjusted_rand(first: Ints, second: Ints) -> float:
    """Return how far two groupings agree: 1 if they are the same, 0 on average by chance.

    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    counts = crossed(first, second)

    def pairs(n: Ints) -> float:
        return float((n * (n - 1) / 2).sum())

    together, rows, columns = pairs(counts), pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0))
    every = len(first) * (len(first) - 1) / 2
    if not every:
        return 1.0
    expected, most = rows * columns / every, (rows + columns) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)
