"""The result of a vote: a `Tally` for one ballot, an `Outcome` for a batch of pools.

A tally is the result of one method on one ballot: the answer, the score of every answer, and what led to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from distrivote.voting.ballot import Answer
from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray


class Split(NamedTuple):
    """How one pool was divided into likely right (positive) and likely wrong (negative)."""

    cut: float
    """Midpoint between the largest negative and the smallest positive; NaN if nothing is negative."""

    n_positive: int
    n_negative: int

    weights: tuple[float, float] | None = None
    """Of the negative and the positive Gaussian, if the split fits them."""

    means: tuple[float, float] | None = None
    sds: tuple[float, float] | None = None


class Weighing(NamedTuple):
    """How `auto` weighed confidence against votes."""

    answer: Answer
    """The answer that was weighed against the majority: the winner, or if that is the majority's answer, the
    one that the confidences support most."""

    odds: float
    """Of that answer against the majority's; above 1 it won. NaN if they agree."""

    gap: float
    """How much surer its trajectories are than the others, in standard deviations of the pool's ranks."""

    voted: Answer | None
    """What DistriVoting elects by itself."""


def _nothing() -> BoolArray:
    return np.empty(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Tally:
    """The result of one method on one ballot."""

    method: str
    answer: Answer | None
    """The answer to believe; None if no trajectory answered."""

    scores: dict[Answer, float]
    """The score of every answer, best first; 0 for answers that took no part in the final vote."""

    majority: Answer | None
    """The answer of plain majority voting, for comparison."""

    votes: dict[Answer, int]
    """How many trajectories gave each answer."""

    kept_votes: dict[Answer, int]
    """How many of them took part in the final vote."""

    n_unanswered: int
    likely_right_votes: dict[Answer, int] = field(default_factory=dict)
    """How many trajectories with each answer are above the first cut; `votes` if there is no cut."""

    n_unmeasured: int = 0
    """Answers without a confidence, which count only in the majority; 0 if the method uses none."""

    fallback: bool = False
    """Whether the majority decided because no answer has a confidence, which the method needs."""

    split: Split | None = None
    """The split of the final vote: the second one if an answer was rejected, None if `auto` elects another
    answer than DistriVoting."""

    first_split: Split | None = None
    """The split of the whole pool."""

    rejected: Answer | None = None
    """The answer that the likely wrong half prefers and that was therefore dropped."""

    negative_answer: Answer | None = None
    """The answer that the likely wrong half prefers, dropped or not."""

    intervals_won: tuple[int, int] | None = None
    """In how many intervals of the final hierarchical vote the answer won, and how many voted."""

    weighing: Weighing | None = None
    """How far confidence was trusted; for `auto` only."""

    probabilities: dict[Answer, float] = field(default_factory=dict)
    """The probability of each answer, in the order of the scores; their sum may be below 1."""

    no_probability: str | None = None
    """Why no answer has a probability, in a sentence; None if they have one."""

    calibrated: bool = True
    """Whether the probabilities were fitted on pools of this size."""

    notes: tuple[str, ...] = ()
    """Caveats, such as a small pool or a single mode."""

    separation: float | None = None
    """The distance between the means of the first split's Gaussians in standard deviations, None without."""

    overrules: bool = False
    """Whether the answer goes against a clear majority of fewer than 16 answers."""

    best: int | None = None
    """The index of the most confident trajectory that gave the answer; None without an answer."""

    confidences: FloatArray = field(default_factory=lambda: np.empty(0), compare=False)
    """(n_trajectories,) The confidences as the method saw them; NaN without a confidence or an answer."""

    likely_right: BoolArray = field(default_factory=_nothing, compare=False)
    """(n_trajectories,) Which are above the first cut; all that answered if the method does not split."""

    likely_wrong: BoolArray = field(default_factory=_nothing, compare=False)
    """(n_trajectories,) Which are below the first cut."""

    dropped: BoolArray = field(default_factory=_nothing, compare=False)
    """(n_trajectories,) Which gave the rejected answer."""

    kept: BoolArray = field(default_factory=_nothing, compare=False)
    """(n_trajectories,) Which took part in the final vote."""

    @property
    def share(self) -> float:
        """The winner's share of the score; not a probability."""
        return 0.0 if self.answer is None else self.share_of(self.answer)

    def share_of(self, answer: Answer) -> float:
        """Return an answer's share of the score; of the votes if scores are below 0."""
        if self.shares_votes:
            return self.kept_votes[answer] / self.n_kept
        mine, total = self.scores[answer], sum(self.scores.values())
        return mine / total if total else 0.0

    @property
    def shares_votes(self) -> bool:
        """Whether shares are those of the votes, since scores below 0 have no shares."""
        return self.fallback or min(self.scores.values(), default=0.0) < 0

    @property
    def probability(self) -> float | None:
        """How probable it is that the answer is right, by the calibration; 0 without an answer.

        None for answers that can't be right or wrong, such as texts.
        """
        if self.no_probability is not None:
            return None
        return self.probabilities[self.answer] if self.answer is not None else 0.0

    def without_probability(self, why: str | None) -> Tally:
        """Return it without probabilities, for the reason that is given; as it is, if none is."""
        return self if why is None else replace(self, probabilities={}, no_probability=why, calibrated=False)

    @property
    def n_trajectories(self) -> int:
        return self.n_cast + self.n_unanswered

    @property
    def n_cast(self) -> int:
        """How many trajectories have an answer."""
        return sum(self.votes.values())

    @property
    def n_kept(self) -> int:
        return sum(self.kept_votes.values())

    def explain(self) -> str:
        """Say in words how the answer was chosen."""
        from distrivote.voting.explain import explain

        return explain(self)


class Outcome(NamedTuple):
    """The result of one method on a batch of pools: arrays over pools."""

    winner: IntArray
    """The winning class, -1 where nothing was answered."""

    share: FloatArray
    """The winner's share of the score."""

    n_cast: IntArray
    """How many trajectories have an answer."""

    n_kept: IntArray
    """How many of them took part in the final vote."""

    n_unmeasured: IntArray
    """How many of them have no confidence; 0 if the method uses none. If it is all of them, the majority
    decided."""

    rejected: IntArray
    """The rejected class, -1 for none."""

    separation: FloatArray
    """The distance between the means of the whole pool's Gaussians in standard deviations, NaN without."""

    probability: FloatArray
    """How probable the winner is; NaN without a calibration, 0 without an answer."""

    overrules: BoolArray
    """Whether the winner goes against a clear majority of fewer than 16 answers."""
