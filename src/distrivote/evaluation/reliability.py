"""How good probabilities are: reliability, Brier score, calibration error, risk against coverage.

The arguments are flat arrays of the same length: probabilities, and whether the claim was right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distrivote.evaluation.pools import Flags, Floats

N_BINS = 10


class Bin(NamedTuple):
    """The claims between two tenths."""

    low: float
    high: float
    n: int
    claimed: float
    """The mean probability."""

    came_true: float
    """The share of claims that were right."""


def bins_of(probability: Floats, right: Flags) -> list[Bin]:
    """Return the bins that hold a claim; 1 belongs to the last."""
    number = np.minimum((probability * N_BINS).astype(np.int64), N_BINS - 1)
    found = []
    for index in range(N_BINS):
        inside = number == index
        n = int(np.count_nonzero(inside))
        if n:
            claimed, came_true = float(probability[inside].mean()), float(right[inside].mean())
            found.append(Bin(index / N_BINS, (index + 1) / N_BINS, n, claimed, came_true))
    return found


def calibration_error(probability: Floats, right: Flags) -> float:
    """Return the expected calibration error: how far claims are off, over ten bins; NaN for none.

    >>> calibration_error(np.array([0.9, 0.9, 0.9, 0.9]), np.array([True, True, True, False]))
    0.15
    """
    if not len(right):
        return float("nan")
    off = sum(each.n * abs(each.claimed - each.came_true) for each in bins_of(probability, right))
    return round(off / len(right), 12)


def brier_score(probability: Floats, right: Flags) -> float:
    """Return the mean squared difference between claim and truth; NaN for none.

    >>> brier_score(np.array([1.0, 0.5]), np.array([True, False]))
    0.125
    """
    return float(np.mean(np.square(probability - right))) if len(right) else float("nan")


class Part(NamedTuple):
    """The part that is answered with abstention below a probability."""

    at_least: float
    coverage: float
    accuracy: float
    """Of the answered part."""


def risk_coverage(probability: Floats, right: Flags) -> list[Part]:
    """Return the answered part for every probability that occurs, from the surest alone to all.

    >>> for part in risk_coverage(np.array([0.9, 0.5, 0.9]), np.array([True, False, True])):
    ...     print(part.at_least, round(part.coverage, 2), round(part.accuracy, 2))
    0.9 0.67 1.0
    0.5 1.0 0.67
    """
    order = np.argsort(-probability, kind="stable")
    ranked, hits = probability[order], np.cumsum(right[order])
    n = len(ranked)
    # Equal probabilities are answered together, or not at all.
    ends = np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True]) if n else np.empty(0, dtype=np.int64)
    return [
        Part(float(ranked[end]), float((end + 1) / n), float(hits[end] / (end + 1))) for end in ends.tolist()
    ]


def area_under_risk(parts: list[Part]) -> float:
    """Return the mean share of wrong answers over all coverages: lower is better; NaN for none."""
    if not parts:
        return float("nan")
    widths = np.diff([0.0, *(part.coverage for part in parts)])
    return float(np.dot(widths, [1 - part.accuracy for part in parts]))
