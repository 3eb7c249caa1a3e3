"""A method as a composition: filter the pool, reject an answer, vote.

`Pipeline` is what a method name stands for; its name is made from its parts. `Electorate` is a batch of
pools with the work that methods share, done once: sorted confidences, splits, and the splits without a
rejected answer.

DistriVoting is `Pipeline(HierarchicalVote(), GmmFilter(), reject=True)`: the likely right half elects
A_pos, the likely wrong half A_neg by negated confidences; if they differ, every trajectory with A_neg
leaves the pool, the rest is split again, and its likely right half decides (section 5 of the method).

`auto` is the majority with `trust`, ours and not the paper's: the evidence of the confidences is weighed
against the votes, and the answer is elected that both together make most probable.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

from distrivote.errors import InputError
from distrivote.voting.filters import Filter
from distrivote.voting.kernels.evidence import Evidence, evidence_of
from distrivote.voting.kernels.pools import (
    ABSENT,
    BoolArray,
    FloatArray,
    IntArray,
    Pools,
    ranked_confidences,
    winning_answers,
)
from distrivote.voting.kernels.splits import Splits, copy_of, copy_rows, put_rows
from distrivote.voting.probability import Calibration
from distrivote.voting.trust import Trust, posteriors, speaks_for
from distrivote.voting.votes import Count, HierarchicalVote, MajorityVote, Vote

EVEN = 1e-9
"""Log-odds that differ by no more than this are even, but for rounding: the answer with more votes stays."""


class Electorate:
    """A batch of pools, and what has been found out about them so far."""

    def __init__(self, pools: Pools) -> None:
        self.pools = pools
        self._splits: dict[Filter, Splits] = {}
        self._splits_without: dict[Filter, list[tuple[IntArray, Splits]]] = {}
        self._counts: dict[tuple[Vote, Filter | None, bool], Count] = {}
        self._probabilities: dict[tuple[Calibration, Trust], FloatArray] = {}

    @cached_property
    def measured(self) -> Electorate:
        """The same with equal confidences in pools where one is missing: those say nothing there."""
        lacking = np.isnan(self.pools.confidences).any(axis=1, keepdims=True)
        if not lacking.any():
            return self
        confidences = np.where(lacking, 1.0, self.pools.confidences)
        exponents = np.where(lacking.ravel(), 0, self.pools.exponents)
        return Electorate(self.pools._replace(confidences=confidences, exponents=exponents))

    @cached_property
    def evidence(self) -> Evidence:
        """What the confidences say for each answer."""
        return evidence_of(self.measured.pools)

    def probabilities(self, calibration: Calibration, trust: Trust) -> FloatArray:
        """Return (n_pools, n_answers) how probable each answer is."""
        key = (calibration, trust)
        if key not in self._probabilities:
            self._probabilities[key] = calibration.of(self.evidence, trust)
        return self._probabilities[key]

    @cached_property
    def _ranked(self) -> tuple[FloatArray, IntArray]:
        return ranked_confidences(self.pools, self.pools.answered)

    def splits(self, filter: Filter) -> Splits:
        """Return the split of every pool."""
        if filter not in self._splits:
            self._splits[filter] = filter.split(*self._ranked)
        return self._splits[filter]

    def splits_without(self, filter: Filter, rejected: IntArray) -> Splits:
        """Return the splits of the pools less their rejected answer; as they were where it is -1."""
        result = copy_of(self.splits(filter))
        known = self._splits_without.setdefault(filter, [])
        missing = rejected >= 0
        for other, splits in known:
            copy_rows(splits, result, missing & (other == rejected))
            missing &= other != rejected
        if missing.any():
            rows = np.flatnonzero(missing)
            pools = self.pools.rows(rows)
            members = pools.answered & (pools.answers != rejected[rows, None])
            put_rows(_split(filter, pools, members), result, rows)
        known.append((rejected, result))
        return result

    def count(self, vote: Vote, filter: Filter | None, negative: bool = False) -> Count:
        """Return the vote of all, of the positive side, or of the negative one by -C."""
        key = (vote, filter, negative)
        if key not in self._counts:
            members = self.pools.answered
            if filter is not None:
                members = _positive(self.pools, self.splits(filter))
                if negative:
                    members = self.pools.answered & ~members
            self._counts[key] = vote.count(self.pools, members, negated=negative)
        return self._counts[key]


def _positive(pools: Pools, splits: Splits) -> BoolArray:
    return pools.answered & (pools.confidences >= splits.lowest_positive[:, None])


def _split(filter: Filter, pools: Pools, members: BoolArray) -> Splits:
    ranked, sizes = ranked_confidences(pools, members)
    return filter.split(ranked[:, : max(int(sizes.max()), 1)], sizes)


class Decision(NamedTuple):
    """What a pipeline decided for a batch of pools, and how."""

    winners: IntArray
    """(n_pools,) Answer ids, -1 where nothing was answered."""

    scores: FloatArray
    """(n_pools, n_answers) In the final vote; 0 for answers without a say."""

    kept: BoolArray
    """(n_pools, n_columns) Who had a say in the final vote."""

    negative_winners: IntArray
    """(n_pools,) What the negative side elected, -1 where there is none."""

    rejected: IntArray
    """(n_pools,) The answer that was dropped, -1 for none."""

    splits: Splits | None
    """The splits that the final votes stand on, where they did not go back to the majority; None without a
    filter."""

    surest: IntArray | None = None
    """(n_pools,) What was weighed against the majority: the winner, or where that is the majority's answer,
    the one that the confidences speak for; None without trust."""

    preferences: FloatArray | None = None
    """(n_pools,) The log-odds of that answer against the majority's, NaN where they agree."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A voting method: a vote, over the positive side of a filter, with or without rejection.

    >>> from distrivote.voting.filters import GmmFilter
    >>> Pipeline(HierarchicalVote(), GmmFilter(), reject=True).name
    'dis-gmm'
    """

    vote: Vote
    filter: Filter | None = None
    reject: bool = False
    """Drop the answer that the negative side elects, if the positive side elects another."""

    trust: Trust | None = None
    """Elect what votes and confidences together make most probable; the vote says what the votes are."""

    def __post_init__(self) -> None:
        if self.trust is not None and (self.filter is not None or not isinstance(self.vote, MajorityVote)):
            raise InputError("a pipeline with trust weighs votes alike: give MajorityVote() and no filter")
        if self.reject and self.filter is None:
            raise InputError("a pipeline that rejects has no filter: give one, such as GmmFilter()")

    @property
    def name(self) -> str:
        if self.trust is not None:
            return "auto"
        distri = self.reject and isinstance(self.vote, HierarchicalVote)
        parts = ["dis" if distri else self.vote.name]
        if self.filter is not None:
            parts.append(self.filter.name)
        if self.reject and not distri:
            parts.append("reject")
        return "-".join(parts) + self._settings()

    def _settings(self) -> str:
        """Return the parameters that the name does not say already, as in ':intervals=5'."""
        changed = []
        for part in (self.filter, self.vote):
            if part is None:
                continue
            for field in fields(part):  # type: ignore[arg-type]
                value = getattr(part, field.name)
                if value != field.default and not (field.name == "fraction" and part.name != "top"):
                    changed.append(f"{field.name}={value}")
        return ":" + ",".join(changed) if changed else ""

    @property
    def reads_confidence(self) -> bool:
        """Whether confidences matter to it; to `auto` they do, though it needs none."""
        return self.trust is not None or self.filter is not None or self.vote.needs_confidence

    @property
    def needs_confidence(self) -> bool:
        return self.trust is None and self.reads_confidence

    def decide(self, electorate: Electorate) -> Decision:
        """Vote in every pool of the electorate."""
        if self.trust is None:
            return self._decide(electorate)
        return _weighed(electorate.measured, self.trust)

    def _decide(self, electorate: Electorate) -> Decision:
        pools = electorate.pools
        nobody = np.full(len(pools.answers), -1, dtype=np.int64)
        if self.filter is None:
            count = electorate.count(self.vote, None)
            return Decision(count.winners, count.scores, pools.answered, nobody, nobody, None)
        splits = electorate.splits(self.filter)
        positive = electorate.count(self.vote, self.filter)
        kept = _positive(pools, splits)
        if not self.reject:
            return Decision(positive.winners, positive.scores, kept, nobody, nobody, splits)

        negative = electorate.count(self.vote, self.filter, negative=True).winners
        rejected = np.where(negative != positive.winners, negative, -1)
        rows = np.flatnonzero(rejected >= 0)
        winners, scores = positive.winners.copy(), positive.scores.copy()
        if rows.size:
            splits = electorate.splits_without(self.filter, rejected)
            some = pools.rows(rows)
            lowest = splits.lowest_positive[rows, None]
            members = some.answered & (some.answers != rejected[rows, None])
            members &= some.confidences >= lowest
            kept[rows] = members
            winners[rows], scores[rows] = self.vote.count(some, members)
        return Decision(winners, scores, kept, negative, rejected, splits)


def _weighed(electorate: Electorate, trust: Trust) -> Decision:
    """Elect the most probable answer of each pool."""
    pools, evidence = electorate.pools, electorate.evidence
    majority = electorate.count(MajorityVote(), None).winners
    told = trust.told(evidence)
    odds = trust.log_odds(evidence, told)
    best = odds.max(axis=1, keepdims=True)
    likely = np.where((odds >= best - EVEN) & (evidence.counts > 0), evidence.counts, ABSENT)
    winners = winning_answers(likely, pools.answers, pools.answered)
    surest = np.where(winners != majority, winners, speaks_for(told, evidence.counts, majority))
    preferences = np.full(len(winners), np.nan)
    rows = np.flatnonzero(surest != majority)
    preferences[rows] = odds[rows, surest[rows]] - odds[rows, majority[rows]]
    nobody = np.full(len(winners), -1, dtype=np.int64)
    return Decision(winners, posteriors(odds), pools.answered, nobody, nobody, None, surest, preferences)
