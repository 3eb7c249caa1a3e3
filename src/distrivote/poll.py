"""One question under way: what to sample next, what the trajectories say, when it is settled, who wins.

A `Poll` knows no engine, clock, thread or file. Whoever samples asks it for the next batch, adds the
trajectories as they come, stops when it is settled, and lets it finish: `flow` for Python, and in the same
way the command line, the server and its page. In which order trajectories come makes no difference.

    while (batch := poll.next_batch()) is not None:
        for trajectory in engine.sample(poll.problem.messages(), ..., batch.steering, indices=batch.indices):
            poll.add(trajectory)
            if poll.settled:
                break
    solution = poll.finish()
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distrivote.answers.equality import Equality, equality
from distrivote.answers.extract import OwnExtractor, extractor
from distrivote.confidence import DEFAULT_K, DEFAULT_MEASURE, Measure
from distrivote.defaults import BUDGET, MAX_BUDGET, METHOD, MIN_PROBABILITY
from distrivote.errors import InputError
from distrivote.nouns import count
from distrivote.problem import Problem
from distrivote.reading import Pool, Reader, Reading
from distrivote.solution import Solution
from distrivote.splitting import DelimiterSplitter
from distrivote.steering import Controller, Steering, steering_of
from distrivote.trajectory import Trajectory
from distrivote.voting.abstaining import check_min_probability
from distrivote.voting.ballot import Ballot, Tally
from distrivote.voting.methods import method_of
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.stopping import StopRule, stop_rule
from distrivote.voting.vote import vote


class Batch(NamedTuple):
    """What to sample next."""

    indices: range
    """The numbers of the trajectories."""

    steering: Controller | None


class Poll:
    """The trajectories of one question as they come in, and the vote on them.

    Args:
        problem: A question, or a `Problem` with a template of its own.
        budget: How many trajectories there are to be.
        method: How to vote.
        steering: The controller; None for plain sampling.
        stop_when: A rule that says when no more are needed: consensus, beta or vote.
        same: When two answers are one, by name or an `Equality`; as the problem says, if not said.
        measure: What a confidence is; the controller's own measure or else answer-step, if not said.
        extract: How the answer is found in a text; as the problem says, if not said.
        k: How many of the most probable tokens a confidence is made of.
        calibration: Where probabilities come from, if not from the one that ships.
        min_probability: An answer below it is withheld.
        eager: Whether a trajectory is read when it is added. Then other threads may call `tally` and
            `reading` meanwhile. Otherwise all are read together when somebody asks, which is faster. A poll
            with a rule or a warm-up is always eager.

    >>> poll = Poll("What is 2 + 2?", budget=8, method="sc", stop_when="beta:0.8")
    >>> for index in range(2):
    ...     _ = poll.take(Trajectory("It is \\\\boxed{4}.", index=index))
    >>> poll.settled, poll.finish().answer
    (True, '4')
    """

    def __init__(
        self,
        problem: Problem | str,
        *,
        budget: int = BUDGET,
        method: str | Pipeline = METHOD,
        steering: Steering = "auto",
        stop_when: str | StopRule | None = None,
        same: str | Equality | None = None,
        measure: str | Measure | None = None,
        extract: str | re.Pattern[str] | OwnExtractor | None = None,
        k: int = DEFAULT_K,
        calibration: Calibration | None = None,
        min_probability: float = MIN_PROBABILITY,
        eager: bool = False,
    ) -> None:
        self.problem = problem_of(problem)
        self.budget = check_budget(budget)
        self.method = method_of(method)
        self.rule = stop_rule(stop_when, self.method.name)
        # What an answer is: where it is found, and when two are one. All is compared again with each
        # trajectory, so what was asked once is remembered.
        find = extractor(self.problem.extractor if extract is None else extract)
        self.same = equality(self.problem.same if same is None else same).for_pool().remembering()
        controller = steering_of(steering)
        self.steering = None if controller is None else controller.answering(find)
        own = None if self.steering is None else self.steering.measure
        asked = (own or DEFAULT_MEASURE) if measure is None else measure
        steps = None if self.steering is None else self.steering.split
        warms_up = self.steering is not None and self.steering.n_warmup > 0
        self.eager = eager or warms_up or self.rule is not None
        self._pool = Pool(
            Reader.of(
                find,
                [asked] if own in (None, asked) else [asked, own],
                DelimiterSplitter() if steps is None else steps,
                k,
                steered_by=steps,
            ),
            eager=self.eager,
        )
        self._calibration = calibration
        self._min_probability = check_min_probability(min_probability)
        self._others: list[Reading] = []
        self._n_begun = 0
        self._verdict = (0, False)

    def next_batch(self) -> Batch | None:
        """Return what to sample next; None if no more is wanted. Each trajectory is wanted once.

        With a controller that needs a warm-up the first batch is the warm-up, and the next one is wanted
        when all of it was added.
        """
        begun = self._n_begun
        if begun >= self.budget or self.settled:
            return None
        steering = self.steering
        n_warmup = 0 if steering is None else steering.n_warmup
        if begun == 0 and n_warmup:
            self._n_begun = min(n_warmup, self.budget)
        else:
            self._n_begun = self.budget
            if steering is not None and n_warmup:
                steering = steering.after(reading.confidences[-1].value for _, reading in self._pool.read())
        return Batch(range(begun, self._n_begun), steering)

    def add(self, trajectory: Trajectory) -> None:
        """Take a trajectory in."""
        self._pool.add(trajectory)

    def take(self, trajectory: Trajectory) -> Reading:
        """Take a trajectory in and return what it says."""
        self.add(trajectory)
        return self.reading(trajectory.index)

    def accept(self, reading: Reading) -> None:
        """Take in what a trajectory says that was read elsewhere, as the rows of a run were."""
        self._others.append(reading)

    def reading(self, index: int) -> Reading:
        """Return what the trajectory of that number says, the last one of several."""
        return next(reading for _, reading in reversed(self._pool.read()) if reading.index == index)

    @property
    def settled(self) -> bool:
        """Whether the rule wants no more. Nothing is settled before the first trajectory."""
        if self.rule is None:
            return False
        readings = [*self._others, *(reading for _, reading in self._pool.read())]
        if len(readings) != self._verdict[0]:
            readings.sort(key=lambda reading: reading.index)
            n_left = max(self.budget - len(readings), 0)
            self._verdict = (len(readings), self.rule.settled(self._ballot(readings), n_left))
        return self._verdict[1]

    def tally(self) -> Tally:
        """Return the vote on what is there so far."""
        return self.so_far().tally

    def so_far(self, n: int | None = None) -> Solution:
        """Return the answer by what is there so far, or by the n trajectories that came first."""
        return self._solution(None, is_settled=False, n=n)

    def finish(self, failure: Exception | None = None) -> Solution:
        """Return the answer, and what it rests on.

        Args:
            failure: What ended the sampling early. It is raised if no trajectory has finished; else the
                vote rests on those that have, and a note says so.
        """
        solution = self._solution(failure, is_settled=failure is None and self.settled)
        if failure is not None and not solution.trajectories:
            raise failure
        return solution

    def _solution(self, failure: Exception | None, is_settled: bool, n: int | None = None) -> Solution:
        pairs = sorted(self._pool.read()[:n], key=lambda pair: pair[1].index)
        readings = tuple(reading for _, reading in pairs)
        is_settled = is_settled and len(pairs) < self.budget
        stopped = self._stopped(len(pairs), is_settled, failure)
        notes = self._pool.notes_on(pairs)
        ballot = self._ballot(readings, notes if failure is None else [str(stopped), *notes])
        return Solution(
            self.problem,
            vote(ballot, method=self.method, calibration=self._calibration),
            ballot,
            tuple(trajectory for trajectory, _ in pairs),
            readings,
            self.budget,
            is_settled,
            stopped,
            self._min_probability,
        )

    def _stopped(self, n: int, is_settled: bool, failure: Exception | None) -> str | None:
        """Say why there are fewer trajectories than the budget, None if there is no reason."""
        so_far = f"after {n} of {count(self.budget, 'trajectory')}"
        if failure is not None:
            return f"the engine failed {so_far}, which the vote rests on: {failure}"
        return f"the vote was settled {so_far} ({self.rule.name})" if is_settled and self.rule else None

    def _ballot(self, readings: Sequence[Reading], notes: Sequence[str] = ()) -> Ballot:
        return Ballot.from_answers(
            [reading.vote for reading in readings],
            [reading.confidence for reading in readings],
            same=self.same,
            notes=notes,
        )


def check_budget(budget: int) -> int:
    """Return a budget; InputError unless it is a number of trajectories that somebody may mean."""
    if not isinstance(budget, (int, np.integer)) or not 1 <= budget <= MAX_BUDGET:
        raise InputError(
            f"budget is {budget!r}", hint=f"give a whole number from 1 to {MAX_BUDGET:,}", argument="budget"
        )
    return int(budget)


def problem_of(problem: Problem | str) -> Problem:
    """Return a problem, making one of a bare question."""
    if isinstance(problem, Problem):
        return problem
    if not problem.strip():
        raise InputError("the question is empty: ask something")
    return Problem(problem)
