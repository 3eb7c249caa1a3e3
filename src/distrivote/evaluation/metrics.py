"""Measures of trajectories with known truth (section 6 of the method): arrays in, numbers out.

Rows are pools, columns trajectories; `members` says which count. A value that is not defined, such as the
AUROC of a pool in which all are right, is NaN.
"""

from __future__ import annotations

import numpy as np

from distrivote.errors import InputError
from distrivote.evaluation.pools import Flags, Floats, Ints
from distrivote.nouns import count


def accuracy(correct: Flags, members: Flags) -> Floats:
    """Return the share of correct trajectories of each row."""
    return ratio((correct & members).sum(axis=1), members.sum(axis=1))


def weighted_accuracy(confidence: Floats, correct: Flags, members: Flags) -> Floats:
    """Return WAcc of each row: the confidence of the correct ones over the confidence of all."""
    weights = np.where(members, confidence, 0.0)
    return ratio((weights * correct).sum(axis=1), weights.sum(axis=1))


def predict_accuracy(positive: Flags, correct: Flags, members: Flags) -> Floats:
    """Return the share of each row's members that a split puts on the right side."""
    return accuracy(positive == correct, members)


def density_difference(positive: Flags, correct: Flags, members: Flags) -> Floats:
    """Return Acc(positive) - Acc(negative) of each row; NaN where one side is empty."""
    return accuracy(correct, members & positive) - accuracy(correct, members & ~positive)


def auroc(confidence: Floats, correct: Flags, members: Flags) -> Floats:
    """Return the chance, for each row, that a correct member is surer than a wrong one; a tie is half.

    >>> one = np.ones((1, 4), dtype=bool)
    >>> auroc(np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[False, True, False, True]]), one).tolist()
    [0.75]
    """
    values = np.where(members, confidence, np.inf)
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    inside = np.take_along_axis(members, order, axis=1)
    right = np.take_along_axis(correct, order, axis=1) & inside
    n, m = values.shape
    wrong_before = np.zeros((n, m + 1))
    np.cumsum(inside & ~right, axis=1, out=wrong_before[:, 1:])
    # Equal values are consecutive: those before them are less sure, those among them are ties.
    starts = np.zeros((n, m), dtype=np.int64)
    starts[:, 1:] = np.where(values[:, 1:] != values[:, :-1], np.arange(1, m), 0)
    np.maximum.accumulate(starts, axis=1, out=starts)
    ends = np.full((n, m), m)
    ends[:, :-1] = np.where(values[:, 1:] != values[:, :-1], np.arange(1, m), m)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    below = np.take_along_axis(wrong_before, starts, axis=1)
    up_to = np.take_along_axis(wrong_before, ends, axis=1)
    pairs = ((below + up_to) / 2 * right).sum(axis=1)
    return ratio(pairs, right.sum(axis=1) * wrong_before[:, -1])


def pass_at_k(n: int, n_correct: Ints, k: int) -> Floats:
    """Return the unbiased chance that one of k out of n is correct: 1 - C(n - c, k) / C(n, k).

    >>> pass_at_k(4, np.array([0, 1, 2, 4]), 2).tolist()
    [0.0, 0.5, 0.8333333333333334, 1.0]
    """
    if not 1 <= k <= n:
        raise InputError(f"pass@{k} of {count(n, 'trajectory')}: give a k from 1 to {n}")
    # misses[c] = prod over i < c of (n - k - i) / (n - i)
    i = np.arange(n)
    misses = np.concatenate([[1.0], np.cumprod(np.maximum(n - k - i, 0) / (n - i))])
    chances: Floats = 1.0 - misses[n_correct]
    return chances


def ratio(numbers: Floats | Ints, totals: Floats | Ints) -> Floats:
    """Return numbers / totals, NaN where the total is 0."""
    there = totals > 0
    return np.where(there, numbers / np.where(there, totals, 1), np.nan)
