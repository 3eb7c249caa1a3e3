"""How probable it is that an answer is right.

    p(answer) = logistic(intercept + evidence * logit(q) + share * logit(share of votes))

q is the posterior of the answer, from the votes and the confidences (see `trust`), among the given answers
and one that nobody gave, which has half a vote: agreement of a few is no proof. Both weights are at least 0,
and no answer gets more than its posterior among the given ones: more votes or surer trajectories never make
an answer less probable, and the sum is at most 1. The rest belongs to answers that nobody gave.

The default calibration was fitted on simulated pools of 400 invented models that differ in all parameters,
including multiple choice, and on two small real ones; `fit` makes another from labelled questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distrivote.errors import InputError
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.pools import BoolArray, FloatArray
from distrivote.voting.promises import Promise
from distrivote.voting.trust import UNSEEN, VOTES, Trust, posteriors

_EDGE = 1e-4
"""Posteriors are clipped this far from 0 and 1: no pool of answers is stronger evidence."""

_RIDGE = 1e-3
"""Keeps weights finite if right and wrong questions are separated perfectly."""

MIN_QUESTIONS = 20
"""With fewer labelled questions, or with all right or all wrong, there is nothing to fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The parameters of the model, and what it was fitted on."""

    intercept: float = -0.351
    evidence: float = 1.030
    share: float = 0.0
    fewest: int = 8
    most: int = 256
    """The numbers of answers per question that it was fitted on."""

    n_questions: int = 10_084
    source: str = "simulated pools and our own runs"
    promise: Promise | None = None
    """What labelled questions prove about errors above a probability; None if none were counted."""

    def __post_init__(self) -> None:
        if self.evidence < 0 or self.share < 0:
            raise InputError("a calibration's weights are below 0: fit it again with distrivote calibrate")

    def of(self, evidence: Evidence, trust: Trust) -> FloatArray:
        """(n_pools, n_answers) The probability of each answer; 0 for those that nobody gave."""
        odds = trust.log_odds(evidence)
        return np.minimum(self.of_features(_features(evidence, odds)), posteriors(odds))

    def of_features(self, rows: FloatArray) -> FloatArray:
        """(...,) The probability of answers with these `features`, (..., 2), each computed separately."""
        posterior, votes = np.moveaxis(rows, -1, 0)
        return _logistic(self.intercept + self.evidence * posterior + self.share * votes)

    def covers(self, n_answered: int) -> bool:
        """Whether it was fitted on pools of this size."""
        return self.fewest <= n_answered <= self.most


def features(evidence: Evidence, trust: Trust) -> FloatArray:
    """(n_pools, n_answers, 2) logit(q) and logit(share of votes), the latter with half a vote added."""
    return _features(evidence, trust.log_odds(evidence))


def _features(evidence: Evidence, odds: FloatArray) -> FloatArray:
    given = evidence.votes > 0
    unseen = VOTES * np.log(UNSEEN)
    best = np.where(given, odds, -np.inf).max(axis=1, keepdims=True, initial=unseen)
    posterior = np.exp(np.where(given, odds - best, -np.inf))
    posterior /= posterior.sum(axis=1, keepdims=True) + np.exp(unseen - best)
    share = (evidence.votes + 0.5) / (evidence.votes.sum(axis=1, keepdims=True) + 1.0)
    held = np.clip(posterior, _EDGE, 1 - _EDGE)
    return np.stack([np.log(held / (1 - held)), np.log(share / (1 - share))], axis=-1)


def _logistic(z: FloatArray) -> FloatArray:
    half: FloatArray = 0.5 + 0.5 * np.tanh(z / 2)
    return half


def fit(
    rows: FloatArray,
    right: BoolArray,
    *,
    fewest: int,
    most: int,
    source: str,
    weights: FloatArray | None = None,
) -> Calibration:
    """Return the calibration with the highest likelihood of these labels.

    Args:
        rows: (n, 2) `features` of one answer per question, usually the winner.
        right: (n,) Whether it was right.
        fewest: The smallest number of answers of a question.
        most: The largest.
        source: What these questions are, in a few words.
        weights: (n,) The weight of each; equal by default.
    """
    if len(right) < MIN_QUESTIONS or right.all() or not right.any():
        raise InputError(
            f"{len(right)} questions, {np.count_nonzero(right)} of them answered right: a calibration needs"
            f" at least {MIN_QUESTIONS} with right and wrong ones among them"
        )
    each = np.ones(len(right)) if weights is None else weights
    fits = [_newton(rows, right, each, columns) for columns in ([0, 1], [0], [1])]
    # The best fit whose weights are not negative; the last choice uses no feature.
    allowed = [found for found in fits if (found[1][1:] >= 0).all()]
    rate = float(np.average(right, weights=each))
    base = float(np.log(rate / (1 - rate)))
    _, found = min(allowed, key=lambda found: found[0], default=(0.0, np.array([base, 0.0, 0.0])))
    intercept, evidence, share = found.tolist()
    return Calibration(
        intercept=intercept,
        evidence=evidence,
        share=share,
        fewest=fewest,
        most=most,
        n_questions=len(right),
        source=source,
    )


def _newton(
    rows: FloatArray, right: BoolArray, each: FloatArray, columns: list[int]
) -> tuple[float, FloatArray]:
    """Return the loss and (intercept, evidence, share) of a logistic regression on these columns.

    `each` is the weight of each row.
    """
    matrix = np.column_stack([np.ones(len(rows)), rows[:, columns]])
    penalty = np.diag([0.0] + [_RIDGE * float(each.sum())] * len(columns))
    weights = np.zeros(matrix.shape[1])
    for _ in range(100):
        p = _logistic(matrix @ weights)
        gradient = matrix.T @ (each * (p - right)) + penalty @ weights
        hessian = matrix.T @ (matrix * (each * p * (1 - p) + 1e-9)[:, None]) + penalty
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-300))
        weights = weights - step
        if np.abs(step).max() < 1e-10:
            break
    z = matrix @ weights
    loss = float(each @ (np.logaddexp(0.0, z) - right * z) + weights @ penalty @ weights / 2)
    whole = np.zeros(3)
    whole[[0, *(column + 1 for column in columns)]] = weights
    return loss, whole
