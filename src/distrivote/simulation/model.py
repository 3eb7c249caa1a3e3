"""Pools drawn from a generative model of pools (not a language model).

    kind of question   easy, hard, or hard and confidently wrong
    rate               the probability that an answered trajectory is right: Beta, by kind
    answer             the right one, or the r-th wrong one with a weight of 1 / r ** popularity
    confidence         N(level of the question + (right: separation), spread ** 2), at least `LEAST`
    level              N(level - (hard: hard_drop), level_spread ** 2), one per question

In a confidently wrong question the two Gaussians change places. A share of the trajectories, larger where
questions are hard, has no answer and no confidence. Pass@1 and the pooled AUROC follow from the parameters
in closed form, so that a model with given values is found without drawing anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from distrivote.errors import InputError
from distrivote.evaluation.pools import Flags, Floats, Ints, Pool, PoolSet

LEAST = 0.01
"""Confidences are positive; hardly any draw is this low."""

TOKEN_SIGMA = 0.4
"""Of the log-normal distribution of lengths: the longest 5% are at least twice as long as the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The parameters of the model. Shares and rates are from 0 to 1; confidences have the usual scale.

    >>> simulation = Simulation(easy_rate=0.9, hard_rate=0.2, hard_share=0.25, unanswered=0.0)
    >>> round(simulation.pass1, 3), round(simulation.auroc, 2)
    (0.72, 0.79)
    """

    easy_rate: float = 0.85
    """How often an answered trajectory is right, on average over the easy questions."""

    hard_rate: float = 0.1
    """The same for the hard questions."""

    hard_share: float = 0.25
    """The share of hard questions."""

    concentration: float = 6.0
    """a + b of the Beta distributions: if large, questions of a kind are alike; near 0, each is solved always
    or never."""

    confidently_wrong: float = 0.05
    """The share of all questions that are hard and have their wrong answers surer than the right one."""

    level: float = 15.0
    """The mean confidence of the wrong trajectories of an easy question."""

    level_spread: float = 1.0
    """The standard deviation between questions."""

    hard_drop: float = 0.0
    """How much lower all confidences are on a hard question."""

    separation: float = 2.0
    """How much surer the right trajectories of a question are; may be negative."""

    spread_right: float = 1.0
    spread_wrong: float = 1.0
    """The standard deviations within a question."""

    n_wrong: int = 20
    """How many wrong answers there are: 3 for a choice of four."""

    popularity: float = 1.5
    """Zipf's exponent of the wrong answers: 0 makes them equally likely; if large, most agree on one."""

    unanswered: float = 0.05
    """The share of trajectories without an answer, of easy questions."""

    hard_unanswered: float = 0.1
    """The same for the hard questions, where more trajectories get too long."""

    n_tokens: float = 0.0
    """The mean length of a trajectory; 0 if unknown."""

    def __post_init__(self) -> None:
        for name in ("easy_rate", "hard_rate"):
            _require(0 < getattr(self, name) < 1, name, getattr(self, name), "between 0 and 1")
        for name in ("hard_share", "confidently_wrong"):
            _require(0 <= getattr(self, name) <= 1, name, getattr(self, name), "from 0 to 1")
        for name in ("unanswered", "hard_unanswered"):
            _require(0 <= getattr(self, name) < 1, name, getattr(self, name), "from 0 and below 1")
        for name in ("concentration", "level", "spread_right", "spread_wrong"):
            _require(0 < getattr(self, name) < math.inf, name, getattr(self, name), "above 0")
        for name in ("level_spread", "popularity", "n_tokens"):
            _require(0 <= getattr(self, name) < math.inf, name, getattr(self, name), "from 0 up")
        for name in ("separation", "hard_drop"):
            _require(math.isfinite(getattr(self, name)), name, getattr(self, name), "that is finite")
        _require(self.n_wrong >= 1, "n_wrong", self.n_wrong, "from 1 up")
        if self.confidently_wrong > self.hard_share:
            raise InputError(
                f"confidently_wrong is {self.confidently_wrong} and hard_share {self.hard_share}: only"
                " hard questions can be confidently wrong, so give no more of them"
            )

    @property
    def pass1(self) -> float:
        """The expected share of right trajectories; one without an answer is wrong."""
        return sum(kind.answered * kind.rate for kind in self._kinds())

    @property
    def auroc(self) -> float:
        """The expected AUROC over the answered trajectories of many questions together."""
        within = self.spread_right**2 + self.spread_wrong**2
        spread = math.sqrt(within + 2 * self.level_spread**2)
        value = pairs = 0.0
        for right in self._kinds():
            for wrong in self._kinds():
                n = right.answered * right.rate * wrong.answered * (1 - wrong.rate)
                value += n * normal_cdf((right.mean_right - wrong.mean_wrong) / spread)
                pairs += n
        return value / pairs

    def _kinds(self) -> tuple[_Kind, ...]:
        low, high = self.level, self.level + self.separation
        hard_low, hard_high = low - self.hard_drop, high - self.hard_drop
        easy = (1 - self.hard_share) * (1 - self.unanswered)
        rescuable = (self.hard_share - self.confidently_wrong) * (1 - self.hard_unanswered)
        misled = self.confidently_wrong * (1 - self.hard_unanswered)
        return (
            _Kind(easy, self.easy_rate, high, low),
            _Kind(rescuable, self.hard_rate, hard_high, hard_low),
            _Kind(misled, self.hard_rate, hard_low, hard_high),
        )


