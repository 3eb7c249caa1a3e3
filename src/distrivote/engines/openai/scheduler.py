"""One call of the OpenAI engine: all jobs interleaved, spread over the servers, retried where that may help.

Every trajectory is one request (or one of several in a request with `n`), streamed. What has finished is put
into a queue at once, so that nothing is lost if the rest fails. A trajectory that fails is started
again, on another server if there is one, a limited number of times. One error reports what is missing.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from distrivote.engines.base import Job, Progress, Sampled, always
from distrivote.engines.openai.client import Server
from distrivote.engines.openai.discovery import Discovery
from distrivote.engines.openai.faults import Fault, Scope
from distrivote.engines.openai.fleet import choose
from distrivote.engines.openai.item import Item
from distrivote.engines.openai.loops import Place
from distrivote.engines.openai.patience import PATIENCE, Patience
from distrivote.engines.openai.protocol import Body
from distrivote.engines.openai.request import Sampler
from distrivote.errors import EngineError
from distrivote.nouns import count, verb
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


class Note(NamedTuple):
    """A note for the user."""

    sentence: str


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The settings that all calls of an engine share."""

    endpoint: str
    ssc_by: str
    n_per_request: int
    n_per_server: int | None = None
    """The maximum number of trajectories in progress at each server."""

    patience: Patience = PATIENCE
    extra: Body = field(default_factory=dict)
    """Fields that every request has."""


