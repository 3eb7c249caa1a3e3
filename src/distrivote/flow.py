"""The whole flow on one page: sample, measure, vote.

    engine, question -> trajectories -> readings -> ballot -> tally -> solution

`solve` does it in one call, `sample` gives the trajectories as they finish, and `solution_of` votes on
existing trajectories. All of them drive a `Poll`, and your own program can do so too (`sample_into`).
For asynchronous programs see `flow_async`.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from contextlib import closing

from distrivote.answers.code.given import Inputs
from distrivote.answers.equality import Same
from distrivote.answers.extract import OwnExtractor
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.names import OwnAnswer
from distrivote.confidence import Measure, OwnMeasure
from distrivote.defaults import ANSWER, BUDGET, METHOD, MIN_PROBABILITY, TEMPLATE
from distrivote.engines.base import Engine, Progress, SamplingParams, Watch
from distrivote.engines.judging import embedder, model_inputs, model_judge
from distrivote.errors import ENDS_SAMPLING
from distrivote.poll import Poll, problem_of
from distrivote.problem import Problem
from distrivote.solution import Solution
from distrivote.steering import Steering
from distrivote.trajectory import Trajectory
from distrivote.voting.methods import Method
from distrivote.voting.probability import Calibration
from distrivote.voting.stopping import OwnStopRule, StopRule


def solve(
    engine: Engine,
    question: Problem | str,
    *,
    budget: int = BUDGET,
    method: Method = METHOD,
    steering: Steering = "auto",
    params: SamplingParams | None = None,
    stop_when: str | StopRule | OwnStopRule | None = None,
    answer: str | Kind | OwnAnswer = ANSWER,
    run_code: bool = False,
    inputs: Inputs | str | None = None,
    same: Same | None = None,
    measure: str | Measure | OwnMeasure | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | None = None,
    calibration: Calibration | None = None,
    min_probability: float = MIN_PROBABILITY,
    max_error: float | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Sample `budget` trajectories, steered by a controller, and vote.

    If the engine fails during sampling, the trajectories that have finished vote, and a note says so; an
    EngineError is raised if there are none. The same holds for your own functions, with an OwnCodeError; if
    the vote itself raises one, its `trajectories` are what was sampled, for `solution_of`.

    Args:
        engine: Where trajectories come from.
        question: A text, or a `Problem` with its own template.
        budget: How many trajectories.
        method: How to vote: a name, a function (classes, confidences) -> class or scores, or a `Pipeline`.
        steering: What steers the sampling: "auto" is SelfStepConf, None is plain sampling, or a controller.
        params: How to sample.
        stop_when: A rule that ends the sampling once the vote is settled, such as gain (docs/stopping.md).
        answer: What an answer is: auto, math, number, choice, short, label:A,B, json, json:fields, tool,
            code, text, or a `Kind`. auto chooses by the question, else by the form of the replies.
        run_code: Whether programs that the model wrote may be run in a sandbox, to compare them by what they
            do (see docs/answers.md).
        inputs: Argument tuples to test programs on besides the examples of the question, or "model": the
            model is asked for some once, after all trajectories have finished.
        same: When two answers are the same, by name or your own `Equality`; by default as the kind of answer
            says. "judge" asks the model itself about every two, "command:CMD" a program;
            "embeddings" groups texts by the embeddings of the engine's server.
        measure: What a confidence is, by name or your own, as for `Ballot.from_trajectories`; by default
            answer-step, for DeepConf its own measure.
        extract: How the answer is found in a text, as for `Ballot.from_trajectories`; by default as the kind
            of answer says.
        calibration: The source of probabilities; by default the built-in calibration.
        min_probability: An answer that is less probable is withheld: see `Solution.withheld`.
        max_error: Withhold answers such that at most this share of the others is wrong, as far as labelled
            questions in the calibration prove it: see `voting.promises` for the promise.
        watch: Called repeatedly with the progress.
    """
    params = params or SamplingParams()
    poll = Poll(
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
        k=params.k,
        calibration=calibration,
        min_probability=min_probability,
        max_error=max_error,
    )
    failure = None
    try:
        for _ in sample_into(poll, engine, params, watch=watch):
            pass
    except ENDS_SAMPLING as error:
        failure = error
    return poll.finish(failure)


