"""Several engines as one: the trajectories of a question are divided among their models.

Trajectory i is sampled by engine i mod n, so that each has its share of every budget, and it says which model
that was. The engines sample at the same time, each in a thread of its own.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from distrivote.engines.abilities import ChoosyEngine
from distrivote.engines.base import BaseEngine, Engine, Job, Progress, Watch
from distrivote.errors import InputError
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


class _Closed(Exception):
    """The caller wants no more."""


class PooledEngine(BaseEngine):
    """An engine of several models, which it closes.

    >>> from distrivote.engines.replay import ReplayEngine
    >>> PooledEngine([ReplayEngine([], name) for name in ("small", "large")]).model
    'small,large'
    """

    name = "pool"

    def __init__(self, engines: Sequence[Engine]) -> None:
        names = [engine.model for engine in engines]
        if len(engines) < 2 or len(set(names)) < len(names):
            raise InputError(
                f"a pool of models has {', '.join(names) or 'no model'}: give two or more different ones"
            )
        self.engines = tuple(engines)
        self.model = ",".join(names)

    def can_steer(self, controller: Controller) -> bool:
        """Return whether all engines support a controller: models are sampled in the same way."""
        return all(
            not isinstance(engine, ChoosyEngine) or engine.can_steer(controller) for engine in self.engines
        )

    def release(self) -> None:
        """Close all engines."""
        for engine in self.engines:
            engine.close()

    def sample_job(
        self, job: Job, controller: Controller | None, watch: Watch | None
    ) -> Iterator[Trajectory]:
        """Yield the trajectories of all models as they finish; if one engine fails, the others end too."""
        if not job.take():
            return
        found: queue.SimpleQueue[Trajectory | BaseException | None] = queue.SimpleQueue()
        closed = threading.Event()
        seen = _Watched(len(self.engines), job, closed, watch)

        def sample(number: int) -> None:
            engine = self.engines[number]
            indices = [index for index in job.indices if index % len(self.engines) == number]
            try:
                samples = engine.sample(
                    job.messages, len(indices), job.params, controller, indices=indices, watch=seen.by(number)
                )
                with closing(samples):
                    for trajectory in samples if indices else ():
                        found.put(replace(trajectory, model=engine.model))
                        if closed.is_set() or job.over():
                            break
            except _Closed:
                pass
            except BaseException as error:  # raised where the caller is
                found.put(error)
            found.put(None)

        threads = [
            threading.Thread(target=sample, args=(number,), daemon=True)
            for number in range(len(self.engines))
        ]
        for thread in threads:
            thread.start()
        try:
            n_live = len(threads)
            while n_live:
                item = found.get()
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    n_live -= 1
                else:
                    yield item
        finally:
            closed.set()
            for thread in threads:
                thread.join()


class _Watched:
    """The progress of all engines together."""

    def __init__(self, n: int, job: Job, closed: threading.Event, watch: Watch | None) -> None:
        self._latest = [Progress(0, 0, 0)] * n
        self._job, self._closed, self._watch = job, closed, watch
        self._lock = threading.Lock()

    def by(self, number: int) -> Watch:
        """Return the function that one engine calls."""

        def watch(progress: Progress) -> None:
            if self._closed.is_set() or self._job.over():
                raise _Closed
            if self._watch is None:
                return
            with self._lock:
                self._latest[number] = progress
                live = sum(each.n_live for each in self._latest)
                tokens = sum(each.n_tokens for each in self._latest)
                reflections = sum(each.n_reflections for each in self._latest)
                self._watch(Progress(tokens, live, reflections, progress.partial))

        return watch