class Call:
    """A call in progress."""

    def __init__(
        self,
        settings: CallSettings,
        jobs: Sequence[Job],
        controller: Controller | None,
        put: Callable[[Sampled | Note], None],
        n_waiting: Callable[[], int],
        follow: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Prepare a call.

        Args:
            settings: Those of the engine.
            jobs: What to sample.
            controller: The controller of the trajectories.
            put: Called with each result.
            n_waiting: How many results the caller has not taken yet.
            follow: Looks which servers there are now; None: always the same.
        """
        self._servers: Sequence[Server] = ()
        self._room = asyncio.Semaphore()
        self._jobs = jobs
        self._put = put
        self._n_waiting = n_waiting
        self._patience, self._n_per_server, self._look = settings.patience, settings.n_per_server, follow
        controller = None if settings.ssc_by == "off" else controller
        self._discovery = Discovery(settings, controller, self._note)
        self._sampler = Sampler(settings.endpoint, self._discovery, self._note, self._deliver)
        n = settings.n_per_request
        self._waiting = deque(
            Item(number, job, job.indices[start : start + n])
            for number, job in enumerate(jobs)
            for start in range(0, len(job.indices), n)
        )
        self._live: set[Item] = set()
        self._workers = asyncio.TaskGroup()
        self._n_workers = 0
        self._n_missing = 0
        self._n_total = sum(len(job.indices) for job in jobs)
        self._fault: Fault | None = None
        self._is_over = False
        self._spoiled: set[int] = set()  # jobs that every server refuses
        self._taken: set[int] = set()  # jobs that a server accepted
        self._ours: dict[int, asyncio.Future[bool]] = {}  # whether this process samples a job
        self._noted: set[str] = set()
        self._n_tokens = 0
        self._n_reflections = 0

    @property
    def progress(self) -> Progress:
        live = list(self._live)
        return Progress(
            self._n_tokens + sum(item.n_tokens for item in live),
            len(live),
            self._n_reflections + sum(item.n_reflections for item in live),
            min(live, key=lambda item: (item.number, item.first)).partial if live else None,
        )

    async def run(self, servers: Sequence[Server], room: asyncio.Semaphore, n_parallel: int) -> None:
        """Run the jobs; raises one EngineError at the end if anything is missing."""
        self._servers, self._room = servers, room
        for server in servers:
            server.health.out = False  # it may have been repaired since the last call
        n_logprobs = max(job.params.n_logprobs for job in self._jobs)
        await self._discovery.probe_all(self._present(), n_logprobs)
        following = None if self._look is None else asyncio.create_task(self._follow(self._look, n_parallel))
        try:
            async with asyncio.TaskGroup() as self._workers:
                self._employ(n_parallel)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            if following is not None:
                following.cancel()
        self._n_missing += sum(len(item.indices) for item in self._waiting if not item.job.over())
        if self._fault is not None and self._n_missing:
            raise self._error(self._fault)

    def _employ(self, n_parallel: int) -> None:
        """Start as many workers as there may be trajectories in progress, if there are fewer."""
        n = n_parallel
        if self._n_per_server is not None:
            n = self._n_per_server * len(self._present())
        for _ in range(self._n_workers, min(n, self._n_total)):
            self._n_workers += 1
            self._workers.create_task(self._work())

    async def _follow(self, look: Callable[[], Awaitable[None]], n_parallel: int) -> None:
        """Look for servers that come and go while there is something to sample."""
        while True:
            await asyncio.sleep(self._patience.roster)
            before = self._present()
            await look()
            now = self._present()
            for server in [each for each in now if each not in before]:
                self._note(f"{server.url} has joined the fleet")
            for server in [each for each in before if each not in now]:
                self._note(f"{server.url} has left the fleet")
            if self._waiting:
                self._employ(n_parallel)

    def _present(self) -> list[Server]:
        return [server for server in self._servers if not server.health.gone]

    def _error(self, fault: Fault) -> EngineError:
        if self._n_missing == self._n_total:
            return fault.error()
        missing = f"{self._n_missing} of {count(self._n_total, 'trajectory')}"
        return fault.error(f"{missing} {verb(self._n_missing, 'are')} missing: ")

    def _note(self, sentence: str) -> None:
        if sentence not in self._noted:
            self._noted.add(sentence)
            self._put(Note(sentence))

    async def _work(self) -> None:
        while self._waiting and not self._is_over:
            # The caller may be slow: queue no more results than there are trajectories in progress.
            while self._n_waiting() > 64:
                await asyncio.sleep(0.02)
            async with Place(self._room) as place:
                if not self._waiting or self._is_over:
                    return
                item = self._waiting.popleft()
                if item.job.over() or not await self._is_ours(item):
                    continue
                if item.number in self._spoiled:
                    self._n_missing += len(item.indices)
                    continue
                item.place = place
                self._live.add(item)
                try:
                    await self._sample(item)
                except Fault as fault:
                    self._give_up(item, fault)
                finally:
                    self._live.discard(item)

    async def _is_ours(self, item: Item) -> bool:
        """Claim a job before its first trajectory, and return whether no other process has it."""
        if item.job.take is always:
            return True
        if item.number not in self._ours:
            self._ours[item.number] = asyncio.ensure_future(asyncio.to_thread(item.job.take))
        return await asyncio.shield(self._ours[item.number])

    def _give_up(self, item: Item, fault: Fault) -> None:
        if item.job.over():
            return
        self._fault = self._fault or fault
        self._n_missing += len(item.indices)
        if fault.scope is Scope.REQUEST:
            if item.number not in self._taken:
                self._spoiled.add(item.number)
        else:
            self._is_over = self._is_over or fault.scope is not Scope.PASSING or self._is_down()

    def _is_down(self) -> bool:
        try:
            choose([server.health for server in self._servers], time.monotonic())
        except Fault:
            return True
        return False

    async def _sample(self, item: Item) -> None:
        """Request the missing trajectories of an item until none is missing."""
        avoid: int | None = None
        attempt, n_left = 0, self._patience.n_attempts
        n_chunks = self._n_chunks()
        while True:
            before = item.begun
            number = await self._free_server(avoid)
            server = self._servers[number]
            begun = time.monotonic()
            server.health.begin(begun)
            try:
                more = await self._sampler.sample(server, item)
                server.health.succeed()
                self._split(item, more)
                return
            except Fault as fault:
                item.n_tokens = item.n_reflections = 0
                if not item.indices:
                    return
                if fault.scope in (Scope.REQUEST, Scope.CALL):
                    raise
                server.health.fail(fault, begun, time.monotonic())
                if item.begun is not before:
                    attempt, n_left = 0, self._patience.n_attempts  # it made progress
                n_left -= fault.retry_after is None or self._n_chunks() == n_chunks
                if not n_left or attempt == self._patience.n_attempts_in_all:
                    raise
                n_chunks = self._n_chunks()
                self._note_failure(server, fault)
                avoid = number
            finally:
                server.health.end()
            if attempt + 1 >= len(self._servers):
                await asyncio.sleep(self._patience.retry.delay(attempt) * random.uniform(0.5, 1.0))
            attempt += 1

    def _n_chunks(self) -> int:
        return sum(server.health.n_chunks for server in self._servers)

    def _split(self, item: Item, parts: list[Item]) -> None:
        """Put trajectories that have to be requested one by one at the front of the queue."""
        if parts:
            item.indices = []
            self._waiting.extendleft(reversed(parts))
            for _ in parts:  # idle workers have ended
                self._workers.create_task(self._work())

    def _note_failure(self, server: Server, fault: Fault) -> None:
        if len(self._servers) > 1 and (server.health.out or server.health.aside):
            self._note(f"{fault}; the other servers go on")

    async def _free_server(self, avoid: int | None) -> int:
        while True:
            healths = [server.health for server in self._servers]
            choice = choose(healths, time.monotonic(), avoid, self._n_per_server)
            if choice.number is not None:
                return choice.number
            await asyncio.sleep(min(choice.wait, 0.25))
            if self._is_over and self._fault is not None:
                raise self._fault

    def _deliver(self, server: Server, item: Item, index: int, trajectory: Trajectory) -> None:
        several = len(self._servers) > 1
        whole = replace(trajectory, index=index, server=server.url if several else None)
        item.indices.remove(index)
        self._taken.add(item.number)
        self._n_tokens += whole.n_tokens
        record = whole.interventions
        self._n_reflections += record.n_reflections if record is not None else 0
        item.n_tokens = max(item.n_tokens - whole.n_tokens, 0) if item.indices else 0
        item.n_reflections = 0
        self._put(Sampled(item.number, whole))
