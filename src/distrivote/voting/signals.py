"""Several measures of confidence combined into one, with weights that are learned without labels.

    combined(trajectory) = exp(STEP * sum over signals of weight * z)

or the signal itself, if it alone has a weight. z is the logarithm of the signal in standard deviations of its
question's pool, so that scales don't matter. The worth of a signal is by how many standard deviations its
right answers seem to be surer, as `trust` estimates it from all questions together, and 0 if they seem to be
less sure. Weights are those of Fisher's linear discriminant, none below 0: signals that agree share a weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from distrivote.errors import InputError
from distrivote.voting.kernels.pools import FloatArray, IntArray
from distrivote.voting.scales import STEP, standardised
from distrivote.voting.vote import lessons_of

_RIDGE = 0.1
"""Keeps the weights of nearly equal signals from diverging: they get similar weights."""


class Combined(NamedTuple):
    """One confidence per trajectory, and the weights of the signals in it."""

    confidences: FloatArray
    """(n_trajectories,) NaN where no signal has a value."""

    weights: dict[str, float]
    """Of each signal; they add up to 1, unless all are 0."""


def combine(signals: Mapping[str, FloatArray], classes: IntArray, offsets: IntArray) -> Combined:
    """Return the signals of all pools of one model as one confidence.

    Args:
        signals: (n_trajectories,) each, by name: positive, higher meaning surer, NaN where missing.
        classes: (n_trajectories,) -1 for no answer.
        offsets: (n_pools + 1,) Pool i is [offsets[i]:offsets[i + 1]].
    """
    if not signals:
        raise InputError("there is no signal to vote with: give at least one")
    names = list(signals)
    worth = np.array([_worth(values, classes, offsets) for values in signals.values()])
    standardised = np.stack([_standardised(values, classes, offsets) for values in signals.values()])
    alike = standardised @ standardised.T / max(int(np.count_nonzero(classes >= 0)), 1)
    weights = _discriminant(worth, alike)
    total = float(weights.sum())
    shares = dict(zip(names, (weights / (total or 1.0)).tolist(), strict=True))
    if np.count_nonzero(weights) == 1:
        # Unchanged: two Gaussians fit its own distribution best.
        return Combined(signals[names[int(weights.argmax())]], shares)
    spread = float(np.sqrt(weights @ alike @ weights)) or 1.0
    there = ~np.all([np.isnan(values) for values in signals.values()], axis=0)
    return Combined(np.where(there, np.exp(STEP * (weights @ standardised) / spread), np.nan), shares)


def _discriminant(worth: FloatArray, alike: FloatArray) -> FloatArray:
    """Return the weights with the best separation, of the signals whose weight is not below 0."""
    chosen = worth > 0
    weights = np.zeros(len(worth))
    while chosen.any():
        inside = np.ix_(chosen, chosen)
        found = np.linalg.solve(alike[inside] + _RIDGE * np.eye(int(chosen.sum())), worth[chosen])
        if (found >= 0).all():
            weights[chosen] = found
            break
        chosen[np.flatnonzero(chosen)[found.argmin()]] = False
    return weights


def _worth(values: FloatArray, classes: IntArray, offsets: IntArray) -> float:
    """Return the separation that the questions show, at least 0."""
    return max(0.0, lessons_of(classes, values, offsets).separation)


def _standardised(values: FloatArray, classes: IntArray, offsets: IntArray) -> FloatArray:
    """Return the logarithms in standard deviations from their pool's mean; 0 for missing ones."""
    there = (classes >= 0) & ~np.isnan(values)
    return standardised(np.log(np.where(there, values, 1.0)), there, offsets)


def fullest(signals: Mapping[str, FloatArray], classes: IntArray) -> dict[str, FloatArray]:
    """Return the signals that are missing for the fewest answers."""
    answered = classes >= 0
    lacking = {name: int(np.isnan(values[answered]).sum()) for name, values in signals.items()}
    return {name: signals[name] for name, n in lacking.items() if n == min(lacking.values())}
