"""Votes: each gives every answer of a pool a score, and the best one wins.

A vote only stores its parameters; `count` counts many pools at once. Scores within 1e-12 (relative) are
equal; then the answer that was seen first among the members wins.

With `negated` every confidence counts as its negative: the vote of the likely wrong half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from distrivote.defaults import N_INTERVALS
from distrivote.errors import InputError
from distrivote.voting.kernels.drifting import drifting_vote, drifting_winners
from distrivote.voting.kernels.hierarchy import hierarchical_vote, interval_winners
from distrivote.voting.kernels.pools import (
    TIE,
    BoolArray,
    FloatArray,
    IntArray,
    Pools,
    signed_scores,
    sums_by_answer,
    winning_answers,
)
from distrivote.voting.kernels.ranks import bests_scores, borda_scores


class Count(NamedTuple):
    """The result of a vote over many pools."""

    winners: IntArray
    """(n_pools,) Answer ids, -1 where nobody voted."""

    scores: FloatArray
    """(n_pools, n_answers) 0 for answers that take no part."""


class Vote(Protocol):
    """Counts the votes of the members of each pool."""

    @property
    def name(self) -> str: ...

    @property
    def needs_confidence(self) -> bool: ...

    @property
    def by_rank(self) -> bool:
        """Whether it uses only the order of confidences, so that any finite numbers are valid."""
        ...

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count: ...


def _by_score(sums: FloatArray, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
    comparable = signed_scores(sums, negated)
    return Count(winning_answers(comparable, pools.answers, members), -sums if negated else sums)


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """Self-consistency: the most frequent answer."""

    name: ClassVar[str] = "sc"
    needs_confidence: ClassVar[bool] = False
    by_rank: ClassVar[bool] = True

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:  # noqa: ARG002
        return _by_score(sums_by_answer(pools, members.astype(np.float64)), pools, members)


@dataclass(frozen=True, slots=True)
class WeightedVote:
    """Every trajectory votes with its confidence."""

    name: ClassVar[str] = "wsc"
    needs_confidence: ClassVar[bool] = True
    by_rank: ClassVar[bool] = False

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        sums = sums_by_answer(pools, pools.confidences * members)
        return _by_score(sums, pools, members, negated)


@dataclass(frozen=True, slots=True)
class BestOfN:
    """The answer of the most confident trajectory; an answer scores its highest confidence."""

    name: ClassVar[str] = "bon"
    needs_confidence: ClassVar[bool] = True
    by_rank: ClassVar[bool] = True

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        n = len(pools.answers)
        values = np.where(members, -pools.confidences if negated else pools.confidences, -np.inf)
        best = values.max(axis=1)
        anybody = best > -np.inf
        limit = np.where(anybody, best - TIE * np.abs(np.where(anybody, best, 0.0)), np.inf)
        surest = (values >= limit[:, None]).argmax(axis=1)
        winners = np.full(n, -1)
        winners[anybody] = pools.answers[anybody, surest[anybody]]
        scores = np.full(n * pools.n_answers, -np.inf)
        keys = pools.answers + (np.arange(n) * pools.n_answers)[:, None]
        np.maximum.at(scores, keys[members], values[members])
        return Count(winners, np.where(scores > -np.inf, scores, 0.0).reshape(n, pools.n_answers))


@dataclass(frozen=True, slots=True)
class BordaVote:
    """The r-th most confident of N casts (N - r + 1) ** p votes."""

    p: float = 0.5
    name: ClassVar[str] = "borda"
    needs_confidence: ClassVar[bool] = True
    by_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_power(self.name, self.p)

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        return _by_score(borda_scores(pools, members, self.p, negated), pools, members)


@dataclass(frozen=True, slots=True)
class RootVote:
    """An answer scores its count ** p times the mean confidence of its trajectories (from CDG, 2026)."""

    p: float = 0.5
    name: ClassVar[str] = "root"
    needs_confidence: ClassVar[bool] = True
    by_rank: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_power(self.name, self.p)

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        counts = np.maximum(sums_by_answer(pools, members.astype(np.float64)), 1.0)
        sums = sums_by_answer(pools, pools.confidences * members)
        return _by_score(counts**self.p * (sums / counts), pools, members, negated)


@dataclass(frozen=True, slots=True)
class MajorityOfBests:
    """The answer that most often wins best-of-m, over all draws of m; m depends on the pool."""

    q: float = 0.75
    """The ratio between consecutive candidates for m: 0.75 by its authors, 0.1 in the DistriVoting paper."""

    name: ClassVar[str] = "mob"
    needs_confidence: ClassVar[bool] = True
    by_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise InputError(f"mob's q = {self.q:g} is out of range: give a ratio between 0 and 1")

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        return _by_score(bests_scores(pools, members, self.q, negated), pools, members)


@dataclass(frozen=True, slots=True)
class PolynomialMajorityOfBests:
    """Majority of the bests with m = floor(sqrt n)."""

    name: ClassVar[str] = "mob-poly"
    needs_confidence: ClassVar[bool] = True
    by_rank: ClassVar[bool] = True

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        return _by_score(bests_scores(pools, members, None, negated), pools, members)


@dataclass(frozen=True, slots=True)
class _IntervalVote:
    """What the two hierarchical votes have in common."""

    intervals: int = N_INTERVALS
    name: ClassVar[str] = "hier"
    needs_confidence: ClassVar[bool] = True
    by_rank: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.intervals, (int, np.integer)) or not 1 <= self.intervals <= 10_000:
            raise InputError(
                f"{self.intervals} intervals are out of range: give a whole number from 1 to 10000"
            )


@dataclass(frozen=True, slots=True)
class HierarchicalVote(_IntervalVote):
    """Intervals of confidence elect an answer each, and these elect the winner. This is the paper's vote."""

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        return Count(*hierarchical_vote(pools, members, self.intervals, negated))

    def elected(self, pools: Pools, members: BoolArray) -> IntArray:
        """Return (n_pools, n_intervals) the answer of each interval, -1 where it is empty."""
        return interval_winners(pools, members, self.intervals, negated=False)[0]


@dataclass(frozen=True, slots=True)
class DriftingVote(_IntervalVote):
    """The hierarchical vote of the authors' released script: drifting intervals, a majority in each."""

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        return Count(*drifting_vote(pools, members, self.intervals, negated))

    def elected(self, pools: Pools, members: BoolArray) -> IntArray:
        """Return (n_pools, n_intervals) the answer of each interval, -1 where there is none."""
        return drifting_winners(pools, members, self.intervals, negated=False)[0]


def _check_power(name: str, p: float) -> None:
    if not 0 <= p <= 10:
        raise InputError(f"{name}'s p = {p:g} is out of range: give a power from 0 to 10")
