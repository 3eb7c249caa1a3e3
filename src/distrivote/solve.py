"""The whole flow on one page: sample, measure, vote.

    engine, problem -> trajectories -> ballot -> tally

`solve` does it in one call. `sample` is its first half, for those who want to see trajectories as they
finish, and `solution_of` its second. For asynchronous programs see `solve_async`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable
from dataclasses import dataclass

from distrivote.ballots import ballot_of
from distrivote.engines.base import Engine, Progress, SamplingParams
from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.selfstepconf import Controller, SelfStepConf
from distrivote.trajectory import Trajectory
from distrivote.voting.ballot import Answer, Ballot, Tally
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.vote import vote

MAX_BUDGET = 100_000
"""More trajectories than this for one question are taken for a slip of the finger."""

SSC = SelfStepConf()
"""The paper's settings."""


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer, and everything that it rests on."""

    problem: Problem
    tally: Tally
    ballot: Ballot
    trajectories: tuple[Trajectory, ...]
    """In the order of their numbers, as they are in the ballot."""

    @property
    def answer(self) -> Answer | None:
        """The answer to believe; None if no trajectory gave one."""
        return self.tally.answer

    @property
    def n_tokens(self) -> int:
        return sum(trajectory.n_tokens for trajectory in self.trajectories)

    @property
    def best(self) -> Trajectory | None:
        """The most confident trajectory that gave the answer."""
        if self.tally.answer is None:
            return None
        winner = self.ballot.labels.index(self.tally.answer)
        mine = [
            (-confidence if confidence == confidence else 0.0, index)
            for index, (given, confidence) in enumerate(
                zip(self.ballot.classes.tolist(), self.ballot.confidences.tolist(), strict=True)
            )
            if given == winner
        ]
        return self.trajectories[min(mine)[1]]


def solve(
    engine: Engine,
    problem: Problem | str,
    pipeline: Pipeline | str = "dis-gmm",
    budget: int = 32,
    ssc: Controller | None = SSC,
    params: SamplingParams | None = None,
    *,
    equal: Callable[[str, str], bool] | None = None,
    key: Callable[[str], Hashable] | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Sample `budget` trajectories, watched by a controller, and vote.

    Args:
        engine: Where trajectories come from.
        problem: A question, or a `Problem` with a template of its own.
        pipeline: How to vote.
        budget: How many trajectories.
        ssc: The controller; None for plain sampling.
        params: How to sample.
        equal: Whether two answers are the same, where strings and numbers don't say it.
        key: What an answer is compared by, instead.
        watch: Called now and then with how far it has come.
    """
    problem = problem_of(problem)
    trajectories = list(sample(engine, problem, budget, ssc, params, watch=watch))
    return solution_of(problem, trajectories, pipeline, ssc, equal=equal, key=key)


def sample(
    engine: Engine,
    problem: Problem | str,
    budget: int = 32,
    ssc: Controller | None = SSC,
    params: SamplingParams | None = None,
    *,
    watch: Callable[[Progress], None] | None = None,
) -> Generator[Trajectory]:
    """Yield trajectories as they finish; closing the iterator cancels those that are under way."""
    check_budget(budget)
    messages = problem_of(problem).messages()
    return engine.sample(messages, budget, params or SamplingParams(), ssc, watch=watch)


def check_budget(budget: int) -> None:
    """Raise InputError unless the budget is a number of trajectories that somebody may mean."""
    if not 1 <= budget <= MAX_BUDGET:
        raise InputError(f"budget is {budget}: give a number of trajectories from 1 to {MAX_BUDGET:,}")


def solution_of(
    problem: Problem | str,
    trajectories: Iterable[Trajectory],
    pipeline: Pipeline | str = "dis-gmm",
    ssc: Controller | None = SSC,
    *,
    equal: Callable[[str, str], bool] | None = None,
    key: Callable[[str], Hashable] | None = None,
) -> Solution:
    """Measure trajectories and vote on them."""
    problem = problem_of(problem)
    ordered = tuple(sorted(trajectories, key=lambda trajectory: trajectory.index))
    split = ssc.split if isinstance(ssc, SelfStepConf) else SSC.split
    ballot = ballot_of(ordered, extract=problem.extractor, split=split, equal=equal, key=key)
    return Solution(problem, vote(ballot, method=pipeline), ballot, ordered)


def problem_of(problem: Problem | str) -> Problem:
    """Return a problem, making one of a bare question."""
    if isinstance(problem, Problem):
        return problem
    if not problem.strip():
        raise InputError("the question is empty: ask something")
    return Problem(problem)