def sample(
    engine: Engine,
    question: Problem | str,
    *,
    budget: int = BUDGET,
    steering: Steering = "auto",
    params: SamplingParams | None = None,
    stop_when: str | StopRule | OwnStopRule | None = None,
    answer: str | Kind | OwnAnswer = ANSWER,
    run_code: bool = False,
    inputs: Inputs | str | None = None,
    same: Same | None = None,
    measure: str | Measure | OwnMeasure | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | None = None,
    watch: Watch | None = None,
) -> Generator[Trajectory]:
    """Yield trajectories as they finish; closing the iterator cancels those in progress.

    The rule `stop_when` does the same once the vote is settled; `same`, `measure` and `extract` define that
    vote, as for `solve`.
    """
    params = params or SamplingParams()
    poll = Poll(
        problem_for(engine, question),
        budget=budget,
        steering=steering,
        stop_when=stop_when,
        answer=answer,
        run_code=run_code,
        inputs=inputs,
        same=same,
        measure=measure,
        extract=extract,
        k=params.k,
    )
    return sample_into(poll, engine, params, watch=watch)


def sample_into(
    poll: Poll, engine: Engine, params: SamplingParams, *, watch: Watch | None = None
) -> Generator[Trajectory]:
    """Sample what a poll wants, and yield each trajectory when the poll has it.

    The engine is told to stop when the poll is settled, before the last trajectory is yielded. Closing the
    iterator cancels those in progress.
    """
    poll.judge_with(model_judge(engine, params), embedder(engine), model_inputs(engine, params))
    messages, seen = poll.problem.messages(), progress_sum(watch)
    while (batch := poll.next_batch()) is not None:
        samples = engine.sample(
            messages, len(batch.indices), params, batch.steering, indices=batch.indices, watch=next(seen)
        )
        with closing(samples):
            for trajectory in samples:
                taken = poll.add(trajectory)
                if poll.settled:
                    samples.close()
                yield taken


def progress_sum(watch: Watch | None) -> Generator[Watch | None]:
    """Yield a function for each of several calls that reports their total progress to `watch`."""
    before = latest = Progress(0, 0, 0)

    def seen(progress: Progress) -> None:
        nonlocal latest
        latest = Progress(
            before.n_tokens + progress.n_tokens,
            progress.n_live,
            before.n_reflections + progress.n_reflections,
            progress.partial,
        )
        if watch is not None:
            watch(latest)

    while True:
        yield None if watch is None else seen
        before = latest


def problem_for(engine: Engine, question: Problem | str) -> Problem:
    """Return a question as a problem; a plain text is put as suits the engine's model, as `ask` puts it."""
    return problem_of(question, getattr(engine, "template", TEMPLATE))


def solution_of(
    question: Problem | str,
    trajectories: Iterable[Trajectory],
    *,
    method: Method = METHOD,
    steering: Steering = "auto",
    answer: str | Kind | OwnAnswer = ANSWER,
    run_code: bool = False,
    inputs: Inputs | str | None = None,
    same: Same | None = None,
    measure: str | Measure | OwnMeasure | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | None = None,
    n_asked: int | None = None,
    calibration: Calibration | None = None,
    min_probability: float = MIN_PROBABILITY,
    max_error: float | None = None,
) -> Solution:
    """Measure trajectories and vote on them; `n_asked` is the budget, by default their number.

    The other arguments are those of `solve`; `steering` is what they were sampled with.
    """
    trajectories = list(trajectories)
    poll = Poll(
        question,
        budget=n_asked or len(trajectories) or 1,
        method=method,
        steering=steering,
        answer=answer,
        run_code=run_code,
        inputs=inputs,
        same=same,
        measure=measure,
        extract=extract,
        calibration=calibration,
        min_probability=min_probability,
        max_error=max_error,
    )
    for trajectory in trajectories:
        poll.add(trajectory)
    return poll.finish()
