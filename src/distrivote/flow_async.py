"""`sample` and `solve` for asynchronous programs: the same flow, with the engine in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable

from distrivote.answers.equality import Equality
from distrivote.answers.extract import OwnExtractor
from distrivote.confidence import Measure
from distrivote.defaults import METHOD
from distrivote.engines.base import Engine, Progress, SamplingParams
from distrivote.errors import EngineError
from distrivote.flow import SSC, Solution, failure_note, sample, solution_of
from distrivote.problem import Problem
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory
from distrivote.voting.methods import method_of
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.stopping import StopRule, stop_rule


async def asample(
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
) -> AsyncGenerator[Trajectory]:
    """Yield trajectories as they finish, sampled in a thread; leaving the loop cancels the rest."""
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
        # One call for all that came since the last look: each of them is a system call.
        inbox.append(item)
        if not woken.is_set():
            woken.set()
            loop.call_soon_threadsafe(arrived.set)

    def work() -> None:
        try:
            samples = sample(
                *(engine, problem, budget, ssc, params),
                stop_when=stop_when,
                same=same,
                measure=measure,
                extract=extract,
                watch=check,
            )
            with contextlib.closing(samples) as trajectories:
                for trajectory in trajectories:
                    put(trajectory)
            put(None)
        except _Gone:
            put(None)
        except BaseException as error:  # handed to whoever waits
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
    """Nobody waits for the trajectories any more."""


async def asolve(
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
) -> Solution:
    """Do what `solve` does, without blocking the event loop."""
    method = method_of(pipeline)
    rule = stop_rule(stop_when, method.name)
    samples = asample(
        *(engine, problem, budget, ssc, params),
        stop_when=rule,
        same=same,
        measure=measure,
        extract=extract,
    )
    found: list[Trajectory] = []
    notes: list[str] = []
    try:
        async for trajectory in samples:
            found.append(trajectory)
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
