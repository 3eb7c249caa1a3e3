"""When is a vote settled? Rules that say so while trajectories come in, to stop sampling early.

A rule looks at the ballot so far and at how many trajectories may still come, and nothing else: the same
ballot, the same verdict, whoever asks and whenever. `poll` keeps the ballot of one question under a rule.

    consensus[:0.95[:16]]   the leading answer has 95% of the votes, of 16 trajectories or more (DeepConf)
    beta[:0.95]             it is the more frequent of the first two with 95% (Adaptive-Consistency)
    vote[:0.95[:dis-gmm]]   it stays the method's answer in 95% of the likely completions of the budget
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from distrivote.confidence.trajectories import LARGEST, SMALLEST
from distrivote.defaults import N_WARMUP, PAPER_METHOD, STOP_SHARE
from distrivote.errors import InputError, UnknownNameError
from distrivote.voting.ballot import Ballot
from distrivote.voting.kernels.pools import FloatArray, IntArray
from distrivote.voting.methods import parse_method
from distrivote.voting.vote import elect

RULES: dict[str, str] = {
    "consensus": "the leading answer has 95% of the votes, of 16 or more (DeepConf)",
    "beta": "the leading answer is the more frequent of the first two with 95% (Adaptive-Consistency)",
    "vote": "95% of the likely completions of the budget leave the answer as it is",
}
"""The names of the rules, with what they mean."""

METHOD = PAPER_METHOD
_N_FIRST = 64
"""Completions that are looked at first; most ballots that are not settled show it in these."""


_WIDTH = 0.5
"""Of the kernel, in standard deviations over the fifth root of the number of values: half of what is usual
for one hump. On 240 simulated pools 1% of the answers would have changed later, with 1 as well, and 7% with
0."""


class StopRule(Protocol):
    """Says when no more trajectories are needed."""

    @property
    def name(self) -> str:
        """What a run keeps among its settings; `stop_rule` makes a rule of that name from it again."""

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        """Say whether the vote is settled although `n_left` trajectories may still come."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """Settled once one answer has nearly all votes, after a warm-up.

    Votes weigh as much as their confidences, as DeepConf has it: those without one have no say, and all
    count the same where none has one or one is not positive.

    >>> Consensus(n_warmup=3).settled(Ballot.of("aaa", [9.0, 8.0, 9.5]), 29)
    True
    """

    share: float = STOP_SHARE
    n_warmup: int = N_WARMUP
    """Before so many trajectories, with an answer or not, nothing is settled."""

    def __post_init__(self) -> None:
        _check_share(self.share)
        if self.n_warmup < 1:
            raise InputError(f"the warm-up is {self.n_warmup} trajectories: give 1 or more, such as 16")

    @property
    def name(self) -> str:
        return f"consensus:{self.share!r}" + (f":{self.n_warmup}" if self.n_warmup != N_WARMUP else "")

    def settled(self, ballot: Ballot, n_left: int) -> bool:  # noqa: ARG002
        answered = ballot.classes >= 0
        if len(ballot.classes) < self.n_warmup or not answered.any():
            return False
        measured = answered & ~np.isnan(ballot.confidences)
        weighed = measured.any() and bool((ballot.confidences[measured] > 0).all())
        members = measured if weighed else answered
        weights = ballot.confidences[members] if weighed else np.ones(np.count_nonzero(members))
        # Divided first, so that no sum overflows.
        votes = np.bincount(ballot.classes[members], weights / weights.max())
        # 0.55 * 100 is more than 55 in floats.
        return bool(votes.max() >= self.share * votes.sum() * (1 - 1e-12))


@dataclass(frozen=True, slots=True)
class BetaRule:
    """Settled once the leading answer is likely the more frequent of the first two.

    With v1 and v2 votes: 1 - I_0.5(v1 + 1, v2 + 1) >= share. Confidences do not count.

    >>> [BetaRule().settled(Ballot.of("a" * n), 40 - n) for n in (3, 4)]
    [False, True]
    """

    share: float = STOP_SHARE

    def __post_init__(self) -> None:
        _check_share(self.share)

    @property
    def name(self) -> str:
        return f"beta:{self.share!r}"

    def settled(self, ballot: Ballot, n_left: int) -> bool:  # noqa: ARG002
        counts = np.sort(np.bincount(ballot.classes[ballot.classes >= 0], minlength=2))
        first, second = int(counts[-1]), int(counts[-2])
        return first > 0 and 1 - half_beta(first + 1, second + 1) >= self.share


@dataclass(frozen=True, slots=True)
class VoteHolds:
    """Settled once hardly any likely completion of the budget would change what the method answers.

    A completion draws the trajectories that are left from those that were seen, each with its answer and
    its confidence, and from one that was not: a new answer with the confidence of any of them. How
    probable each is, is itself uncertain: the weights of a completion come from a flat Dirichlet
    distribution (the Bayesian bootstrap), and a confidence that is drawn is moved a little, since pools
    in which few values come again and again have humps that are none.

    >>> rule = VoteHolds(method="sc")
    >>> rule.settled(Ballot.of("aab"), 29), rule.settled(Ballot.of("aaaaaab"), 3)
    (False, True)
    """

    share: float = STOP_SHARE

    method: str = METHOD
    """The name says it only where it is another, since `stop_rule` takes this one by itself."""

    n_completions: int = 256
    seed: int = 0
    """Neither of the two is in the name."""

    def __post_init__(self) -> None:
        _check_share(self.share)
        parse_method(self.method)
        if self.n_completions < 1:
            raise InputError(f"n_completions is {self.n_completions}: give 1 or more, such as 256")

    @property
    def name(self) -> str:
        return f"vote:{self.share!r}" + (f":{self.method}" if self.method != METHOD else "")

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        answered = ballot.classes >= 0
        if not answered.any():
            return False
        now = _winners(ballot.classes[None], ballot.confidences[None], self.method)[0]
        rng = np.random.default_rng([self.seed, len(ballot.classes)])
        n_first = min(_N_FIRST, self.n_completions)
        stays = _winners(*completions(ballot, n_left, n_first, rng), self.method) == now
        # Three standard errors below the share, the rest will not bring it up.
        if stays.mean() < self.share - 3 * math.sqrt(self.share * (1 - self.share) / n_first):
            return False
        n_more = self.n_completions - n_first
        if n_more:
            more = _winners(*completions(ballot, n_left, n_more, rng), self.method) == now
            stays = np.concatenate((stays, more))
        return bool(stays.mean() >= self.share)


def completions(ballot: Ballot, n_left: int, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Draw n completions of a ballot: the classes and confidences of all trajectories, a row for each.

    A class behind the last one is the answer that was not seen.
    """
    n_seen, answered = len(ballot.classes), np.flatnonzero(ballot.classes >= 0)
    counts = rng.multinomial(n_left, rng.dirichlet(np.ones(n_seen + 1), n))
    drawn = np.repeat(np.tile(np.arange(n_seen + 1), n), counts.ravel()).reshape(n, n_left)
    classes = np.append(ballot.classes, len(ballot.labels))[drawn]
    source = np.where(drawn == n_seen, rng.choice(answered, drawn.shape), drawn)
    confidences = _smoothed(ballot.confidences[source], ballot.confidences[answered], rng)
    seen = (np.tile(ballot.classes, (n, 1)), np.tile(ballot.confidences, (n, 1)))
    return np.hstack((seen[0], classes)), np.hstack((seen[1], confidences))


