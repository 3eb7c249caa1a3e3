"""Completions of the budget: what the vote may still become, and the rule that asks the method itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distrivote.confidence.trajectories import LARGEST, SMALLEST
from distrivote.defaults import PAPER_METHOD, STOP_SHARE
from distrivote.errors import InputError
from distrivote.voting.ballot import Ballot
from distrivote.voting.kernels.pools import FloatArray, IntArray
from distrivote.voting.methods import parse_method
from distrivote.voting.stopping.rule import check_share
from distrivote.voting.vote import elect

_N_FIRST = 64
"""Completions that are looked at first; most ballots that are not settled show it in these."""

_WIDTH = 0.5
"""Of the kernel, in standard deviations over the fifth root of the number of values: half of what is usual
for one hump. On 240 simulated pools 1% of the answers would have changed later, with 1 as well, and 7% with
0."""


@dataclass(frozen=True, slots=True)
class VoteHolds:
    """Settled once hardly any likely completion of the budget would change what the method answers.

    A completion draws the trajectories that are left from those that were seen, each with its answer and
    its confidence, and from one that was not: a new answer with the confidence of any of them. How
    probable each is, is itself uncertain: the weights of a completion come from a flat Dirichlet
    distribution (the Bayesian bootstrap), and a confidence that is drawn is moved a little, since pools
    in which few values come again and again have humps of their own.

    Who looks after every trajectory has many chances to be wrong. So 1 - share, the part of the questions
    that may end with another answer than that of the whole budget, is divided evenly among the doublings of
    the ballot: each stretch from n to 2 n trajectories has the same part of it.

    >>> rule = VoteHolds(method="sc")
    >>> rule.settled(Ballot.of("aab"), 29), rule.settled(Ballot.of("aaaaaab"), 3)
    (False, True)
    """

    share: float = STOP_SHARE

    method: str = PAPER_METHOD
    """The name says it only where it is another, since `stop_rule` takes this one by itself."""

    n_completions: int = 256
    seed: int = 0
    """Neither of the two is in the name."""

    def __post_init__(self) -> None:
        check_share(self.share)
        parse_method(self.method)
        if self.n_completions < 1:
            raise InputError(f"n_completions is {self.n_completions}: give 1 or more, such as 256")

    @property
    def name(self) -> str:
        return f"vote:{self.share!r}" + (f":{self.method}" if self.method != PAPER_METHOD else "")

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        answered = ballot.classes >= 0
        if not answered.any():
            return False
        now = _winners(ballot.classes[None], ballot.confidences[None], self.method)[0]
        share = self.share_of_a_look(len(ballot.classes) + n_left)
        rng = np.random.default_rng([self.seed, len(ballot.classes)])
        n_first = min(_N_FIRST, self.n_completions)
        stays = _winners(*completions(ballot, n_left, n_first, rng), self.method) == now
        # Three standard errors below the share, the rest will not bring it up.
        if stays.mean() < share - 3 * math.sqrt(share * (1 - share) / n_first):
            return False
        n_more = self.n_completions - n_first
        if n_more:
            more = _winners(*completions(ballot, n_left, n_more, rng), self.method) == now
            stays = np.concatenate((stays, more))
        return bool(stays.mean() >= share)

    def share_of_a_look(self, budget: int) -> float:
        """Return in which share of the completions the answer must stay, for all looks to keep `share`.

        >>> round(VoteHolds().share_of_a_look(64), 4)
        0.9917
        """
        return 1 - (1 - self.share) / max(math.ceil(math.log2(budget)), 1)


def completions(ballot: Ballot, n_left: int, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Draw n completions of a ballot: the classes and confidences of all trajectories, a row for each.

    The class after the last one is the answer that was not seen.
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
