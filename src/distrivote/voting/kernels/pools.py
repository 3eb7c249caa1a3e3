"""A batch of pools as rectangular arrays, and the shared answer to "who wins".

`Pools` is the one shape inside voting: (n_pools, n_columns), a trajectory per column, in the order in
which they came. It knows nothing of splits or methods. Which trajectories take part in a vote is a
boolean array of the same shape, called `members`.
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

# Sums of confidences above this could overflow, and differences of those below would lose their digits:
# such pools are scaled by a power of two.
_HUGE, _TINY = 2.0**960, 2.0**-900


class Pools(NamedTuple):
    """Answers and confidences of many pools, one row each."""

    answers: IntArray
    """(n_pools, n_columns) Answer ids from 0; also 0 where there is no trajectory."""

    confidences: FloatArray
    """(n_pools, n_columns) NaN where an answer has none, 1 where there is no trajectory. Votes by weight need
    positive ones."""

    answered: BoolArray
    """(n_pools, n_columns) Where there is a trajectory with an answer."""

    n_answers: int
    """All ids are below this, which is at least 1."""

    exponents: IntArray
    """(n_pools,) The confidences are those handed in times 2 ** -exponent: 0 but for huge and tiny ones."""

    def rows(self, which: slice | IntArray) -> Pools:
        """Return some of the pools."""
        return Pools(
            self.answers[which],
            self.confidences[which],
            self.answered[which],
            self.n_answers,
            self.exponents[which],
        )


def make_pools(answers: IntArray, confidences: FloatArray, n_answers: int) -> Pools:
    """Return the pools for answer ids (-1: none) and confidences (ignored where there is no answer).

    There is always at least one column, so that nobody has to think of arrays without any.
    """
    if not answers.shape[1]:
        answers, confidences = np.full((len(answers), 1), -1), np.ones((len(answers), 1))
    answered = answers >= 0
    full = bool(answered.all())
    if not full:
        answers = np.where(answered, answers, 0)
        confidences = np.where(answered, confidences, 1.0)
    exponents = np.zeros(len(answers), dtype=np.int64)
    if confidences.size and np.fmax.reduce(confidences, axis=None) > _HUGE:
        exponents[np.fmax.reduce(confidences, axis=1) > _HUGE] = 64
    exponents[_tiny_rows(confidences, answered)] = -256
    if exponents.any():
        scaled = np.ldexp(confidences, -exponents[:, None])
        for row in np.flatnonzero((scaled < _SMALLEST_NORMAL).any(axis=1)):
            _keep_order(confidences[row], scaled[row])
        confidences = np.where(answered, scaled, 1.0)
    return Pools(answers, confidences, answered, max(n_answers, 1), exponents)


def numbered_anew(classes: IntArray) -> tuple[IntArray, int]:
    """Number the answers of each row from 0 in the order of their classes, -1: none; and say how many do.

    Tables are as wide as the highest number: a pool may have a hundred answers, a draw from it only twenty.

    >>> numbered_anew(np.array([[700, 9, -1, 700], [5, 5, 5, 5]]))
    (array([[ 1,  0, -1,  1],
           [ 0,  0,  0,  0]]), 2)
    """
    order = np.argsort(classes, axis=1)
    ranked = np.take_along_axis(classes, order, axis=1)
    new = np.empty(ranked.shape, dtype=np.int64)
    new[:, :1] = ranked[:, :1] >= 0
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    ids = np.empty_like(new)
    np.put_along_axis(ids, order, np.cumsum(new, axis=1) - 1, axis=1)
    return ids, int(ids.max(initial=-1)) + 1


_SMALLEST_NORMAL = 2.0**-1022


def _tiny_rows(confidences: FloatArray, answered: BoolArray) -> IntArray:
    """Return the rows that hold nothing but tiny confidences."""
    # A look at one column is enough for nearly all of them.
    rows = np.flatnonzero(~(confidences[:, 0] >= _TINY) | ~answered[:, 0])
    if not rows.size:
        return rows
    highest = np.fmax.reduce(np.where(answered[rows], confidences[rows], 0.0), axis=1)
    tiny: IntArray = rows[(highest > 0.0) & (highest < _TINY)]
    return tiny


def _keep_order(confidences: FloatArray, scaled: FloatArray) -> None:
    """Keep apart what vanished beside confidences 10^600 times as large: ranks still count there."""
    gone = scaled < _SMALLEST_NORMAL
    _, places = np.unique(confidences[gone], return_inverse=True)
    # Four apart, so that a quantile between two of them lies between them.
    scaled[gone] = (4.0 * places + 4.0) * np.finfo(np.float64).smallest_subnormal


def or_infinity(confidences: FloatArray, members: BoolArray) -> FloatArray:
    """Return the confidences of members and infinity for others, for positive ones fast."""
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
    """Return (n_pools, n_answers) sums of the weights, which are 0 for those who take no part."""
    n, k = len(pools.answers), pools.n_answers
    keys = pools.answers + (np.arange(n) * k)[:, None]
    return sums_by_key(keys, weights, n * k).reshape(n, k)


def sums_by_key(keys: IntArray, weights: FloatArray, n_keys: int) -> FloatArray:
    """Return the sum of the weights of each key; both are (n_pools, n_columns).

    Adding up n numbers one by one may be wrong by n roundings, which is less than `TIE` up to some
    thousand: where there are more, as many are added up by themselves at a time.
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
"""The score of an answer that is not there: lower than any sum, and finite, so that it can be added."""


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
    """Return the best-scored answer of each row, of equal ones the one that its members gave first.

    Args:
        scores: (n, n_answers) with `ABSENT` for answers that are not there.
        answers: (n, n_columns) answer ids.
        members: (n, n_columns) who takes part.

    Returns:
        (n,) answer ids, -1 for a row without members.
    """
    winners, tied = best_answers(scores)
    if tied.size:
        winners[tied] = first_seen(scores[tied], answers[tied], members[tied])
    return winners
