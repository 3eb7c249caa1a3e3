"""A worker of a cluster: one engine that is never without work, and one writer of the run.

The worker has several small pieces of work at once, and every trajectory of one of them ends without
regard to the others: the engine takes the next piece when it has room. What a piece has sampled is written
before it counts as done, so a worker that dies costs no more than what was under way.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from distrivote.defaults import N_PARALLEL, N_SLOTS
from distrivote.engines.base import SamplingParams
from distrivote.engines.choice import EngineChoice, open_engine
from distrivote.engines.shared import SharedEngine
from distrivote.errors import DistrivoteError
from distrivote.generation.collector import Report, Reporter, StoppedError
from distrivote.generation.result import Stored
from distrivote.generation.sampling import Sampling, Todo, stored_of
from distrivote.steering import Controller
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep
from distrivote.store.runs.writer import RunWriter

PIECE = 16
"""Trajectories of one question that a worker gets together, if its engine takes work at any time."""

LARGE_PIECE = 64
"""The same for an engine that samples what it gets to the end before it takes more."""

_MAX_SEQUENCES = 1024
"""How many sequences vLLM decodes at once on the largest GPUs unless told otherwise."""

_MOST_PIECES = 256


@dataclass(frozen=True, slots=True)
class Work:
    """What every worker needs to know."""

    choice: EngineChoice
    run: str
    manifest: Manifest
    keep: Keep
    params: SamplingParams
    controller: Controller | None
    stop_when: str | None = None

    @property
    def is_continuous(self) -> bool:
        """Whether the engine takes work at any time."""
        return self.choice.engine in ("openai", "vllm") and not self.choice.models

    @property
    def n_at_once(self) -> int:
        """How many trajectories the engine samples at once, as far as its options tell."""
        options = self.choice.options
        if self.choice.engine == "openai":
            each = options.get("n_per_server")
            if each is not None:
                return int(each) * len(self.choice.base_urls)
            return int(options.get("n_parallel", N_PARALLEL))
        if self.choice.engine == "vllm":
            return int(options.get("max_num_seqs", _MAX_SEQUENCES))
        return int(options.get("n_slots", options.get("batch_size", N_SLOTS)))

    def pieces(self, items: Sequence[Todo], n_workers: int) -> list[Todo]:
        """Return the work in pieces, small enough to occupy all workers; a question whose end depends on
        all of its trajectories is not divided.
        """
        if self.stop_when is not None:
            return list(items)
        n = sum(len(item.samples) for item in items)
        size = max(1, min(PIECE if self.is_continuous else LARGE_PIECE, n // (4 * n_workers)))
        return [
            item._replace(samples=item.samples[start : start + size])
            for item in items
            for start in range(0, len(item.samples), size)
        ]

    def n_pieces(self, pieces: Sequence[Todo]) -> int:
        """Return how many pieces a worker gets at once: as many as make twice what its engine has room for.

        About half of what they have has ended: a piece counts until its longest trajectory ends. With more,
        work would wait at one worker while another is idle at the end.
        """
        size = max((len(piece.samples) for piece in pieces), default=1)
        if not self.is_continuous:
            return max(2, -(-self.n_at_once // size) + 1)
        return min(-(-self.n_at_once * 2 // size) + 1, _MOST_PIECES)


class Worker:
    """An engine and a writer, created once; it is called with a piece of work, many times at once."""

    def __init__(self, work: Work, n_pieces: int, hear: Callable[[Report], bool]) -> None:
        self._work = work
        self._reporter = Reporter(hear)
        engine = open_engine(work.choice, note=self._reporter.note)
        self._engine = engine if engine.concurrent else SharedEngine(engine)
        if isinstance(self._engine, SharedEngine):
            shared = self._engine
            self._reporter.whole = lambda: shared.progress
        self._writer = RunWriter(work.run, work.manifest, keep=work.keep)
        self._sampling: Sampling | None = None
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(n_pieces)

    def close(self) -> None:
        """Free the engine; Ray ends the process instead."""
        self._reporter.close()
        self._threads.shutdown()
        self._writer.close()
        self._engine.close()

    async def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Sample one piece of work; return what was stored and why the rest was not."""
        loop = asyncio.get_running_loop()
        (todo,) = batch["todo"]
        ended = await loop.run_in_executor(self._threads, self.sample, pickle.loads(todo))
        return {"ended": [pickle.dumps(ended)]}

    def sample(self, item: Todo) -> tuple[list[Stored], DistrivoteError | None]:
        """Sample what is missing of a piece, write it, and return it with the error that ended it, if any."""
        piece = self._reporter.begin()
        stored: list[Stored] = []
        try:
            if not self._reporter.is_over:
                self._sample(item, stored, piece)
            self._writer.flush()
            return stored, None
        except StoppedError:
            self._writer.flush()
            return stored, None
        except DistrivoteError as error:
            self._writer.flush()
            return stored, error
        finally:
            self._reporter.end(piece)
            self._reporter.report()  # notes of the last piece would be lost with the process

    def _sample(self, item: Todo, stored: list[Stored], piece: int) -> None:
        self._writer.look()  # an actor that died may have begun it
        samples = tuple(i for i in item.samples if not self._writer.has(item.problem.id, i))
        if not samples:
            return
        work = [item._replace(samples=samples)]
        see = partial(self._reporter.see, piece)
        with closing(self._sampling_of(work).made(self._engine, work, watch=see)) as all_made:
            for made in all_made:
                stored.append(stored_of(made))
                self._reporter.add(stored[-1])
                if self._reporter.is_over:
                    return

    def _sampling_of(self, work: Sequence[Todo]) -> Sampling:
        """Return the state of the sampling; with a stopping rule it depends on what is stored now."""
        known = self._work
        with self._lock:
            if self._sampling is None or known.stop_when is not None:
                self._sampling = Sampling(
                    self._writer, known.params, known.controller, work, stop_when=known.stop_when
                )
                self._reporter.ks = self._sampling.known_ks
            return self._sampling
