"""`solve` for many questions that share an engine, and may share a total number of trajectories.

The questions are sampled together, in the rounds of `rounds`, as a run of `generate` does, but without files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from distrivote.answers.code.given import Inputs
from distrivote.answers.equality import Equality
from distrivote.answers.extract import OwnExtractor
from distrivote.answers.kinds.kind import Kind
from distrivote.confidence import Measure
from distrivote.defaults import ANSWER, BUDGET, METHOD, MIN_PROBABILITY
from distrivote.engines.base import Engine, Job, SamplingParams, Watch
from distrivote.engines.judging import model_inputs, model_judge
from distrivote.errors import ENDS_SAMPLING
from distrivote.flow import problem_for, progress_sum
from distrivote.poll import Poll
from distrivote.problem import Problem
from distrivote.rounds import Todo, by_doubling, by_warmup, by_worth, check_total
from distrivote.solution import Solution
from distrivote.steering import Steering
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.stopping import StopRule


def solve_many(
    engine: Engine,
    questions: Iterable[Problem | str],
    *,
    budget: int = BUDGET,
    total: int | None = None,
    method: str | Pipeline = METHOD,
    steering: Steering = "auto",
    params: SamplingParams | None = None,
    stop_when: str | StopRule | None = None,
    answer: str | Kind = ANSWER,
    run_code: bool = False,
    inputs: Inputs | str | None = None,
    same: str | Equality | None = None,
    measure: str | Measure | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | None = None,
    calibration: Calibration | None = None,
    min_probability: float = MIN_PROBABILITY,
    watch: Watch | None = None,
) -> list[Solution]:
    """Sample trajectories for every question, and vote on each; the solutions are in the order given.

    If the engine fails during sampling, the trajectories that have finished vote, and a note says so; an
    EngineError is raised if a question has none.

    Args:
        engine: Where trajectories come from.
        questions: Texts or `Problem` objects.
        budget: How many trajectories a question has, at most.
        total: How many trajectories all questions have together, spread to where they help most; None: each
            has its budget.
        method: As for `solve`, like all arguments that follow.
        steering: What steers the sampling.
        params: How to sample.
        stop_when: A rule that ends the sampling of a question once its vote is settled; not with a total.
        answer: What an answer is.
        run_code: Whether programs that the model wrote may be run.
        inputs: What programs are tested on besides the examples.
        same: When two answers are the same.
        measure: What a confidence is.
        extract: How the answer is found in a text.
        calibration: The source of probabilities.
        min_probability: An answer that is less probable is withheld.
        watch: Called repeatedly with the total progress.
    """
    polls = [
        Poll(
            problem_for(engine, question),
            budget=budget,
            method=method,
            steering=steering,
            stop_when=stop_when,
            answer=answer,
            run_code=run_code,
            inputs=inputs,
            same=same,
            measure=measure,
            extract=extract,
            k=(params or SamplingParams()).k,
            calibration=calibration,
            min_probability=min_probability,
        )
        for question in questions
    ]
    check_total(total, len(polls), other=stop_when is not None)
    failure = None
    try:
        _sample(polls, engine, params or SamplingParams(), total, watch)
    except ENDS_SAMPLING as error:
        failure = error
    return [poll.finish(failure) for poll in polls]


def _sample(
    polls: Sequence[Poll], engine: Engine, params: SamplingParams, total: int | None, watch: Watch | None
) -> None:
    """Sample what the polls request."""
    for poll in polls:
        poll.judge_with(model_judge(engine, params), ask_inputs=model_inputs(engine, params))
    # An engine may check in any thread whether a question is settled, so polls are not used there.
    settled: set[int] = set()
    seen = progress_sum(watch)
    for some in _rounds(polls, total, settled):
        numbers = [int(item.problem.id) for item in some]
        jobs = [
            Job(
                polls[number].problem.messages(),
                params,
                item.samples,
                over=lambda number=number: number in settled,  # type: ignore[misc]
                controller=polls[number].steering_from(item.samples[0]),
            )
            for number, item in zip(numbers, some, strict=True)
        ]
        with closing(engine.sample_all(jobs, polls[0].steering, watch=next(seen))) as samples:
            for place, trajectory in samples:
                number = numbers[place]
                if number not in settled:
                    polls[number].add(trajectory)
                    if polls[number].settled:
                        settled.add(number)


def _rounds(polls: Sequence[Poll], total: int | None, settled: set[int]) -> Iterator[Sequence[Todo]]:
    """Yield what to sample together; a question is identified by its index."""
    if not polls:
        return iter(())
    first = polls[0]
    work = [
        Todo(replace(poll.problem, id=str(number)), tuple(range(poll.budget)))
        for number, poll in enumerate(polls)
    ]
    if total is not None:

        def n_sampled() -> int:
            return sum(poll.n_taken for poll in polls)

        return by_worth(work, total, n_sampled, lambda name: polls[int(name)].ballot(), first.method.name)
    if first.rule is not None:
        return by_doubling(work, first.budget, lambda name: int(name) in settled)
    if first.steering is not None and first.steering.n_warmup:
        return by_warmup(work, first.steering.n_warmup)
    return iter((work,))
