"""Published rules that count: DeepConf's consensus, Adaptive-Consistency, ESC's windows, the top three."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from distrivote.defaults import N_WARMUP, STOP_SHARE, STOP_WINDOW
from distrivote.errors import InputError
from distrivote.voting.ballot import Ballot
from distrivote.voting.kernels.pools import FloatArray
from distrivote.voting.stopping.rule import ShareRule, check_share


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
    """Nothing is settled with fewer trajectories, answered or not."""

    def __post_init__(self) -> None:
        check_share(self.share)
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
class BetaRule(ShareRule):
    """Settled once the leading answer is likely the more frequent of the first two.

    With v1 and v2 votes: 1 - I_0.5(v1 + 1, v2 + 1) >= share. Confidences do not count.

    >>> [BetaRule().settled(Ballot.of("a" * n), 40 - n) for n in (3, 4)]
    [False, True]
    """

    kind: ClassVar[str] = "beta"

    def settled(self, ballot: Ballot, n_left: int) -> bool:  # noqa: ARG002
        first, second, _ = _top_three(ballot)
        return first > 0 and 1 - half_beta(first + 1, second + 1) >= self.share


@dataclass(frozen=True, slots=True)
class DirichletRule(ShareRule):
    """Settled once the leading answer is likely the most frequent of the first three.

    The posterior of their shares is Dirichlet(v1 + 1, v2 + 1, v3 + 1): the rule of arXiv 2602.05395, which
    shows that the first three counts are enough, with a flat prior. Confidences do not count.

    >>> [DirichletRule().settled(Ballot.of("a" * n), 40 - n) for n in (4, 5)]
    [False, True]
    """

    kind: ClassVar[str] = "dirichlet"

    def settled(self, ballot: Ballot, n_left: int) -> bool:  # noqa: ARG002
        first, second, third = _top_three(ballot)
        return first > 0 and first_of_three(first + 1, second + 1, third + 1) >= self.share


@dataclass(frozen=True, slots=True)
class Windows:
    """Settled once all trajectories of one window agree, as in early-stopping self-consistency (ESC).

    Windows are `size` neighbouring trajectories each, by their numbers; one without an answer agrees with
    nobody.

    >>> [Windows(3).settled(Ballot.of(votes), 20) for votes in ("baa", "baaa", "baaaaa")]
    [False, False, True]
    """

    size: int = STOP_WINDOW

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(
                f"a window is {self.size} trajectories",
                hint=f"give 1 or more, such as {STOP_WINDOW}",
                argument="stop_when",
            )

    @property
    def name(self) -> str:
        return f"esc:{self.size}"

    def settled(self, ballot: Ballot, n_left: int) -> bool:  # noqa: ARG002
        n = len(ballot.classes) // self.size * self.size
        windows = ballot.classes[:n].reshape(-1, self.size)
        return bool(((windows == windows[:, :1]).all(axis=1) & (windows[:, 0] >= 0)).any())


def _top_three(ballot: Ballot) -> tuple[int, int, int]:
    counts = np.sort(np.bincount(ballot.classes[ballot.classes >= 0], minlength=3))
    return int(counts[-1]), int(counts[-2]), int(counts[-3])


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


def first_of_three(a: int, b: int, c: int) -> float:
    """Return how probable it is that the first share of a Dirichlet(a, b, c) is the largest; whole numbers.

    Shares compare as waiting times for a, b and c events. By inclusion and exclusion only the probability
    that both others are larger is missing, which is a sum over how many events of each came before.

    >>> round(first_of_three(1, 1, 1), 6), round(first_of_three(2, 1, 1), 6)
    (0.333333, 0.611111)
    """
    logs = _log_factorials(a + b + c)
    i, j = np.arange(b)[:, None], np.arange(c)
    terms = logs[a - 1 + i + j] - logs[a - 1] - logs[i] - logs[j] - (a + i + j) * np.log(3.0)
    both = float(np.exp(terms).sum())
    return 1.0 - float(half_beta(a, b)) - float(half_beta(a, c)) + both


@lru_cache(maxsize=8)
def _log_factorials(n: int) -> FloatArray:
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1.0, n + 1.0)))))
