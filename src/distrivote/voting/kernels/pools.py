"""A batch of pools as rectangular arrays, and the shared rule for which answer wins.

`Pools` is the only shape inside voting: (n_pools, n_columns), a trajectory per column, in their order.
Splits and methods are defined elsewhere. Which trajectories take part in a vote is a boolean array of the
same shape, called `members`.

Confidences are 0, or 1e-100 to 1e100 in absolute value (`scales.check_confidences`), so their squares and the
sums of these neither overflow nor underflow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

TIE = 1e-12
"""Scores that differ by no more than this share of the best one are equal."""

_MANY, _MANY_KEYS = 2**12, 2**18


class Pools(NamedTuple):
    """Answers and confidences of many pools, one row each."""

    answers: IntArray
    """(n_pools, n_columns) Answer ids from 0; also 0 where there is no trajectory."""

    confidences: FloatArray
    """(n_pools, n_columns) NaN if an answer has none, 1 where there is no trajectory. Weighted votes need
    positive ones."""

    answered: BoolArray
    """(n_pools, n_columns) Where there is a trajectory with an answer."""

    n_answers: int
    """All ids are below this, which is at least 1."""

    def rows(self, which: slice | IntArray) -> Pools:
        """Return some of the pools."""
        return Pools(self.answers[which], self.confidences[which], self.answered[which], self.n_answers)


def make_pools(answers: IntArray, confidences: FloatArray, n_answers: int) -> Pools:
    """Return the pools for answer ids (-1: none) and confidences (ignored where there is no answer).

    There is always at least one column, so that callers need not handle arrays without any.
    """
    if not answers.shape[1]:
        answers, confidences = np.full((len(answers), 1), -1), np.ones((len(answers), 1))
    answered = answers >= 0
    if not answered.all():
        answers = np.where(answered, answers, 0)
        confidences = np.where(answered, confidences, 1.0)
    return Pools(answers, confidences, answered, max(n_answers, 1))


def numbered_anew(classes: IntArray) -> tuple[IntArray, int]:
    """Renumber the answers of each row from 0 in the order of their classes (-1: none); also return how many.

    Tables are as wide as the highest number: a pool may have a hundred answers, a draw from it only twenty.

    >>> numbered_anew(np.array([[700, 9, -1, 700], [5, 5, 5, 5]]))
    (array([[ 1,  0, -1,  1],
           [ 0,  0,  0,  0]]), 2)
    """
    order = np.argsort(classes, axis=1)
    order += (np.arange(len(classes)) * classes.shape[1])[:, None]
    ranked = classes.ravel()[order]
    new = np.empty(ranked.shape, dtype=np.int64)
    new[:, :1] = ranked[:, :1] >= 0
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    ids = np.empty_like(new)
    ids.ravel()[order] = np.cumsum(new, axis=1) - 1
    return ids, int(ids.max(initial=-1)) + 1


def or_infinity(confidences: FloatArray, members: BoolArray) -> FloatArray:
    """Return the confidences of members and infinity for others; fast for positive ones."""
    if members.all():
        return confidences.copy()
    if not confidences.min(initial=np.inf) > 0:
        return np.where(members, confidences, np.inf)
    with np.errstate(divide="ignore"):
        outside: FloatArray = confidences / members
    return outside


def ranked_confidences(pools: Pools, members: BoolArray) -> tuple[FloatArray, IntArray]:
    """Return the members' confidences in ascending order, then infinities; and how many there are."""
    values = or_infinity(pools.confidences, members)
    values.sort(axis=1)
    return values, np.count_nonzero(members, axis=1).astype(np.int64)


def ordered_confidences(pools: Pools, members: BoolArray) -> tuple[FloatArray, IntArray]:
    """Return the members' confidences in the order of their trajectories; and how many there are."""
    sizes = np.count_nonzero(members, axis=1).astype(np.int64)
    order = np.argsort(~members, axis=1, kind="stable")
    return np.take_along_axis(pools.confidences, order, axis=1), sizes


def sums_by_answer(pools: Pools, weights: FloatArray) -> FloatArray:
    """Return (n_pools, n_answers) sums of the weights, which are 0 for those that take no part."""
    n, k = len(pools.answers), pools.n_answers
    return sums_by_key(keys_by_answer(pools), weights, n * k).reshape(n, k)


def keys_by_answer(pools: Pools) -> IntArray:
    """Return (n_pools, n_columns) a number for each answer of each pool: row times n_answers, plus id."""
    return pools.answers + (np.arange(len(pools.answers)) * pools.n_answers)[:, None]


def sums_by_key(keys: IntArray, weights: FloatArray, n_keys: int) -> FloatArray:
    """Return the sum of the weights of each key; both are (n_pools, n_columns).

    The sum of n numbers may be off by n roundings, which is less than `TIE` up to some thousand: more
    numbers are summed in parts of this size.
    """
    n_columns = keys.shape[1]
    if n_columns <= _MANY:
        return _added(keys, weights, n_keys)
    sums = np.zeros(n_keys)
    step = _MANY if n_keys <= _MANY_KEYS else 4 * _MANY
    for start in range(0, n_columns, step):
        columns = slice(start, start + step)
        sums += _added(keys[:, columns], weights[:, columns], n_keys)
    return sums


def _added(keys: IntArray, weights: FloatArray, n_keys: int) -> FloatArray:
    sums: FloatArray = np.bincount(keys.ravel(), weights.ravel(), n_keys).astype(np.float64, copy=False)
    return sums


ABSENT = -(2.0**1020)
"""The score of an absent answer: lower than any sum, and finite, so that it can be added."""


def signed_scores(sums: FloatArray, negated: bool) -> FloatArray:
    """Return the scores to compare: the sums or their negatives, and `ABSENT` where a sum is 0."""
    scores = -sums if negated else sums.copy()
    scores += (sums == 0.0) * ABSENT
    return scores


def best_answers(scores: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the best-scored answer of each row, and the rows where others score the same.

    A row without any answer gets -1.
    """
    winners = scores.argmax(axis=1)
    best = scores[np.arange(len(scores)), winners]
    there = best > ABSENT
    equal = scores >= np.where(there, best - TIE * np.abs(best), np.inf)[:, None]
    winners[~there] = -1
    if np.count_nonzero(equal) == np.count_nonzero(there):  # much faster than by row
        return winners, np.empty(0, dtype=np.int64)
    return winners, np.flatnonzero(np.count_nonzero(equal, axis=1) > 1)


def first_seen(scores: FloatArray, answers: IntArray, members: BoolArray) -> IntArray:
    """Return, of the answers that share the best score of a row, the one its members gave first."""
    best = scores.max(axis=1)
    equal = scores >= (best - TIE * np.abs(best))[:, None]
    seen = np.take_along_axis(equal, answers, axis=1) & members
    first: IntArray = answers[np.arange(len(answers)), seen.argmax(axis=1)]
    return first


def winning_answers(scores: FloatArray, answers: IntArray, members: BoolArray) -> IntArray:
    """Return the best-scored answer of each row; on a tie the one that its members gave first.

    Args:
        scores: (n, n_answers) with `ABSENT` for absent answers.
        answers: (n, n_columns) answer ids.
        members: (n, n_columns) which take part.

    Returns:
        (n,) answer ids, -1 for a row without members.
    """
    winners, tied = best_answers(scores)
    if tied.size:
        winners[tied] = first_seen(scores[tied], answers[tied], members[tied])
    return winners
