"""What the confidences of a pool say for each answer, before anything is known of their worth.

The model, in logarithms of confidence and per pool: the trajectories of one answer scatter around the
answer's own mean with a common variance, and the means of the answers scatter by `ANSWER_SPREAD` times
as much for reasons of their own. If the right answer's mean lies d standard deviations above the others,
the likelihood ratio against d = 0 is exp(precision * (d * gap - d ** 2 / 2)) for an answer with this
`gap` and `precision`. Logarithms, because any positive measure may come, and the long tail of one must
not decide. How likely each d is, is not known here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distrivote.voting.kernels.pools import FloatArray, Pools, sums_by_answer

ANSWER_SPREAD = 0.6
"""Wrong answers differ in confidence too: some are quick guesses. In standard deviations of one answer's
trajectories; it keeps many trajectories of one answer from counting as many witnesses."""

_TOTAL_WEIGHT = 4.0
"""How many trajectories' worth of the pool's whole variance go into that within answers."""

_SMALLEST = 1e-24
"""A variance of logarithms below this is rounding: all confidences are equal."""


class Evidence(NamedTuple):
    """(n_pools, n_answers) each; 0 for answers that nobody gave."""

    counts: FloatArray
    gaps: FloatArray
    """How far the answer's mean lies above that of the other answers, in standard deviations."""

    precisions: FloatArray
    """1 / the variance of the gap; 0 where there is nothing to compare."""


def evidence_of(pools: Pools) -> Evidence:
    """Return the evidence of every pool."""
    members = pools.answered
    counts = sums_by_answer(pools, members.astype(np.float64))
    n = np.maximum(counts.sum(axis=1), 1.0)
    logs = np.where(members, np.log(pools.confidences), 0.0)
    logs -= np.where(members, (logs.sum(axis=1) / n)[:, None], 0.0)
    squares = np.square(logs).sum(axis=1)
    given = counts > 0
    means = sums_by_answer(pools, logs) / np.where(given, counts, 1.0)
    within = np.maximum(squares - (counts * np.square(means)).sum(axis=1), 0.0)
    total = squares / n
    free = np.maximum(n - np.count_nonzero(given, axis=1), 0.0)
    variance = (within + _TOTAL_WEIGHT * total) / (free + _TOTAL_WEIGHT)
    flat = total < _SMALLEST
    variance[flat] = 1.0

    weights = np.where(given, 1.0 / (ANSWER_SPREAD**2 + 1.0 / np.where(given, counts, 1.0)), 0.0)
    others = weights.sum(axis=1, keepdims=True) - weights
    comparable = given & (others > 1e-9) & ~flat[:, None]
    others = np.where(comparable, others, 1.0)
    means /= np.sqrt(variance)[:, None]
    weighted = weights * means
    elsewhere = (weighted.sum(axis=1, keepdims=True) - weighted) / others
    gaps = np.where(comparable, means - elsewhere, 0.0)
    precisions = np.zeros_like(gaps)
    np.divide(1.0, 1.0 / np.where(given, weights, 1.0) + 1.0 / others, out=precisions, where=comparable)
    return Evidence(counts, gaps, precisions)
