"""A stopping rule on trajectories that are there already: where it would have stopped, and what that costs.

The trajectories of a question are replayed in three ways:

    one by one        in the order of their numbers, with a look after each
    in rounds         as a poll samples them with some slots: a round begins when the one before has ended,
                      and the rule sees those before which no number is missing
    as they finish    all are begun as slots get free, and the rule sees all that have finished: the short
                      ones first, which is no fair sample

A trajectory takes as long as it has tokens (or seconds, where no tokens are known). What is in progress when
a vote is settled is lost: the part that was sampled by then counts as spent.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from distrivote.defaults import STOP_FIRST_ROUND
from distrivote.evaluation.pools import Flags, Floats, Ints
from distrivote.voting.ballot import Ballot
from distrivote.voting.stopping import StopRule


class Stop(NamedTuple):
    """Where a question came to."""

    finished: Flags
    """(budget,) Which trajectories had finished, and vote."""

    spent: float
    """What was spent, in tokens: of finished ones, and of what was in progress."""

    lost: float
    """How much of that was in progress."""

    n_rounds: int
    """How many times trajectories were begun together."""


class Looks:
    """The verdicts of a rule on one question, each asked once."""

    def __init__(self, rule: StopRule | None, classes: Ints, confidences: Floats) -> None:
        self._rule, self._classes, self._confidences = rule, classes, confidences
        self._labels = tuple(range(int(classes.max(initial=-1)) + 1))
        self._known: dict[int, bool] = {}

    def first(self, n: int) -> bool:
        """Whether the first n settle it."""
        if n not in self._known:
            self._known[n] = self.of(np.arange(n))
        return self._known[n]

    def of(self, which: Ints) -> bool:
        """Whether these settle it."""
        if self._rule is None or not len(which):
            return False
        ballot = Ballot(self._classes[which], self._confidences[which], self._labels)
        return self._rule.settled(ballot, len(self._classes) - len(which))


def one_by_one(looks: Looks, costs: Floats) -> Stop:
    """Replay trajectories in the order of their numbers."""
    budget = len(costs)
    n = next((n for n in range(1, budget) if looks.first(n)), budget)
    return Stop(np.arange(budget) < n, float(costs[:n].sum()), 0.0, n)


def in_rounds(looks: Looks, costs: Floats, n_slots: int, first: int = STOP_FIRST_ROUND) -> Stop:
    """Replay trajectories as a poll samples them on some slots; `first` is the size of the first round."""
    budget = len(costs)
    begun = n_rounds = 0
    finished = np.zeros(budget, dtype=np.bool_)
    while begun < budget:
        end = min(max(first, 2 * begun), budget)
        n_rounds += 1

        def settled(whole: Flags) -> bool:
            return looks.first(int(whole.argmin()) if not whole.all() else len(whole))

        found = _run(costs, finished, begun, end, n_slots, settled)
        if found is not None:
            return found._replace(n_rounds=n_rounds)
        begun = end
    return Stop(finished, float(costs.sum()), 0.0, n_rounds)


def as_they_finish(looks: Looks, costs: Floats, n_slots: int) -> Stop:
    """Replay trajectories that are all begun as slots get free, with a rule that sees all finished ones."""
    finished = np.zeros(len(costs), dtype=np.bool_)
    found = _run(costs, finished, 0, len(costs), n_slots, lambda done: looks.of(np.flatnonzero(done)))
    return Stop(finished, float(costs.sum()), 0.0, 1) if found is None else found


def _run(
    costs: Floats, finished: Flags, begun: int, end: int, n_slots: int, settled: Callable[[Flags], bool]
) -> Stop | None:
    """Finish trajectories `begun` to `end`, marking them; a stop if they settle it before the last."""
    starts, ends = schedule(costs[begun:end], n_slots)
    for place in np.argsort(ends, kind="stable").tolist():
        finished[begun + place] = True
        if finished.all():
            return None
        if settled(finished):
            so_far = np.clip(ends[place] - starts, 0.0, costs[begun:end])
            spent = float(costs[:begun].sum() + so_far.sum())
            return Stop(finished, spent, max(spent - float(costs[finished].sum()), 0.0), 1)
    return None


def schedule(costs: Floats, n_slots: int) -> tuple[Floats, Floats]:
    """Return when each trajectory begins and ends, if each takes the slot that gets free first.

    >>> [times.tolist() for times in schedule(np.array([4.0, 1.0, 2.0]), 2)]
    [[0.0, 0.0, 1.0], [4.0, 1.0, 3.0]]
    """
    free = [0.0] * n_slots
    starts = np.empty(len(costs))
    for place, cost in enumerate(costs.tolist()):
        starts[place] = heapq.heappop(free)
        heapq.heappush(free, starts[place] + cost)
    return starts, starts + costs
