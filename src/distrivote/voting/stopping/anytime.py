"""A rule for the majority whose error level is a theorem, however often it looks.

A bet against a rival. Of the votes for two answers a and b, bet on a each time that a is not behind b. If b
has at least as many votes as a in the whole budget, and trajectories come in random order, then at such a
time at most half of what is left of the two are votes for a: the bet is fair at best. With the odds of a
share s of a's votes, s uniform from 1/2 to 1, k bets that were won and m that were lost leave

    E(a, b) = 2 ** (k + m + 1) / ((k + m + 1) * C(k + m, k)) * (1 - I_0.5(k + 1, m + 1))

times the money. So E(a, b) is an e-process: it ever gets above x with a probability of 1 / x at most
(Ville's inequality). Who bets on all answers against the winner of the budget, with 1 / (j * (j + 1)) of the
money on the j-th answer that appears, has no more than 1 to begin with. Hence to stop on a only where
E(a, b) >= j * (j + 1) / level against every other answer b, seen or not, is to stop on another answer than
that of the whole budget with a probability of `level` at most. The same bets hold for answers that are drawn
independently, and then a is the most probable answer of the model with the same level. It is the idea of
CITE (arXiv 2605.05873), for samples without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import ClassVar

import numpy as np

from distrivote.voting.ballot import Ballot
from distrivote.voting.kernels.pools import IntArray
from distrivote.voting.stopping.counting import half_beta
from distrivote.voting.stopping.rule import ShareRule

_LARGE = Fraction(10**300)
"""More than any level needs, and still a float."""


@dataclass(frozen=True, slots=True)
class Anytime(ShareRule):
    """Settled once every rival is refuted by a bet, or none can catch up any more.

    The answer is another than the majority's of the whole budget with a probability of 1 - share at most,
    for every question and however often it is asked, if trajectories come in random order: by their
    numbers, never by who finishes first.

    >>> [Anytime().settled(Ballot.of("a" * n), 64 - n) for n in (7, 8)]
    [False, True]
    """

    kind: ClassVar[str] = "anytime"

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        votes = ballot.classes[ballot.classes >= 0]
        if not len(votes):
            return False
        classes, first, counts = np.unique(votes, return_index=True, return_counts=True)
        leader = int(counts.argmax())
        rivals = np.delete(np.arange(len(counts)), leader)
        if counts[leader] - counts[rivals].max(initial=0) > n_left:
            return True
        if (counts[rivals] == counts[leader]).any() or self.share == 1:
            return False
        place = 1 + int(np.count_nonzero(first < first[leader]))
        needed = place * (place + 1) / (1 - self.share)
        # The unseen rival first: it is refuted by the fewest votes, so most ballots need no more.
        if e_value(int(counts[leader]), 0) < needed:
            return False
        mine = classes[leader]
        return all(e_value(*_bets(votes, mine, classes[rival])) >= needed for rival in rivals)


def _bets(votes: IntArray, a: int, b: int) -> tuple[int, int]:
    """Return how many bets on a against b were won and lost."""
    steps = np.where(votes == a, 1, 0) - np.where(votes == b, 1, 0)
    steps = steps[steps != 0]
    placed = np.cumsum(steps) - steps >= 0
    won = int(np.count_nonzero(steps[placed] > 0))
    return won, int(np.count_nonzero(placed)) - won


@lru_cache(maxsize=4096)
def e_value(won: int, lost: int) -> float:
    """Return what these bets have made of 1.

    >>> e_value(0, 0), e_value(2, 0)
    (1.0, 2.3333333333333335)
    """
    n = won + lost
    value = Fraction(2 ** (n + 1), (n + 1) * comb(n, won)) * (1 - half_beta(won + 1, lost + 1))
    return float(min(value, _LARGE))
