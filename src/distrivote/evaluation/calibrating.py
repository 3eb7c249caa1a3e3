"""A calibration from labelled runs, and its quality on questions that it was not fitted on.

It is fitted on the winners of `auto`, to which the probabilities apply: on draws of 8, 16, 32 ...
trajectories of each question and on all of them, since a calibration should hold for pools of many sizes.
Draws of one question are not new questions: a question counts once if there are enough, and is either fitted
on or tested on, never both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distrivote.errors import InputError
from distrivote.evaluation.draws import generator
from distrivote.evaluation.pools import Flags, Floats, Ints, PoolSet
from distrivote.evaluation.reliability import brier_score, calibration_error
from distrivote.evaluation.winners import Winners, votes_of
from distrivote.nouns import count
from distrivote.voting.probability import MIN_QUESTIONS, Calibration, fit

_SIZES = tuple(2**n for n in range(3, 17))
"""Of draws; fewer than 8 answers say hardly anything."""

_DRAWS = 4
"""Of each size, from each question."""

_FOLDS = 10


class WinnerTable(NamedTuple):
    """Winners to fit on: one row each."""

    features: Floats
    """(n, 2)"""

    right: Flags
    share: Floats
    """Of the votes."""

    question: Ints
    """(n,) The number of the question."""

    fewest: int
    most: int
    """Trajectories of a draw."""

    @property
    def n_questions(self) -> int:
        return len(np.unique(self.question))


class Quality(NamedTuple):
    """How good probabilities are, by two measures; lower is better."""

    ece: float
    brier: float


class Fitted(NamedTuple):
    """A calibration, and the quality of it and others on questions that they were not fitted on."""

    calibration: Calibration
    held_out: Quality
    """By cross-validation: ten groups of questions, each judged by a fit on the others."""

    shipped: Quality
    """The default calibration."""

    share: Quality
    """The share of votes, used as a probability."""

    n_rows: int


def rows_of(sets: Sequence[PoolSet], seed: int = 0) -> WinnerTable:
    """Return the winners of `auto` on draws of several sizes from every question."""
    parts: list[tuple[Floats, Flags, Floats, Ints]] = []
    sizes: list[int] = []
    first = 0
    for source in sets:
        numbers = first + np.arange(len(source.pools))
        first += len(source.pools)
        budgets = [size for size in _SIZES if size < source.smallest]
        sizes += [*budgets, *(pool.n_trajectories for pool in source.pools)]
        for budget in (*budgets, None):
            votes = votes_of(source, budget, _DRAWS, seed)
            parts.append(_rows(votes.winners["auto"], numbers))
    joined = [np.concatenate(some) for some in zip(*parts, strict=True)]
    return WinnerTable(joined[0], joined[1], joined[2], joined[3], min(sizes), max(sizes))


def _rows(winners: Winners, numbers: Ints) -> tuple[Floats, Flags, Floats, Ints]:
    there = winners.answered
    question = np.broadcast_to(numbers[:, None], there.shape)
    return winners.features[there], winners.right[there], winners.share[there], question[there]


def calibrate(sets: Sequence[PoolSet], source: str, seed: int = 0) -> Fitted:
    """Fit a calibration to labelled runs; `source` says in a few words what they are.

    Raises:
        InputError: If there are fewer than 20 questions, or all are answered right, or none is.
    """
    rows = rows_of(sets, seed)
    _check(rows)
    known = Calibration().of_features(rows.features)
    return Fitted(
        _fitted(rows, source),
        _quality(held_out(rows, groups_of(rows, seed)), rows.right),
        _quality(known, rows.right),
        _quality(rows.share, rows.right),
        len(rows.right),
    )


def _check(rows: WinnerTable) -> None:
    if rows.n_questions < MIN_QUESTIONS:
        raise InputError(
            f"{count(rows.n_questions, 'question')} with a known answer: a calibration needs at least"
            f" {MIN_QUESTIONS}, so name more runs"
        )
    if rows.right.all() or not rows.right.any():
        always = "right" if rows.right.all() else "wrong"
        raise InputError(
            f"the votes on all {rows.n_questions} questions are {always}: a calibration needs right and wrong"
            " ones, so name other runs"
        )


def _fitted(rows: WinnerTable, source: str) -> Calibration:
    found = fit(rows.features, rows.right, fewest=rows.fewest, most=rows.most, source=source)
    return dataclasses.replace(found, n_questions=rows.n_questions)


def groups_of(rows: WinnerTable, seed: int = 0) -> Ints:
    """Return (n,) the number of each row's group: all rows of a question are in one."""
    names, place = np.unique(rows.question, return_inverse=True)
    n_groups = min(_FOLDS, len(names))
    numbers = generator(seed, "groups of questions").permutation(len(names)) % n_groups
    groups: Ints = numbers[place]
    return groups


def held_out(rows: WinnerTable, groups: Ints) -> Floats:
    """Return (n,) the probability of every row by a fit on the other groups."""
    values = np.empty(len(rows.right))
    for group in np.unique(groups).tolist():
        inside = groups == group
        rest = ~inside
        try:
            found = fit(rows.features[rest], rows.right[rest], fewest=1, most=1, source="")
        except InputError:  # the others are all right or all wrong: only their rate is known
            values[inside] = (rows.right[rest].sum() + 0.5) / (np.count_nonzero(rest) + 1.0)
        else:
            values[inside] = found.of_features(rows.features[inside])
    return values


def _quality(probability: Floats, right: Flags) -> Quality:
    return Quality(calibration_error(probability, right), brier_score(probability, right))
