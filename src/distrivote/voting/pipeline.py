"""A method as a composition of parts: filter the pool, reject an answer, vote.

`Pipeline` is what a method name stands for; its name is built from its parts. It decides for the pools of an
`Electorate`, which computes what several methods need once.

DistriVoting is `Pipeline(HierarchicalVote(), GmmFilter(), reject=True)`: the likely right half elects
A_pos, the likely wrong half A_neg by negated confidences; if they differ, every trajectory with A_neg
leaves the pool, the rest is split again, and its likely right half decides (section 5 of the method).

`auto` is DistriVoting with `trust`, which is ours and not the paper's: the evidence of the confidences is
weighed against the votes, and the most probable answer by both wins. If that is DistriVoting's answer, the
decision is reported as DistriVoting's; otherwise as a vote of all answers.

An answer without a confidence counts in every majority, and is left out wherever confidences are used. In a
pool where no answer has one, every method is majority voting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import NamedTuple

import numpy as np

from distrivote.errors import InputError
from distrivote.names import FILTER, METHOD, own_of
from distrivote.voting.electorate import Electorate, likely_right
from distrivote.voting.filters import Filter, GmmFilter, ReleasedGmmFilter, ReleasedTopFilter, TopFilter
from distrivote.voting.kernels.pools import (
    ABSENT,
    BoolArray,
    FloatArray,
    IntArray,
    winning_answers,
)
from distrivote.voting.kernels.splits import Splits
from distrivote.voting.own import OwnFilter, OwnVote
from distrivote.voting.trust import Trust, posteriors, speaks_for
from distrivote.voting.votes import DriftingVote, HierarchicalVote, MajorityVote, Vote

EVEN = 1e-9
"""Log-odds within this are equal up to rounding: the answer with more votes stays."""

RELEASED: dict[type[object], type[object]] = {
    GmmFilter: ReleasedGmmFilter,
    TopFilter: ReleasedTopFilter,
    HierarchicalVote: DriftingVote,
}
"""Parts in which the authors' released script differs from the paper's equations -> its variant."""


class Decision(NamedTuple):
    """What a pipeline decided for a batch of pools, and how."""

    winners: IntArray
    """(n_pools,) Answer ids, -1 where nothing was answered."""

    scores: FloatArray
    """(n_pools, n_answers) In the final vote; 0 for answers that took no part."""

    kept: BoolArray
    """(n_pools, n_columns) Which trajectories took part in the final vote."""

    negative_winners: IntArray
    """(n_pools,) The answer that the negative side elected, -1 if there is none."""

    rejected: IntArray
    """(n_pools,) The answer that was dropped, -1 for none."""

    splits: Splits | None
    """The splits of the final votes, where these did not fall back to the majority; None without a filter."""

    unweighed: IntArray | None = None
    """(n_pools,) The winner before the evidence was weighed; None without trust."""

    surest: IntArray | None = None
    """(n_pools,) The answer that was weighed against the majority: the winner, or if that is the majority's
    answer, the one that the confidences support; None without trust."""

    preferences: FloatArray | None = None
    """(n_pools,) The log-odds of that answer against the majority's, NaN where they agree."""

    fallback: BoolArray | None = None
    """(n_pools,) Where the majority decided because no answer has a confidence; None if nowhere."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A voting method: a vote, over the positive side of a filter, with or without rejection.

    >>> from distrivote.voting.filters import GmmFilter
    >>> Pipeline(HierarchicalVote(), GmmFilter(), reject=True).name
    'dis-gmm'
    """

    vote: Vote
    """Or a function (classes, confidences) -> class or scores."""

    filter: Filter | None = None
    """Or a function (confidences) -> cut."""

    reject: bool = False
    """Drop the answer that the negative side elects, if the positive side elects another."""

    trust: Trust | None = None
    """Elect the most probable answer by votes and confidences, whatever the vote itself elects."""

    alias: str | None = None
    """The name by which it was imported; None: its name is made from its parts."""

    def __post_init__(self) -> None:
        _check_part("vote", self.vote)
        _check_part("filter", self.filter)
        if not hasattr(self.vote, "count"):
            object.__setattr__(self, "vote", OwnVote(own_of(METHOD, self.vote)))
        if self.filter is not None and not hasattr(self.filter, "split"):
            object.__setattr__(self, "filter", OwnFilter(own_of(FILTER, self.filter)))
        if not isinstance(self.trust, Trust | None):
            raise InputError(
                f"the trust of a pipeline is {self.trust!r}", hint="give a Trust() or None", argument="trust"
            )
        if self.reject and self.filter is None:
            raise InputError("a pipeline that rejects has no filter: give one, such as GmmFilter()")
        if self.released and any(type(part) in RELEASED for part in (self.filter, self.vote)):
            raise InputError("a pipeline mixes parts of the released script with others: take both from one")

    @property
    def released(self) -> bool:
        """Whether it counts as the authors' released script does."""
        return any(type(part) in RELEASED.values() for part in (self.filter, self.vote))

    @property
    def name(self) -> str:
        if self.alias is not None:
            return self.alias
        if self.trust is not None:
            return "auto" + self._settings()
        distri = self.reject and isinstance(self.vote, HierarchicalVote | DriftingVote)
        parts = ["dis" if distri else self.vote.name]
        if self.filter is not None:
            parts.append(self.filter.name)
        if self.reject and not distri:
            parts.append("reject")
        return "-".join(parts) + self._settings()

    def _settings(self) -> str:
        """Return the parameters that are not part of the name, as in ':intervals=5'."""
        changed = ["released"] if self.released else []
        for part in (self.filter, self.vote):
            if isinstance(part, OwnFilter | OwnVote):
                changed += [f"{name}={value}" for name, value in part.settings]
            if part is None or not is_dataclass(part):
                continue
            for field in fields(part):
                value = getattr(part, field.name)
                if value != field.default and not (field.name == "fraction" and part.name != "top"):
                    changed.append(f"{field.name}={value}")
        return ":" + ",".join(changed) if changed else ""

    @property
    def reads_confidence(self) -> bool:
        """Whether it uses confidences; `auto` does, but does not need them."""
        return self.filter is not None or self.vote.needs_confidence

    @property
    def needs_confidence(self) -> bool:
        return self.trust is None and self.reads_confidence

    @property
    def by_rank(self) -> bool:
        """Whether it uses only the order of confidences."""
        return self.vote.by_rank and (self.filter is None or self.filter.by_rank)

    @property
    def needs_positive(self) -> bool:
        """Whether the given confidences must be positive; `auto` rescales them."""
        return self.trust is None and not self.by_rank

    def voters(self, electorate: Electorate) -> Electorate:
        """Return the answers that take part: all, or those with a confidence."""
        if not self.reads_confidence:
            return electorate
        return (electorate if self.by_rank else electorate.scaled).measured

    def believing(self, trust: Trust | None) -> Pipeline:
        """Return the method with this trust instead of its own, if it has one at all."""
        return self if trust is None or self.trust is None else replace(self, trust=trust)

    def decide(self, electorate: Electorate) -> Decision:
        """Vote in every pool of the electorate."""
        voters = self.voters(electorate)
        decision = self._decide(voters)
        if self.trust is not None:
            decision = _weighed(decision, electorate, self.trust)
        return (
            decision if voters.pools.answered is electorate.pools.answered else _filled(decision, electorate)
        )

    def elected(self, electorate: Electorate) -> IntArray:
        """Return (n_pools,) the winners of `decide`; fast where the vote itself makes no difference."""
        if self.trust is None:
            return self.decide(electorate).winners
        return _most_probable(electorate, self.trust.log_odds(electorate.evidence))

    def _decide(self, electorate: Electorate) -> Decision:
        pools = electorate.pools
        nobody = np.full(len(pools.answers), -1, dtype=np.int64)
        if self.filter is None:
            count = electorate.count(self.vote, None)
            return Decision(count.winners, count.scores, pools.answered, nobody, nobody, None)
        splits = electorate.splits(self.filter)
        positive = electorate.count(self.vote, self.filter)
        kept = likely_right(pools, splits)
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


