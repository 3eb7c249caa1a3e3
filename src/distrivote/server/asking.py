"""One question, from its place in the line to the vote: what every endpoint does between request and reply.

`ask` yields what happens as it happens, and the outcome at the end. Leaving it cancels the sampling. An
engine that fails on the way does not cost what was finished: the vote goes on with it, and says so.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import NamedTuple, TypeAlias

from distrivote.answers.equality import equality
from distrivote.answers.mathverify import MathEqual, NeedsWorkerError
from distrivote.engines.base import Engine, Progress
from distrivote.errors import EngineError
from distrivote.flow import Solution, solution_of
from distrivote.flow_async import asample
from distrivote.nouns import count
from distrivote.server.errors import NoAnswerError
from distrivote.server.gate import Lane
from distrivote.server.questions import Question
from distrivote.trajectory import Trajectory
from distrivote.voting.abstaining import withheld

TICK = 0.2
"""Seconds between two looks at the progress."""

_QUICK = 1 << 18
"""With so many log-probabilities and characters a vote is counted within milliseconds."""


class Queued(NamedTuple):
    """Others have the engine."""

    n_before: int


class Begun(NamedTuple):
    """The engine is ours."""


class Moved(NamedTuple):
    """How far it has come."""

    n_done: int
    progress: Progress
    seconds: float


class Outcome(NamedTuple):
    """The vote, and what it took."""

    solution: Solution
    n_tokens: int
    """All that were sampled, those of trajectories that were cut short among them."""

    n_tokens_saved: int
    """By a stopping rule: an estimate, see `Solution.n_tokens_saved`."""

    seconds: float
    stopped: str | None
    """Why there are fewer trajectories than the budget, in a sentence."""

    min_probability: float = 0.0

    @property
    def withheld(self) -> str | None:
        """Why the answer is not given, in a sentence."""
        return withheld(self.solution.tally, self.min_probability)

    @property
    def n_prompt_tokens(self) -> int:
        """Those of the prompt, once for all trajectories; 0 if the engine does not say."""
        counted = (trajectory.n_prompt_tokens for trajectory in self.solution.trajectories)
        return next((n for n in counted if n is not None), 0)

    @property
    def n_reflections(self) -> int:
        records = [trajectory.interventions for trajectory in self.solution.trajectories]
        return sum(record.n_reflections for record in records if record is not None)


Happening: TypeAlias = Queued | Begun | Moved | Trajectory | Outcome


async def ask(
    engine: Engine, lane: Lane, question: Question, *, watched: bool = True
) -> AsyncGenerator[Happening]:
    """Wait for the engine, sample and vote; the last thing that it yields is the outcome.

    If nobody watches, trajectories and progress are not told one by one.
    """
    ticket = lane.join()
    try:
        while n_before := lane.n_before(ticket):
            yield Queued(n_before)
            await lane.moved()
        yield Begun()
        sampling = _Sampling(engine, question)
        async with aclosing(sampling.run(watched)) as happenings:
            async for happening in happenings:
                yield happening
    finally:
        lane.leave(ticket)
    async with lane.counting:
        outcome = await sampling.counted()
    yield outcome


class _Sampling:
    """The trajectories of one question as they come in."""

    def __init__(self, engine: Engine, question: Question) -> None:
        self._engine, self._question = engine, question
        self._trajectories: list[Trajectory] = []
        self._inbox: deque[Trajectory] = deque()
        self._arrived = asyncio.Event()
        self._progress = Progress(0, 0, 0)
        self._begun = time.monotonic()
        self._failure: EngineError | None = None
        self._same = equality(question.same).for_pool()

    async def run(self, watched: bool) -> AsyncGenerator[Moved | Trajectory]:
        """Take trajectories in as they finish and, if anybody watches, yield them and the progress."""
        seen = self._progress
        pump = asyncio.ensure_future(self._pump())
        pump.add_done_callback(lambda _: self._arrived.set())
        try:
            while not pump.done() or self._inbox:
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK):
                        await self._arrived.wait()
                self._arrived.clear()
                if not watched:
                    self._trajectories += self._inbox
                    self._inbox.clear()
                elif not self._inbox and self._progress != seen:
                    seen = self._progress
                    yield self._moved()
                while self._inbox:
                    self._trajectories.append(self._inbox.popleft())
                    yield self._trajectories[-1]
            try:
                pump.result()
            except EngineError as error:
                if not self._trajectories:
                    raise
                self._failure = error
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)

    async def _pump(self) -> None:
        """Take trajectories in as they come.

        A task of its own empties the queue at one go: a turn of the event loop for each of them would wait
        each time until a thread that counts votes lets go of the interpreter.
        """
        question = self._question
        samples = asample(
            *(self._engine, question.problem, question.budget, question.controller, question.params),
            stop_when=question.stop_when,
            same=self._same,
            measure=question.measure,
            watch=self._watch,
        )
        async with aclosing(samples):
            async for trajectory in samples:
                self._inbox.append(trajectory)
                self._arrived.set()

    def _watch(self, progress: Progress) -> None:
        self._progress = progress

    def _moved(self) -> Moved:
        return Moved(len(self._trajectories), self._progress, time.monotonic() - self._begun)

    async def counted(self) -> Outcome:
        """Return the outcome, counted in a thread if it may take long.

        Else not: to hand the interpreter to a thread and back, while others want it, costs as much again
        (12.7 against 9.2 ms of processor time per request, 16 clients and 32 short replies).
        """
        if sum(each.top_logprobs.size + len(each.text) for each in self._trajectories) <= _QUICK:
            judge = self._same.equal
            if isinstance(judge, MathEqual):
                judge.may_ask = False
            try:
                return self.outcome()
            except NeedsWorkerError:
                pass
            finally:
                if isinstance(judge, MathEqual):
                    judge.may_ask = True
        return await asyncio.to_thread(self.outcome)

    def outcome(self) -> Outcome:
        """Vote on what there is; NoAnswerError if that is nothing."""
        question, seconds = self._question, time.monotonic() - self._begun
        solution = solution_of(
            *(question.problem, self._trajectories, question.pipeline, question.controller),
            same=self._same,
            measure=question.measure,
            n_asked=question.budget,
            calibration=question.calibration,
        )
        n, budget = len(solution.trajectories), question.budget
        if solution.answer is None:
            raise NoAnswerError(
                f"none of {count(n, 'trajectory')} gave an answer: ask for one in \\boxed{{}}, set the"
                " template to math or choice, or allow more max_tokens"
            )
        stopped, n_saved = None, 0
        if self._failure is not None:
            stopped = (
                f"the engine failed after {n} of {count(budget, 'trajectory')}, which the vote rests on:"
                f" {self._failure}"
            )
        elif n < budget and question.stop_when is not None:
            of = count(budget, "trajectory")
            stopped = f"the vote was settled after {n} of {of} ({question.stop_when.name})"
            n_saved = solution.n_tokens_saved
        n_tokens = max(self._progress.n_tokens, solution.n_tokens)
        steering = question.controller
        if question.memory is not None and (steering is None or not steering.ends_trajectories):
            question.memory.learn(self._engine.model, solution.ballot)
        return Outcome(*(solution, n_tokens, n_saved, seconds, stopped), question.min_probability)
