"""Trajectories with known truth as arrays, the input of every experiment.

A `Pool` is one question, a `PoolSet` all questions of one model on one benchmark, sampled with or without
SelfStepConf. Answers are numbers: class ids from 0 in the order of first appearance, -1 for no answer. They
come from a run or a simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from distrivote.errors import InputError
from distrivote.store.columns import CONFIDENCE

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


class Steps(NamedTuple):
    """How sure the model was at each step of a trajectory."""

    ends: Ints
    """(n_steps,) The token after each step."""

    confidences: Floats
    tokens: Floats
    """(n_tokens,) Of each token; that of its step where tokens were not recorded."""

    @classmethod
    def of(cls, ends: Ints, confidences: Floats, tokens: Floats | None = None) -> Self:
        if tokens is None:
            tokens = np.repeat(confidences, np.diff(ends, prepend=0))
        return cls(ends, confidences, tokens)

    def by_window(self, n_tokens: int) -> Steps:
        """Return steps of this many tokens each."""
        ends = np.append(np.arange(n_tokens, len(self.tokens), n_tokens), len(self.tokens))
        sums = np.add.reduceat(self.tokens, np.concatenate(([0], ends[:-1])))
        return Steps(ends, sums / np.diff(ends, prepend=0), self.tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The trajectories of one question."""

    question: str
    classes: Ints
    """(n,) -1: no answer."""

    correct: Flags
    """(n,) False without an answer."""

    confidence: Floats
    """(n,) The measure that votes use; NaN if missing."""

    measures: Mapping[str, Floats] = field(default_factory=dict)
    """(n,) each: other measures by name."""

    n_tokens: Ints | None = None
    n_steps: Ints | None = None
    n_reflections: Ints | None = None
    n_paragraphs: Ints | None = None
    """(n,) Steps counted as the paper counts those of every splitter: by empty lines."""

    seconds: Floats | None = None
    """(n,) How long the engine took for each; NaN if not recorded."""

    top_mass: Floats | None = None
    """(n,) Mean over tokens of the probability of the k most probable ones."""

    top_mass_99: Floats | None = None
    """(n,) The share of tokens at which these have more than 99%."""

    steps: tuple[Steps, ...] | None = None
    """(n,) The steps of each, if they were recorded and an experiment reads them."""

    truth: str | None = None
    """The right answer as text, if known."""

    weights: Floats | None = None
    """(n,) What each vote is worth to `auto`, if the trajectories are of several models."""

    models: tuple[str, ...] = ()
    """(n,) The model of each trajectory, if the set has several: measures count by their rank within it."""

    def __post_init__(self) -> None:
        n = len(self.classes)
        columns = {"correct": self.correct, CONFIDENCE: self.confidence, **self.measures}
        for name, values in columns.items():
            if len(values) != n:
                raise InputError(
                    f"question {self.question}: {len(values)} values of {name} for {n} trajectories"
                )

    @property
    def n_trajectories(self) -> int:
        return len(self.classes)

    @property
    def right_classes(self) -> Flags:
        """(n_classes,) Whether each class is right: most of its trajectories say so."""
        n = int(self.classes.max(initial=-1)) + 1
        given = self.classes >= 0
        right = np.bincount(self.classes[given], weights=self.correct[given], minlength=n)
        return np.asarray(2 * right > np.bincount(self.classes[given], minlength=n), dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The steps of one trajectory."""

    question: str
    sample: int
    """Which of the question's trajectories, from 0."""

    step_ends: Ints
    """(n_steps,) The token after each step."""

    step_confidences: Floats
    """(n_steps,) NaN where none was measured."""

    reflections: Ints
    """The tokens at which reflections begin."""

    unfinished: bool = False
    """Whether the last step is unfinished, so that it was not judged."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolSet:
    """All questions of one model on one benchmark."""

    name: str
    model: str
    benchmark: str
    pools: tuple[Pool, ...]
    ssc: bool = False
    """Whether SelfStepConf steered it: the starred rows."""

    settings: Mapping[str, float | int | str | bool | None] = field(default_factory=dict)
    """alpha, delta, reflection, split, ... of the run, if known."""

    traces: tuple[Trace, ...] = ()
    """The first trajectories of each question, if an experiment uses steps."""

    @property
    def smallest(self) -> int:
        """The number of trajectories that every question has."""
        return min((pool.n_trajectories for pool in self.pools), default=0)

    def only(self, questions: frozenset[str] | None) -> PoolSet:
        """Return the set with only these questions; unchanged for None."""
        if questions is None:
            return self
        return replace(self, pools=tuple(pool for pool in self.pools if pool.question in questions))


def common_questions(sets: Sequence[PoolSet]) -> frozenset[str]:
    """Return the questions that all sets have: with the same id and the same right answer."""
    truths: dict[str, str] = {}
    strange: set[str] = set()
    for each in sets:
        for pool in each.pools:
            if pool.truth is not None and truths.setdefault(pool.question, pool.truth) != pool.truth:
                strange.add(pool.question)
    names = [{pool.question for pool in each.pools} for each in sets]
    return frozenset(set.intersection(*names) - strange) if names else frozenset()


def distinct(sets: Sequence[PoolSet]) -> tuple[PoolSet, ...]:
    """Return the sets with unique names."""
    seen: dict[str, int] = {}
    found = []
    for one in sets:
        seen[one.name] = seen.get(one.name, 0) + 1
        found.append(one if seen[one.name] == 1 else replace(one, name=f"{one.name} ({seen[one.name]})"))
    return tuple(found)