def _check_part(name: str, part: object) -> None:
    """Raise for a class and for a text or a list: these have a method `count` or `split` too."""
    if isinstance(part, type):
        said, hint = f"the class {part.__name__}", f"give an object of it, such as {part.__name__}()"
    elif isinstance(part, Sequence):
        said, hint = repr(part), "give an object, or make the pipeline by parse_method('dis-gmm')"
    else:
        return
    raise InputError(f"the {name} of a pipeline is {said}", hint=hint, argument=name)


def _most_probable(electorate: Electorate, odds: FloatArray) -> IntArray:
    """Return (n_pools,) the answers with the highest log-odds; of equal ones that with more votes."""
    best = odds.max(axis=1, keepdims=True)
    votes = electorate.evidence.votes
    likely = np.where((odds >= best - EVEN) & (votes > 0), votes, ABSENT)
    return winning_answers(likely, electorate.pools.answers, electorate.pools.answered)


def _weighed(decision: Decision, electorate: Electorate, trust: Trust) -> Decision:
    """Return the decision with the most probable answer of each pool.

    Where another answer is more probable than the decision's, all answers took part, and the scores are their
    probabilities.
    """
    pools, evidence = electorate.pools, electorate.evidence
    majority = electorate.count(MajorityVote(), None).winners
    told = trust.told(evidence)
    odds = trust.log_odds(evidence, told)
    winners = _most_probable(electorate, odds)
    surest = np.where(winners != majority, winners, speaks_for(told, evidence.votes, majority))
    preferences = np.full(len(winners), np.nan)
    rows = np.flatnonzero(surest != majority)
    preferences[rows] = odds[rows, surest[rows]] - odds[rows, majority[rows]]
    # Without confidences the majority decides (`_filled`), unless votes have weights.
    silent = (decision.winners if electorate.weights is None else majority) < 0
    other = (winners != decision.winners) & ~silent
    return decision._replace(
        winners=np.where(silent, -1, winners),
        scores=np.where(other[:, None], posteriors(odds), decision.scores),
        kept=np.where(other[:, None], pools.answered, decision.kept),
        rejected=np.where(other, -1, decision.rejected),
        unweighed=decision.winners,
        surest=surest,
        preferences=preferences,
    )


def _filled(decision: Decision, electorate: Electorate) -> Decision:
    """Return the decision with the majority's answer in pools where no answer has a confidence."""
    majority = electorate.count(MajorityVote(), None)
    silent = (decision.winners < 0) & (majority.winners >= 0)
    if not silent.any():
        return decision
    return decision._replace(
        winners=np.where(silent, majority.winners, decision.winners),
        scores=np.where(silent[:, None], majority.scores, decision.scores),
        kept=np.where(silent[:, None], electorate.pools.answered, decision.kept),
        fallback=silent,
    )
