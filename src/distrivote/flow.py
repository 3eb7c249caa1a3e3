"""The whole flow on one page: sample, measure, vote.

    engine, problem -> trajectories -> ballot -> tally

`solve` does it in one call. `sample` is its first half, for those who want to see trajectories as they
finish, and `solution_of` its second. For asynchronous programs see `solve_async`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from distrivote.answers.equality import Equality
from distrivote.answers.extract import OwnExtractor
from distrivote.confidence import DEFAULT_MEASURE, Measure
from distrivote.defaults import METHOD
from distrivote.engines.base import Engine, Progress, SamplingParams
from distrivote.engines.warmup import sample_after_warmup
from distrivote.errors import EngineError, InputError
from distrivote.nouns import count
from distrivote.problem import Problem
from distrivote.reading import ballot_of
from distrivote.steering import Controller, DeepConfOnline, SelfStepConf
from distrivote.trajectory import Trajectory
from distrivote.voting.ballot import Answer, Ballot, Tally
from distrivote.voting.methods import method_of
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.stopping import Poll, StopRule, stop_rule, until_settled, without_ended
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

    n_asked: int
    """The budget. There are fewer trajectories where sampling was stopped before."""

    @property
    def answer(self) -> Answer | None:
        """The answer to believe; None if no trajectory gave one."""
        return self.tally.answer

    @property
    def n_tokens(self) -> int:
        return sum(trajectory.n_tokens for trajectory in self.trajectories)

    @property
    def n_saved(self) -> int:
        """How many trajectories of the budget were not sampled to their end."""
        return max(self.n_asked - len(self.trajectories), 0)

    @property
    def n_tokens_saved(self) -> int:
        """An estimate: those trajectories, as long as the others are on average.

        What those that were under way had cost when they were dropped is not taken off.
        """
        return round(self.n_tokens / len(self.trajectories) * self.n_saved) if self.trajectories else 0

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
    pipeline: Pipeline | str = METHOD,
    budget: int = 32,
    ssc: Controller | None = SSC,
    params: SamplingParams | None = None,
    *,
    stop_when: str | StopRule | None = None,
    same: str | Equality | None = None,
    measure: str | Measure | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Sample `budget` trajectories, watched by a controller, and vote.

    If the engine fails on the way, those that have finished vote, and a note says so; an EngineError is
    raised if there are none.

    Args:
        engine: Where trajectories come from.
        problem: A question, or a `Problem` with a template of its own.
        pipeline: How to vote.
        budget: How many trajectories.
        ssc: The controller; None for plain sampling.
        params: How to sample.
        stop_when: A rule that ends the sampling once the vote is settled: consensus, beta or vote.
        same: When two answers are one: text, notation, math or choice, or an `Equality` of one's own; what
            the problem says if nothing is said, which is math but for multiple choice.
        measure: What a confidence is, by name or one's own, as `ballot_of` takes it; answer-step if not
            said, for DeepConf its own.
        extract: How the answer is found in a text, as `ballot_of` takes it; as the problem says, if not
            said.
        watch: Called now and then with how far it has come.
    """
    problem, method = problem_of(problem), method_of(pipeline)
    rule = stop_rule(stop_when, method.name)
    samples = sample(
        *(engine, problem, budget, ssc, params),
        stop_when=rule,
        same=same,
        measure=measure,
        extract=extract,
        watch=watch,
    )
    found: list[Trajectory] = []
    notes: list[str] = []
    try:
        found.extend(samples)
    except EngineError as error:
        if not found:
            raise
        notes.append(failure_note(error, len(found), budget))
    return solution_of(
        *(problem, found, method, ssc),
        same=same,
        measure=measure,
        extract=extract,
        n_asked=budget,
        notes=notes,
    )


def failure_note(error: EngineError, n: int, budget: int) -> str:
    """Return what to say of a vote whose engine failed after n trajectories."""
    return f"the engine failed after {n} of {count(budget, 'trajectory')}, which the vote rests on: {error}"


def sample(
    engine: Engine,
    problem: Problem | str,
    budget: int = 32,
    ssc: Controller | None = SSC,
    params: SamplingParams | None = None,
    *,
    stop_when: str | StopRule | None = None,
    same: str | Equality | None = None,
    measure: str | Measure | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Generator[Trajectory]:
    """Yield trajectories as they finish; closing the iterator cancels those that are under way.

    So does the rule `stop_when`, once the vote is settled; `same` says which of its votes are one,
    `measure` and `extract` what they are.
    """
    check_budget(budget)
    problem = problem_of(problem)
    rule, messages, params = stop_rule(stop_when), problem.messages(), params or SamplingParams()
    if isinstance(ssc, DeepConfOnline):
        samples = sample_after_warmup(engine, messages, budget, params, ssc, watch=watch)
    else:
        samples = engine.sample(messages, budget, params, ssc, watch=watch)
    if rule is None:
        return samples
    poll = Poll(rule, budget, same=problem.same if same is None else same)

    def read(some: Sequence[Trajectory]) -> Ballot:
        return ballot_for(problem, some, ssc, measure=measure, extract=extract)

    return until_settled(samples, poll, read)


def check_budget(budget: int) -> None:
    """Raise InputError unless the budget is a number of trajectories that somebody may mean."""
    if not isinstance(budget, (int, np.integer)) or not 1 <= budget <= MAX_BUDGET:
        raise InputError(f"budget is {budget!r}: give a whole number from 1 to {MAX_BUDGET:,}")


def solution_of(
    problem: Problem | str,
    trajectories: Iterable[Trajectory],
    pipeline: Pipeline | str = METHOD,
    ssc: Controller | None = SSC,
    *,
    same: str | Equality | None = None,
    measure: str | Measure | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | None = None,
    n_asked: int | None = None,
    calibration: Calibration | None = None,
    notes: Iterable[str] = (),
) -> Solution:
    """Measure trajectories and vote on them; `n_asked` is how many there were to be, if not these.

    `measure` and `extract` are those of `solve`. `notes` are what else is to be known of the vote.
    """
    problem = problem_of(problem)
    ordered = tuple(sorted(trajectories, key=lambda trajectory: trajectory.index))
    ballot = ballot_for(problem, ordered, ssc, same, measure=measure, extract=extract)
    ballot = replace(ballot, notes=(*notes, *ballot.notes))
    n_asked = len(ordered) if n_asked is None else n_asked
    tally = vote(ballot, method=pipeline, calibration=calibration)
    return Solution(problem, tally, ballot, ordered, n_asked)


def ballot_for(
    problem: Problem,
    trajectories: Sequence[Trajectory],
    ssc: Controller | None,
    same: str | Equality | None = None,
    *,
    measure: str | Measure | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | None = None,
) -> Ballot:
    """Measure trajectories by the controller's own steps or groups, where it has some."""
    own = ssc.split if isinstance(ssc, SelfStepConf) else None
    if measure is None:
        measure = ssc.measure if isinstance(ssc, DeepConfOnline) else DEFAULT_MEASURE
    ballot = ballot_of(
        trajectories,
        extract=problem.extractor if extract is None else extract,
        measure=measure,
        split=SSC.split if own is None else own,
        same=problem.same if same is None else same,
        steered_by=own,
    )
    return without_ended(ballot, trajectories)


def problem_of(problem: Problem | str) -> Problem:
    """Return a problem, making one of a bare question."""
    if isinstance(problem, Problem):
        return problem
    if not problem.strip():
        raise InputError("the question is empty: ask something")
    return Problem(problem)
