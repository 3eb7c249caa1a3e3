"""Rules by the calibrated probability of the winner: what more trajectories would gain, and futility."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

import numpy as np

from distrivote.defaults import METHOD, STOP_GAIN, STOP_SHARE
from distrivote.errors import InputError
from distrivote.voting.ballot import Ballot
from distrivote.voting.methods import parse_method
from distrivote.voting.stopping.outlooks import (
    Outlook,
    by_counts,
    outlook,
    outlooks_by_confidences,
    uses_confidences,
)
from distrivote.voting.stopping.rule import check_share

HOPE = 0.05
"""An answer that becomes sure in fewer completions than this has no hope of it."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Settled once the rest of the budget is expected to make the answer hardly more probable.

    The gain of a completion is how much more probable its answer is than today's, both judged by the whole
    completion, and 0 where they are the same. So a vote is settled where nothing will change, and also where
    what may change is one unlikely answer for another: hopeless questions stop early. If completions and
    probabilities are right, the answers are less often right than those of the whole budget by `gain` at
    most, however often it looks: at every look the rest is worth less.

    >>> rule = Gain()
    >>> [rule.settled(Ballot.of("a" * n), 64 - n) for n in (3, 8)], rule.settled(Ballot.of("aaabbb"), 58)
    ([False, True], False)
    """

    gain: float = STOP_GAIN
    method: str = METHOD
    n_completions: int = 128
    seed: int = 0
    """Neither of the two is in the name."""

    def __post_init__(self) -> None:
        if not 0 < self.gain < 1:
            raise InputError(
                f"the gain to stop at is {self.gain}",
                hint=f"give a number above 0 and below 1, such as {STOP_GAIN}",
                argument="stop_when",
            )
        parse_method(self.method)

    @property
    def name(self) -> str:
        return f"gain:{self.gain!r}" + (f":{self.method}" if self.method != METHOD else "")

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        if not (ballot.classes >= 0).any():
            return False
        if not n_left:
            return True
        if not uses_confidences(ballot, parse_method(self.method)):
            votes = ballot.classes[ballot.classes >= 0]
            counts = tuple(sorted(np.unique(votes, return_counts=True)[1].tolist(), reverse=True))
            n_silent = len(ballot.classes) - len(votes)
            return count_gain(counts, n_silent, n_left, self.n_completions, self.seed) < self.gain
        most, total = self.gain * self.n_completions, 0.0
        for part in _parts(ballot, n_left, self.method, self.n_completions, self.seed):
            total += float(part.gains.sum())
            if total >= most:  # no gain is below 0
                return False
        return True


@lru_cache(maxsize=2**16)
def count_gain(counts: tuple[int, ...], n_silent: int, n_left: int, n_completions: int, seed: int) -> float:
    """Return what the rest of the budget is expected to add, for counts from the highest on.

    >>> round(count_gain((6,), 0, 58, 4096, 0), 3), round(count_gain((3, 3), 0, 58, 4096, 0), 1)
    (0.002, 0.2)
    """
    rng = np.random.default_rng([seed, sum(counts) + n_silent])
    _, later, stays = by_counts(np.array([counts]), np.array([n_silent]), n_left, n_completions, rng)
    return float((later - stays).mean())


class Verdict(Enum):
    """What `Sure` makes of a ballot."""

    OPEN = auto()
    SURE = auto()
    HOPELESS = auto()


@dataclass(frozen=True, slots=True)
class Sure:
    """Settled once the calibrated probability of the winner is reached, or has no hope to be.

    There is no hope if hardly any completion of the budget reaches it. Then it stops as well, and `reason`
    says so. Where it is reached the answer is right with that probability, as far as the calibration holds;
    of those that stop without hope at most 5% would have reached it, and these 5% are divided evenly among
    the doublings of the ballot, as `VoteHolds` does it.

    >>> rule = Sure()
    >>> rule.settled(Ballot.of("aaa"), 61), rule.settled(Ballot.of("a" * 8), 56)
    (False, True)
    >>> rule.settled(Ballot.of("abcdefghijkl"), 4), rule.reason(Ballot.of("abcdefghijkl"), 4)
    (True, 'no answer was likely to reach a probability of 95%')
    """

    probability: float = STOP_SHARE
    method: str = METHOD
    n_completions: int = 128
    seed: int = 0
    """Neither of the two is in the name."""

    def __post_init__(self) -> None:
        check_share(self.probability)
        parse_method(self.method)

    @property
    def name(self) -> str:
        return f"sure:{self.probability!r}" + (f":{self.method}" if self.method != METHOD else "")

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        return bool((ballot.classes >= 0).any()) and self._verdict(ballot, n_left) is not Verdict.OPEN

    def reason(self, ballot: Ballot, n_left: int) -> str | None:
        """Say that there was no hope, where it stopped for that; None where the answer is sure."""
        if self._verdict(ballot, n_left) is not Verdict.HOPELESS:
            return None
        return f"no answer was likely to reach a probability of {self.probability:.0%}"

    def _verdict(self, ballot: Ballot, n_left: int) -> Verdict:
        level, n_hopes = HOPE / max(math.ceil(math.log2(len(ballot.classes) + n_left)), 1), 0
        for part in _parts(ballot, n_left, self.method, self.n_completions, self.seed):
            if part.now >= self.probability:
                return Verdict.SURE
            n_hopes += int(np.count_nonzero(part.later >= self.probability))
            if n_hopes >= level * self.n_completions:
                return Verdict.OPEN
        return Verdict.HOPELESS


def _parts(ballot: Ballot, n_left: int, method: str, n_completions: int, seed: int) -> Iterator[Outlook]:
    """Yield the outlook in one part or two."""
    rng, pipeline = np.random.default_rng([seed, len(ballot.classes)]), parse_method(method)
    if uses_confidences(ballot, pipeline):
        yield from outlooks_by_confidences(ballot, n_left, pipeline, n_completions, rng)
    else:
        yield outlook(ballot, n_left, pipeline, n_completions, rng)
