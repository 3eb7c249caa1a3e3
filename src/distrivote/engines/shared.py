"""An engine that several callers use at once, although it has one call at a time.

Their jobs go into one feed, so an engine that takes work whenever it has room (`sample_fed`) never waits
for the end of one caller's jobs before it begins those of another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from queue import Empty, SimpleQueue
from typing import ClassVar, TypeAlias

from distrivote.engines.base import BaseEngine, BatchEngine, Job, Progress, Refused, Sampled, Watch
from distrivote.engines.feed import Feed, Taken
from distrivote.errors import InputError
from distrivote.steering import Controller

_WATCH_SECONDS = 0.2

_Event: TypeAlias = Sampled | Refused | Exception | None


class SharedEngine(BatchEngine):
    """Passes the jobs of all callers to one running call of another engine, which it closes.

    >>> from distrivote.engines.replay import ReplayEngine
    >>> SharedEngine(ReplayEngine([], "small")).model
    'small'
    """

    concurrent: ClassVar[bool] = True

    def __init__(self, engine: BaseEngine) -> None:
        self.name, self.model = engine.name, engine.model
        self.progress = Progress(0, 0, 0)
        """That of all callers together."""

        self._engine = engine
        self._feed = Feed()
        self._calls: dict[int, _Call] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None

    def sample_jobs(
        self, jobs: Sequence[Job], controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled]:
        """Yield the trajectories of these jobs as they finish; the progress is that of all callers.

        All callers have the same controller, or controllers of one type.
        """
        call = _Call(jobs)
        numbers: dict[int, int] = {}
        with self._lock:
            self._begin(controller)
            for at, job in enumerate(jobs):
                numbers[self._feed.put(call.asked(at, job, controller))] = at
            self._calls |= dict.fromkeys(numbers, call)
        try:
            seen = time.monotonic()
            while call.goes_on():
                event = call.next_event()
                if watch is not None and time.monotonic() - seen >= _WATCH_SECONDS:
                    watch(self.progress)
                    seen = time.monotonic()
                if isinstance(event, Exception):
                    raise event
                if isinstance(event, Refused):
                    raise event.error
                if event is not None:
                    at = numbers[event.job]
                    call.n_left[at] -= 1
                    yield event._replace(job=at)
        finally:
            call.is_closed = True
            with self._lock:
                for number in numbers:
                    self._calls.pop(number, None)

    def release(self) -> None:
        self._feed.close()
        if self._thread is not None:
            self._thread.join()
        self._engine.close()

    def _begin(self, controller: Controller | None) -> None:
        if self._failure is not None:
            raise self._failure
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, args=(controller,), daemon=True, name="distrivote-shared"
            )
            self._thread.start()

    def _run(self, controller: Controller | None) -> None:
        def see(progress: Progress) -> None:
            self.progress = progress

        try:
            with closing(self._engine.sample_fed(self._feed, controller, watch=see)) as samples:
                for event in samples:
                    with self._lock:
                        call = self._calls.get(event.job)
                    if call is not None:
                        call.events.put(event)
        except Exception as error:  # raised where the callers are
            with self._lock:
                self._failure = error
                for call in {id(each): each for each in self._calls.values()}.values():
                    call.events.put(error)


class _Call:
    """The jobs of one caller, and what has come of them."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self.n_left = [len(job.indices) for job in jobs]
        self.events: SimpleQueue[_Event] = SimpleQueue()
        self.is_closed = False

    def asked(self, at: int, job: Job, controller: Controller | None) -> Job:
        """Return a job as the engine gets it: it ends with the call, and says if another process has it."""

        def take() -> bool:
            is_ours = job.take()
            if not is_ours:
                self.n_left[at] = 0
                self.events.put(None)
            return is_ours

        return job._replace(
            over=lambda: self.is_closed or job.over(),
            controller=job.steered_by(controller),
            take=take,
        )

    def goes_on(self) -> bool:
        """Return whether more is to come: engines do not say that they have dropped a job that is over."""
        return any(n > 0 and not job.over() for n, job in zip(self.n_left, self._jobs, strict=True))

    def next_event(self) -> _Event:
        """Return what comes next; None if nothing has come for a moment."""
        try:
            return self.events.get(timeout=_WATCH_SECONDS)
        except Empty:
            return None


def fed_in_groups(
    engine: BatchEngine, feed: Feed, controller: Controller | None, watch: Watch | None, most: int
) -> Generator[Sampled | Refused]:
    """Sample jobs that are added meanwhile, by an engine that samples several together but takes none later.

    All jobs that wait, up to about `most` trajectories, are sampled together, then those that came meanwhile.
    """
    before = latest = Progress(0, 0, 0)

    def see(now: Progress) -> None:
        nonlocal latest
        n_tokens, n_reflections = before.n_tokens + now.n_tokens, before.n_reflections + now.n_reflections
        latest = Progress(n_tokens, now.n_live, n_reflections, now.partial)
        if watch is not None:
            watch(latest)

    while (first := feed.take(wait=True)) is not None:
        group: list[Taken] = [first]
        n = len(first.job.indices)
        while n < most and (taken := feed.take(wait=False)) is not None:
            group.append(taken)
            n += len(taken.job.indices)
        wanted = [taken for taken in group if not taken.job.over() and taken.job.take()]
        jobs = [taken.job for taken in wanted]
        try:
            with closing(engine.sample_all(jobs, controller, watch=see)) as samples:
                for sampled in samples:
                    yield sampled._replace(job=wanted[sampled.job].number)
        except InputError as error:
            for taken in wanted:
                yield Refused(taken.number, error)
        before = latest
