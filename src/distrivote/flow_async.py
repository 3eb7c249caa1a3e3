"""`sample` and `solve` for asynchronous programs: the same flow, in the event loop or in a thread.

An engine that has a method `asample` is driven in the event loop itself. Others sample in a thread.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing

from distrivote.answers.code.given import Inputs
from distrivote.answers.equality import Same
from distrivote.answers.extract import OwnExtractor
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.names import OwnAnswer
from distrivote.confidence import Measure, OwnMeasure
from distrivote.defaults import ANSWER, BUDGET, METHOD, MIN_PROBABILITY
from distrivote.engines.abilities import AsyncEngine
from distrivote.engines.base import Engine, Progress, SamplingParams, Watch
from distrivote.engines.judging import embedder, model_inputs, model_judge
from distrivote.errors import ENDS_SAMPLING
from distrivote.flow import problem_for, progress_sum, sample_into
from distrivote.poll import Poll
from distrivote.problem import Problem
from distrivote.solution import Solution
from distrivote.steering import Steering
from distrivote.trajectory import Trajectory
from distrivote.voting.methods import Method
from distrivote.voting.probability import Calibration
from distrivote.voting.stopping import OwnStopRule, StopRule


async def asolve(
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
    """Do what `solve` does, without blocking the event loop."""
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
        async for _ in asample_into(poll, engine, params, watch=watch):
            pass
    except ENDS_SAMPLING as error:
        failure = error
    return await asyncio.to_thread(poll.finish, failure)


async def asample(
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
) -> AsyncGenerator[Trajectory]:
    """Yield trajectories as they finish; leaving the loop cancels the rest."""
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
    async with aclosing(asample_into(poll, engine, params, watch=watch)) as samples:
        async for trajectory in samples:
            yield trajectory


def asample_into(
    poll: Poll, engine: Engine, params: SamplingParams, *, watch: Watch | None = None
) -> AsyncGenerator[Trajectory]:
    """Do what `sample_into` does, without blocking the event loop.

    Another thread may use the poll until the iterator is closed or exhausted: until then `tally` and
    `reading` may be called only if the poll is eager.
    """
    poll.judge_with(model_judge(engine, params), embedder(engine), model_inputs(engine, params))
    if isinstance(engine, AsyncEngine):
        return _in_loop(poll, engine, params, watch)
    return _in_thread(poll, engine, params, watch)


async def _in_loop(
    poll: Poll, engine: AsyncEngine, params: SamplingParams, watch: Watch | None
) -> AsyncGenerator[Trajectory]:
    messages, seen = poll.problem.messages(), progress_sum(watch)
    while (batch := poll.next_batch()) is not None:
        samples = engine.asample(
            messages, len(batch.indices), params, batch.steering, indices=batch.indices, watch=next(seen)
        )
        async with aclosing(samples):
            async for trajectory in samples:
                taken, is_settled = await _taken(poll, trajectory)
                if is_settled:
                    await samples.aclose()
                yield taken


async def _taken(poll: Poll, trajectory: Trajectory) -> tuple[Trajectory, bool]:
    """Add a trajectory and say whether no more are needed; in a thread if it is measured immediately."""
    if not poll.eager:
        return poll.add(trajectory), False

    def add() -> tuple[Trajectory, bool]:
        return poll.add(trajectory), poll.settled

    return await asyncio.to_thread(add)


async def _in_thread(
    poll: Poll, engine: Engine, params: SamplingParams, watch: Watch | None
) -> AsyncGenerator[Trajectory]:
    loop = asyncio.get_running_loop()
    inbox: deque[Trajectory | BaseException | None] = deque()
    arrived = asyncio.Event()
    woken = threading.Event()
    gone = threading.Event()

    def check(progress: Progress) -> None:
        if gone.is_set():
            raise _Gone
        if watch is not None:
            watch(progress)

    def put(item: Trajectory | BaseException | None) -> None:
        # One call for all trajectories since the last one: each call is a system call.
        inbox.append(item)
        if not woken.is_set():
            woken.set()
            loop.call_soon_threadsafe(arrived.set)

    def work() -> None:
        try:
            with closing(sample_into(poll, engine, params, watch=check)) as trajectories:
                for trajectory in trajectories:
                    put(trajectory)
            put(None)
        except _Gone:
            put(None)
        except BaseException as error:  # passed to the consumer
            put(error)

    worker = loop.run_in_executor(None, work)
    try:
        while True:
            await arrived.wait()
            arrived.clear()
            woken.clear()
            while inbox:
                item = inbox.popleft()
                if item is None:
                    return
                if isinstance(item, BaseException):
                    raise item
                yield item
    finally:
        gone.set()
        await asyncio.shield(worker)


class _Gone(Exception):
    """The consumer no longer waits for trajectories."""