class _Kind(NamedTuple):
    """One kind of question."""

    answered: float
    """The share of all trajectories that are answers to such questions."""

    rate: float
    mean_right: float
    mean_wrong: float


def _require(fits: bool, name: str, value: float, wanted: str) -> None:
    if not fits:
        raise InputError(f"{name} is {value}: give a number {wanted}")


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal number is below z."""
    return math.erfc(-z / math.sqrt(2)) / 2


def with_pass1(simulation: Simulation, pass1: float) -> Simulation:
    """Return the simulation with the easy rate that gives this pass@1; raise InputError if there is none."""
    easy, *hard = simulation._kinds()
    least = sum(kind.answered * kind.rate for kind in hard)
    if not least < pass1 < least + easy.answered:
        raise InputError(
            f"pass@1 is {pass1}: with these hard questions and missing answers it is between"
            f" {least:.3f} and {least + easy.answered:.3f}"
        )
    return replace(simulation, easy_rate=(pass1 - least) / easy.answered)


def with_auroc(simulation: Simulation, auroc: float, drop: float | None = None) -> Simulation:
    """Return the simulation with the separation that gives this AUROC; raise InputError if there is none.

    With `drop`, `hard_drop` becomes this multiple of the separation.
    """

    def separated(by: float) -> Simulation:
        hard_drop = simulation.hard_drop if drop is None else drop * by
        return replace(simulation, separation=by, hard_drop=hard_drop)

    farthest = 40 * (simulation.spread_right + simulation.spread_wrong + simulation.level_spread)
    low, high = -farthest, farthest
    lowest, highest = separated(low).auroc, separated(high).auroc
    if not lowest < auroc < highest:
        raise InputError(
            f"AUROC is {auroc}: with {simulation.confidently_wrong:.1%} of the questions confidently wrong"
            f" it lies between {lowest:.3f} and {highest:.3f}"
        )
    for _ in range(80):
        middle = (low + high) / 2
        if separated(middle).auroc < auroc:
            low = middle
        else:
            high = middle
    return separated((low + high) / 2)


class Drawn(NamedTuple):
    """Simulated trajectories as rectangular arrays, (n_questions, n_trajectories) each."""

    classes: Ints
    """In the order of first appearance, -1 for no answer."""

    correct: Flags
    confidences: Floats
    """NaN where there is no answer."""

    n_tokens: Ints | None


def draw(simulation: Simulation, n_questions: int, n_trajectories: int, rng: np.random.Generator) -> Drawn:
    """Draw trajectories.

    The numbers of hard and of confidently wrong questions are the expected ones, rounded up or down at
    random: averages over few questions vary less than with independent draws.
    """
    _require(n_questions >= 1, "n_questions", n_questions, "from 1 up")
    _require(n_trajectories >= 1, "n_trajectories", n_trajectories, "from 1 up")
    shape = (n_questions, n_trajectories)
    place = (rng.permutation(n_questions) + rng.random()) / n_questions
    hard, misled = place < simulation.hard_share, place < simulation.confidently_wrong
    rate = np.where(hard, simulation.hard_rate, simulation.easy_rate)
    p = rng.beta(rate * simulation.concentration, (1 - rate) * simulation.concentration)
    level = rng.normal(simulation.level, simulation.level_spread, n_questions) - hard * simulation.hard_drop

    right = rng.random(shape) < p[:, None]
    weights = np.arange(1, simulation.n_wrong + 1) ** -simulation.popularity
    ranks = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(shape), side="right")
    missing = np.where(hard, simulation.hard_unanswered, simulation.unanswered)
    answered = rng.random(shape) >= missing[:, None]
    classes = _by_appearance(np.where(right, 0, 1 + ranks), answered, simulation.n_wrong + 1)

    sure = right ^ misled[:, None]
    mean = level[:, None] + simulation.separation * sure
    spread = np.where(right, simulation.spread_right, simulation.spread_wrong)
    confidences = np.maximum(rng.normal(mean, spread), LEAST)
    confidences[~answered] = np.nan
    return Drawn(classes, right & answered, confidences, _lengths(simulation, shape, rng))


def _by_appearance(labels: Ints, answered: Flags, n_labels: int) -> Ints:
    """Return the labels of each row numbered from 0 in the order of first appearance, -1: no answer."""
    n, m = labels.shape
    shown = np.where(answered, labels, n_labels)  # the last label is no answer
    places = shown + (np.arange(n) * (n_labels + 1))[:, None]
    first = np.full(n * (n_labels + 1), m)
    np.minimum.at(first, places.ravel(), np.tile(np.arange(m), n))
    order = np.argsort(first.reshape(n, -1)[:, :-1], axis=1, kind="stable")
    numbers = np.full((n, n_labels + 1), -1)
    np.put_along_axis(numbers, order, np.arange(n_labels)[None], axis=1)
    named: Ints = numbers.ravel()[places]
    return named


def _lengths(simulation: Simulation, shape: tuple[int, int], rng: np.random.Generator) -> Ints | None:
    if not simulation.n_tokens:
        return None
    median = math.log(simulation.n_tokens) - TOKEN_SIGMA**2 / 2
    return np.maximum(1, np.rint(rng.lognormal(median, TOKEN_SIGMA, shape))).astype(np.int64)


def simulate(
    simulation: Simulation,
    n_questions: int,
    n_trajectories: int,
    rng: np.random.Generator,
    *,
    name: str = "simulated",
    model: str = "simulated",
    benchmark: str = "simulated",
) -> PoolSet:
    """Return simulated pools; the same generator state gives the same pools.

    >>> pools = simulate(Simulation(), 30, 64, np.random.default_rng(0)).pools
    >>> len(pools), pools[0].question, pools[0].n_trajectories
    (30, 'q01', 64)
    """
    drawn = draw(simulation, n_questions, n_trajectories, rng)
    width = len(str(n_questions))
    pools = tuple(
        Pool(
            f"q{index + 1:0{width}d}",
            drawn.classes[index],
            drawn.correct[index],
            drawn.confidences[index],
            n_tokens=None if drawn.n_tokens is None else drawn.n_tokens[index],
        )
        for index in range(n_questions)
    )
    return PoolSet(name, model, benchmark, pools, settings={"engine": "simulate"})
