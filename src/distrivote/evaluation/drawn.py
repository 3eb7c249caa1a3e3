"""Measures on drawn pools: each returns one or several values per pool.

`Drawn` is a batch of draws with the results that measures share. A measure is a small object with one method,
`of`, and the names of its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from distrivote.evaluation.metrics import accuracy, auroc, predict_accuracy, weighted_accuracy
from distrivote.evaluation.pools import Flags, Floats, Ints
from distrivote.voting.electorate import Electorate
from distrivote.voting.filters import Filter
from distrivote.voting.kernels.pools import Pools, make_pools, numbered_anew
from distrivote.voting.pipeline import Pipeline


class Drawn(NamedTuple):
    """A batch of pools with known truth."""

    electorate: Electorate
    correct: Flags
    """(n_pools, n_columns) Whether each trajectory is right; one without an answer is not."""

    right: Flags
    """(n_pools, n_answers) Whether each answer id is right."""

    @property
    def confidence(self) -> Floats:
        return self.electorate.pools.confidences

    @property
    def answered(self) -> Flags:
        return self.electorate.pools.answered

    @property
    def measured(self) -> Drawn:
        """The same pools without the answers that have no confidence."""
        return self._replace(electorate=self.electorate.measured)

    def positive(self, filter: Filter) -> Flags:
        """Return the likely right side of a filter's split."""
        lowest = self.electorate.splits(filter).lowest_positive
        return self.answered & (self.confidence >= lowest[:, None])

    def again(self) -> Drawn:
        """Return the same pools with nothing computed yet, for measures that share little."""
        return self._replace(electorate=_electorate(self.electorate.pools, self.electorate.weights))


def drawn(
    classes: Ints, confidence: Floats, correct: Flags, right: Flags, weights: Floats | None = None
) -> Drawn:
    """Return a batch of draws.

    Args:
        classes: (n_pools, n_columns) -1 for no answer.
        confidence: The same shape, NaN if missing; ignored where there is no answer.
        correct: The same shape, per trajectory.
        right: The same shape: whether the class of each trajectory is right.
        weights: The same shape: what each vote is worth, if the trajectories are of several models.
    """
    ids, n_answers = numbered_anew(classes)
    rights = np.zeros((len(classes), max(n_answers, 1)), dtype=np.bool_)
    rows, columns = np.nonzero(ids >= 0)
    rights[rows, ids[rows, columns]] = right[rows, columns]
    return Drawn(_electorate(make_pools(ids, confidence, n_answers), weights), correct, rights)


def _electorate(pools: Pools, weights: Floats | None) -> Electorate:
    return Electorate(pools, sized=weights is None, weights=weights)


class DrawMeasure(Protocol):
    """A measure of every draw."""

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values of `of`."""
        ...

    @property
    def needs_confidence(self) -> bool: ...

    @property
    def group(self) -> str:
        """Measures of one group share results."""
        ...

    def of(self, draws: Drawn) -> Floats:
        """Return (n_values, n_pools), NaN where a value is not defined."""
        ...


@dataclass(frozen=True, slots=True)
class Voting:
    """Whether a method's winner is right."""

    pipeline: Pipeline
    values: ClassVar[tuple[str, ...]] = ("correct",)

    @property
    def needs_confidence(self) -> bool:
        return self.pipeline.needs_confidence

    @property
    def group(self) -> str:
        return "" if self.pipeline.filter is None else repr(self.pipeline.filter)

    def of(self, draws: Drawn) -> Floats:
        winners = self.pipeline.decide(draws.electorate).winners
        right = draws.right[np.arange(len(winners)), winners] & (winners >= 0)
        return right[None].astype(np.float64)


@dataclass(frozen=True, slots=True)
class Stages:
    """Acc and WAcc of the whole pool (I), of its positive side (II), and after rejection (III)."""

    pipeline: Pipeline
    values: ClassVar[tuple[str, ...]] = ("acc_1", "acc_2", "acc_3", "wacc_1", "wacc_2", "wacc_3")
    needs_confidence: ClassVar[bool] = True

    @property
    def group(self) -> str:
        return repr(self.pipeline.filter)

    def of(self, draws: Drawn) -> Floats:
        draws, filter = draws.measured, self.pipeline.filter
        second = draws.answered if filter is None else draws.positive(filter)
        third = self.pipeline.decide(draws.electorate).kept
        stages = (draws.answered, second, third)
        return np.stack(
            [accuracy(draws.correct, members) for members in stages]
            + [weighted_accuracy(draws.confidence, draws.correct, members) for members in stages]
        )


@dataclass(frozen=True, slots=True)
class PositiveSide:
    """How good is the likely right side of a split?"""

    filter: Filter
    values: ClassVar[tuple[str, ...]] = ("acc", "wacc", "auroc", "predict")
    needs_confidence: ClassVar[bool] = True

    @property
    def group(self) -> str:
        return repr(self.filter)

    def of(self, draws: Drawn) -> Floats:
        draws = draws.measured
        positive = draws.positive(self.filter)
        return np.stack(
            [
                accuracy(draws.correct, positive),
                weighted_accuracy(draws.confidence, draws.correct, positive),
                auroc(draws.confidence, draws.correct, positive),
                predict_accuracy(positive, draws.correct, draws.answered),
            ]
        )


@dataclass(frozen=True, slots=True)
class OneAnswer:
    """Whether a single trajectory is right: the first of each draw."""

    values: ClassVar[tuple[str, ...]] = ("correct",)
    needs_confidence: ClassVar[bool] = False
    group: ClassVar[str] = ""

    def of(self, draws: Drawn) -> Floats:
        return draws.correct[None, :, 0].astype(np.float64)
