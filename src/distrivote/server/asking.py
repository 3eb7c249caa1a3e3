"""One question, from the queue to the vote: what every endpoint does between request and reply.

`ask` yields updates as they happen, and the outcome at the end. Closing it cancels the sampling. If an engine
fails during sampling, the vote uses the trajectories that are finished, and the outcome says so.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import NamedTuple, TypeAlias

from distrivote.answers.mathverify import MathEqual, NeedsWorkerError
from distrivote.engines.base import Progress
from distrivote.errors import ENDS_SAMPLING, EngineError, OwnCodeError
from distrivote.flow_async import asample_into
from distrivote.nouns import count
from distrivote.poll import Poll
from distrivote.server.errors import NoAnswerError
from distrivote.server.limits import EngineQueue
from distrivote.server.questions import Question
from distrivote.server.record import RequestRecord
from distrivote.solution import Solution
from distrivote.trajectory import Trajectory

TICK = 0.2
"""Seconds between two progress updates."""

_QUICK = 1 << 18
"""Up to this number of log-probabilities and characters a vote is counted within milliseconds."""


class Queued(NamedTuple):
    """The question is queued: other requests use the engine."""

    n_before: int


class Begun(NamedTuple):
    """Sampling begins."""


class Moved(NamedTuple):
    """The progress of the sampling."""

    n_done: int
    progress: Progress
    seconds: float


class Answered(NamedTuple):
    """The vote, and what it cost."""

    solution: Solution
    n_tokens: int
    """All sampled tokens, including those of unfinished trajectories."""

    seconds: float


Update: TypeAlias = Queued | Begun | Moved | Trajectory | Answered


async def ask(
    queue: EngineQueue, question: Question, poll: Poll, record: RequestRecord, *, watched: bool = True
) -> AsyncGenerator[Update]:
    """Wait for the engine, sample into the question's poll and vote; the outcome is yielded last.

    The record always gets the number of sampled tokens. If the question is not `watched`, trajectories and
    progress are not yielded.
    """
    record.method, record.budget = question.method.name, question.budget
    ticket = queue.join()
    try:
        while n_before := queue.n_before(ticket):
            yield Queued(n_before)
            await queue.moved()
        yield Begun()
        sampling = _Sampling(question, poll, record)
        async with aclosing(sampling.run(watched)) as updates:
            async for update in updates:
                yield update
        # A judge uses the engine itself, so this ticket must hold it.
        answered = await sampling.counted() if poll.asks_engine else None
    finally:
        queue.leave(ticket)
    if answered is None:
        async with queue.counting:
            answered = await sampling.counted()
    record.voted = True
    yield answered


class _Sampling:
    """The trajectories of one question as they come in."""

    def __init__(self, question: Question, poll: Poll, record: RequestRecord) -> None:
        self._engine, self._question, self._poll, self._record = question.engine, question, poll, record
        self._n_done = self._size = self._n_finished = 0
        self._inbox: deque[Trajectory] = deque()
        self._arrived = asyncio.Event()
        self._progress = Progress(0, 0, 0)
        self._begun = time.monotonic()
        self._failure: EngineError | OwnCodeError | None = None

    async def run(self, watched: bool) -> AsyncGenerator[Moved | Trajectory]:
        """Collect trajectories as they finish; if the question is watched, yield them and the progress."""
        seen = 0, self._progress
        pump = asyncio.ensure_future(self._pump())
        pump.add_done_callback(lambda _: self._arrived.set())
        try:
            while not pump.done() or self._inbox:
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK):
                        await self._arrived.wait()
                self._arrived.clear()
                now = self._n_done, self._progress
                if watched and not self._inbox and now != seen:
                    seen = now
                    yield self._moved()
                while self._inbox:
                    trajectory = self._inbox.popleft()
                    self._n_done += 1
                    self._size += trajectory.top_logprobs.size + len(trajectory.text)
                    if watched:
                        yield trajectory
            try:
                pump.result()
            except ENDS_SAMPLING as error:
                if not self._n_done:
                    raise
                self._failure = error
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
            self._record.n_tokens = max(self._progress.n_tokens, self._n_finished)

    async def _pump(self) -> None:
        """Collect trajectories as they arrive.

        A separate task empties the queue in one turn of the event loop: a turn for each trajectory would wait
        each time until a thread that counts votes releases the interpreter.
        """
        samples = asample_into(self._poll, self._engine, self._question.params, watch=self._watch)
        async with aclosing(samples):
            async for trajectory in samples:
                self._n_finished += trajectory.n_tokens
                self._record.n_prompt_tokens += trajectory.n_prompt_tokens or 0
                self._inbox.append(trajectory)
                self._arrived.set()

    def _watch(self, progress: Progress) -> None:
        self._progress = progress

    def _moved(self) -> Moved:
        return Moved(self._n_done, self._progress, time.monotonic() - self._begun)

    async def counted(self) -> Answered:
        """Return the outcome, computed in a thread if that may take long.

        Otherwise it is computed here: switching to a thread and back while others wait for the interpreter
        took 12.7 instead of 9.2 ms of processor time per request (16 clients, 32 short replies).
        """
        is_quick = self._size <= _QUICK and self._poll.same.sort is None and not self._poll.asks_engine
        if is_quick:
            judge = self._poll.same.equal
            if isinstance(judge, MathEqual):
                judge.may_ask = False
            try:
                return self._answered()
            except NeedsWorkerError:
                pass
            finally:
                if isinstance(judge, MathEqual):
                    judge.may_ask = True
        return await asyncio.to_thread(self._answered)

    def _answered(self) -> Answered:
        """Vote on the finished trajectories; raise NoAnswerError if none has an answer."""
        seconds = time.monotonic() - self._begun
        solution = self._poll.finish(self._failure)
        if solution.answer is None and self._question.strict:
            raise NoAnswerError(
                f"none of {count(len(solution.trajectories), 'trajectory')} gave an answer: ask for one in"
                " \\boxed{}, name the kind of answer, allow more max_tokens, or leave out strict"
            )
        steering, model_trust = self._question.steering, self._question.model_trust
        if model_trust is not None and (steering is None or not steering.ends_trajectories):
            model_trust.learn(self._engine.model, solution.ballot)
        return Answered(solution, max(self._progress.n_tokens, solution.n_tokens), seconds)