def _smoothed(drawn: FloatArray, seen: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return confidences with the noise of a kernel whose width is that of a density with two humps."""
    seen = seen[~np.isnan(seen)]
    top = np.abs(seen).max(initial=0.0)
    if len(seen) < 2 or not top:
        return drawn
    width = _WIDTH * top * float((seen / top).std(ddof=1)) * len(seen) ** -0.2
    noisy: FloatArray = drawn + width * rng.standard_normal(drawn.shape)
    if seen.min() <= 0:
        return noisy
    highest = min(1.5 * float(top), LARGEST)
    return np.clip(noisy, max(float(seen.min()) / 2, SMALLEST), highest, out=noisy)


def _winners(classes: IntArray, confidences: FloatArray, method: str) -> IntArray:
    n, m = classes.shape
    return elect(classes.ravel(), confidences.ravel(), np.arange(n + 1) * m, [method])[method].winner


def half_beta(a: int, b: int) -> Fraction:
    """Return the regularised incomplete beta function I_0.5(a, b) of whole numbers from 1, exactly.

    It is the probability of at most b - 1 heads in a + b - 1 throws of a coin.

    >>> half_beta(5, 1)
    Fraction(1, 32)
    """
    n, term, total = a + b - 1, 1, 0
    for heads in range(b):
        total += term
        term = term * (n - heads) // (heads + 1)
    return Fraction(total, 2**n)


def _check_share(share: float) -> None:
    if not 0 < share <= 1:
        raise InputError(
            f"the share to stop at is {share}",
            hint="give a number above 0 and up to 1, such as 0.95",
            argument="stop_when",
        )


def stop_rule(rule: str | StopRule | None, method: str = METHOD) -> StopRule | None:
    """Return the rule of that name; `method` is what `vote` counts by if the name does not say it.

    >>> stop_rule("vote:0.99", method="wsc")
    VoteHolds(share=0.99, method='wsc', n_completions=256, seed=0)
    """
    if not isinstance(rule, str):
        if rule is not None and (isinstance(rule, type) or not hasattr(rule, "settled")):
            raise InputError(
                f"stop_when is {rule!r}",
                hint="give a name such as beta:0.95, a rule, or None",
                argument="stop_when",
            )
        return rule
    name, _, settings = rule.strip().partition(":")
    share, _, more = settings.partition(":")
    if name not in RULES:
        raise UnknownNameError("rule to stop by", rule, RULES, argument="stop_when")
    try:
        part = float(share) if share or ":" in rule else STOP_SHARE
        if name == "consensus":
            return Consensus(part, int(more)) if more else Consensus(part)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the rule {rule!r} has a part that is no number", hint=f"write {name}:0.95", argument="stop_when"
        ) from None
    if name == "vote":
        return VoteHolds(part, more or method)
    if more:
        raise InputError(f"the rule {rule!r} takes one number", hint="write beta:0.95", argument="stop_when")
    return BetaRule(part)
