"""Completions of the budget: what the vote may still become, and the rule that asks the method itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from distrivote.confidence.trajectories import LARGEST, SMALLEST
from distrivote.defaults import PAPER_METHOD, STOP_SHARE
from distrivote.errors import InputError
from distrivote.voting.ballot import Ballot
from distrivote.voting.electorate import Electorate
from distrivote.voting.kernels.pools import FloatArray, IntArray, make_pools
from distrivote.voting.methods import parse_method
from distrivote.voting.models import comparable
from distrivote.voting.scales import Scale, check_confidences, on_scale, scale_of
from distrivote.voting.stopping.rule import check_share

N_FIRST = 32
"""Completions that are judged first; most ballots that are not settled show it in these."""

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

    n_completions: int = 128
    seed: int = 0
    """Neither of the two is in the name."""

    def __post_init__(self) -> None:
        check_share(self.share)
        parse_method(self.method)
        if self.n_completions < 1:
            raise InputError(f"n_completions is {self.n_completions}: give 1 or more, such as 128")

    @property
    def name(self) -> str:
        return f"vote:{self.share!r}" + (f":{self.method}" if self.method != PAPER_METHOD else "")

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        answered = ballot.classes >= 0
        if not answered.any():
            return False
        ballot = among_models(ballot)
        n, share = self.n_completions, self.share_of_a_look(len(ballot.classes) + n_left)
        rng = np.random.default_rng([self.seed, len(ballot.classes)])
        method = parse_method(self.method)
        check_confidences(ballot.confidences, positive_for=method.name if method.needs_positive else None)
        scale = scale_of(ballot.classes, ballot.confidences)
        now, n_changed = None, 0
        for size in in_parts(n):
            some = completions(ballot, n_left, size, rng)
            if now is None:
                some = with_ballot(ballot, n_left, some)
            winners = method.elected(electorate_of(*some, len(ballot.labels) + 1, scale))
            now = winners[-1] if now is None else now
            n_changed += int(np.count_nonzero(winners != now))
            # More completions can't change the verdict.
            if n - n_changed < share * n:
                return False
        return True

    def share_of_a_look(self, budget: int) -> float:
        """Return in which share of the completions the answer must stay, for all looks to keep `share`.

        >>> round(VoteHolds().share_of_a_look(64), 4)
        0.9917
        """
        return 1 - (1 - self.share) / max(math.ceil(math.log2(budget)), 1)


def among_models(ballot: Ballot) -> Ballot:
    """Return the ballot as a vote sees it: of several models, with confidences compared within each."""
    if len(set(ballot.models)) < 2:
        return ballot
    return replace(ballot, confidences=comparable(ballot.confidences, ballot.models, ballot.classes))


def in_parts(n: int) -> tuple[int, ...]:
    """Return the sizes of the parts in which n completions are judged.

    >>> in_parts(128), in_parts(20)
    ((32, 96), (20,))
    """
    return (N_FIRST, n - N_FIRST) if n > N_FIRST else (n,)


def completions(ballot: Ballot, n_left: int, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Draw n completions of a ballot: the classes and confidences of all trajectories, a row for each.

    The class after the last one is the answer that was not seen.
    """
    n_seen, answered = len(ballot.classes), np.flatnonzero(ballot.classes >= 0)
    counts = rng.multinomial(n_left, rng.dirichlet(np.ones(n_seen + 1), n))
    drawn = np.repeat(np.tile(np.arange(n_seen + 1), n), counts.ravel()).reshape(n, n_left)
    classes = np.empty((n, n_seen + n_left), dtype=np.int64)
    classes[:, :n_seen] = ballot.classes
    classes[:, n_seen:] = np.append(ballot.classes, len(ballot.labels))[drawn]
    unseen = drawn == n_seen
    drawn[unseen] = rng.choice(answered, np.count_nonzero(unseen))
    confidences = np.empty(classes.shape)
    confidences[:, :n_seen] = ballot.confidences
    confidences[:, n_seen:] = _smoothed(ballot.confidences[drawn], ballot.confidences[answered], rng)
    return classes, confidences


def with_ballot(
    ballot: Ballot, n_left: int, drawn: tuple[IntArray, FloatArray]
) -> tuple[IntArray, FloatArray]:
    """Return completions with the ballot as it is in a last row, so that it is judged with the others."""
    classes = np.vstack((drawn[0], np.append(ballot.classes, np.full(n_left, -1))))
    return classes, np.vstack((drawn[1], np.append(ballot.confidences, np.full(n_left, np.nan))))


def electorate_of(classes: IntArray, confidences: FloatArray, n_answers: int, scale: Scale) -> Electorate:
    """Return the electorate of some completions of one ballot."""
    scaled = None
    if scale is not Scale.POSITIVE:
        offsets = np.arange(len(classes) + 1) * classes.shape[1]
        values = on_scale(scale, classes.ravel(), confidences.ravel(), offsets).reshape(classes.shape)
        scaled = make_pools(classes, values, n_answers)
    return Electorate(make_pools(classes, confidences, n_answers), scaled, scale is not Scale.STANDARD)


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
