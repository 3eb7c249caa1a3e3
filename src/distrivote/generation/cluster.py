"""A run over a benchmark on a Ray cluster: one store, written by many workers.

Ray Data does the scheduling: it starts and stops actors with an engine each (`worker`), gives each several
small pieces of work at once, and gives those of an actor that died to another. Every actor adds to the same
run, so its folder must be in an object store, or on a file system that all machines share. What is stored
already is not sampled again. What the workers report while they work comes by an actor of its own
(`collector`).
"""

from __future__ import annotations

import logging
import pickle
import queue
import secrets
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from distrivote.engines.base import Progress
from distrivote.errors import DistrivoteError, EngineError, InputError, MissingPackageError, RefusedError
from distrivote.generation.collector import SECONDS, Collector, Report, Told
from distrivote.generation.result import Stored
from distrivote.generation.sampling import Todo
from distrivote.generation.worker import Work, Worker
from distrivote.store.runs.folder import is_remote

LOCAL = "local"
"""The address of a cluster that is started on this machine and ends with the program."""

_GRACE = 20.0
"""Seconds that workers have to end and to write what they have when the run is stopped."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where the workers run, and the resources of each."""

    address: str = LOCAL
    n_workers: int = 1
    n_cpus: float = 1.0
    """Per worker. On a small machine use a fraction, since Ray's own readers need some too."""

    n_gpus: float = 0.0

    def __post_init__(self) -> None:
        for name in ("n_workers", "n_cpus"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} is {getattr(self, name)}: give a number above 0")
        if self.n_gpus < 0:
            raise InputError(f"n_gpus is {self.n_gpus}: give 0 or more")


def generate_on_ray(
    work: Work,
    items: Sequence[Todo],
    cluster: Cluster,
    note: Callable[[str], None] = lambda _: None,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Generator[Stored]:
    """Sample the missing trajectories on a cluster and yield what was stored, about once a second.

    `note` is called with what the user should know of the workers' engines, each sentence once, `watch` with
    the progress of all workers together. Closing the iterator stops the workers: what has finished is stored,
    and the same call continues from there. An error that may pass, or that is about one question, is raised
    at the end, after the rest of the work; any other stops the workers.
    """
    ray = _connected(cluster.address)
    if not is_remote(work.run):
        work = replace(work, run=str(Path(work.run).resolve()))
    try:
        yield from _Conductor(ray, work, items, cluster, note, watch).run()
    except ray.exceptions.RayError as error:
        raise _cause(error) from error
    finally:
        if cluster.address == LOCAL:
            ray.shutdown()


class _Ended(NamedTuple):
    """The end of all work, and Ray's error if it is one."""

    error: BaseException | None


class _Conductor:
    """Starts the workers, and passes on what they report and return."""

    def __init__(
        self,
        ray: Any,
        work: Work,
        items: Sequence[Todo],
        cluster: Cluster,
        note: Callable[[str], None],
        watch: Callable[[Progress], None],
    ) -> None:
        self._ray, self._note, self._watch = ray, note, watch
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=True
        )
        self._collector = (
            ray.remote(Collector)
            .options(
                name=f"distrivote-{secrets.token_hex(6)}",
                num_cpus=0,
                max_restarts=-1,
                scheduling_strategy=here,
            )
            .remote()
        )
        self._dataset = _dataset(ray, work, items, cluster, self._collector)
        self._returned: queue.SimpleQueue[bytes | _Ended] = queue.SimpleQueue()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True, name="ray-rows")
        self._known: set[tuple[str, int]] = set()
        self._notes: set[str] = set()
        self._failure: BaseException | None = None

    def run(self) -> Generator[Stored]:
        """Yield what is stored, each trajectory once, until all work has ended."""
        self._thread.start()
        end: _Ended | None = None
        try:
            while end is None and (self._failure is None or _passes(self._failure)):
                for news in self._news():
                    if isinstance(news, _Ended):
                        end = news
                    else:
                        yield from self._fresh(news)
                yield from self._fresh(self._ask())
        finally:
            if end is None:
                self._stop()
            self._ray.kill(self._collector)
        if end is not None and end.error is not None:
            raise end.error
        if self._failure is not None:
            raise self._failure

    def _news(self) -> Iterator[Sequence[Stored] | _Ended]:
        """Yield what has come back from pieces, waiting up to a second for the first; or the end."""
        seconds = SECONDS
        with suppress(queue.Empty):
            while True:
                item = self._returned.get(timeout=seconds)
                seconds = 0.001
                if isinstance(item, _Ended):
                    yield item
                    return
                stored, error = pickle.loads(item)
                self._failure = self._failure or error
                yield stored

    def _ask(self, is_over: bool = False) -> tuple[Stored, ...]:
        """Ask the collector for what is new, pass on notes and progress, and return what was stored."""
        told = self._told(is_over)
        if told is None:
            return ()
        for sentence in told.notes:
            if sentence not in self._notes:
                self._notes.add(sentence)
                self._note(sentence)
        self._watch(told.progress)
        if len(told.ks) > 1:
            some, others = sorted(told.ks)[:2]
            raise InputError(
                f"some workers get {some} log-probabilities per token and others {others}: their confidences"
                " are not comparable, so use servers of one kind, and begin another run"
            )
        return told.stored

    def _told(self, is_over: bool) -> Told | None:
        """Return what the collector says; None while it is started again."""
        with suppress(self._ray.exceptions.RayError):
            found: Told = self._ray.get(self._collector.tell.remote(is_over), timeout=30)
            return found
        return None

    def _fresh(self, all_stored: Sequence[Stored]) -> Iterator[Stored]:
        for stored in all_stored:
            key = (stored.question_id, stored.sample)
            if key not in self._known:
                self._known.add(key)
                yield stored

    def _read(self) -> None:
        """Take what the pieces return, in a thread of its own."""
        error: BaseException | None = None
        try:
            with closing(iter(self._dataset.iter_rows())) as rows:
                for row in rows:
                    self._returned.put(row["ended"])
                    if self._is_over.is_set():
                        break
        except BaseException as raised:  # raised where the caller is
            error = raised
        self._returned.put(_Ended(error))

    def _stop(self) -> None:
        """Let the workers drop what they have not finished, and write the rest."""
        until = time.monotonic() + _GRACE
        n_idle = 0
        while self._thread.is_alive() and n_idle < 2 and time.monotonic() < until:
            time.sleep(SECONDS / 2)
            told = self._told(is_over=True)
            n_idle = n_idle + 1 if told is not None and told.n_pieces == 0 else 0
        self._is_over.set()
        self._thread.join(SECONDS)


def _passes(failure: BaseException) -> bool:
    """Return whether the rest of the work may succeed all the same."""
    if isinstance(failure, (InputError, RefusedError)):  # about one question
        return True
    return isinstance(failure, EngineError) and failure.retryable


def _dataset(ray: Any, work: Work, items: Sequence[Todo], cluster: Cluster, collector: Any) -> Any:
    """Return the work as a dataset whose rows are the ends of its pieces."""

    def hear(report: Report) -> bool:
        is_over: bool = ray.get(collector.hear.remote(report), timeout=30)
        return is_over

    pieces = work.pieces(items, cluster.n_workers)
    n_at_once = work.n_pieces(pieces)
    # One row per block: a block ends when its last row does.
    blocks = ray.data.from_items(
        [{"todo": pickle.dumps(piece)} for piece in pieces], override_num_blocks=len(pieces)
    )
    n_workers = min(cluster.n_workers, len(pieces))
    return blocks.map_batches(
        Worker,
        fn_constructor_args=(work, n_at_once, hear),
        batch_size=1,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(
            min_size=1,
            max_size=n_workers,
            initial_size=n_workers,
            max_tasks_in_flight_per_actor=n_at_once,
            max_concurrent_calls_per_actor=n_at_once,
        ),
        num_cpus=cluster.n_cpus,
        num_gpus=cluster.n_gpus,
    )


def _connected(address: str) -> Any:
    """Return Ray, connected to the cluster."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingPackageError("ray", "ray", "a run on a cluster") from error
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if not ray.is_initialized():
        where = {"_node_ip_address": "127.0.0.1", "include_dashboard": False} if address == LOCAL else {}
        try:
            _knock(address)
            ray.init(address=address, logging_level="error", log_to_driver=False, **where)
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            raise EngineError(
                f"can't reach a Ray cluster at {address} ({str(error).splitlines()[0]})",
                hint=f"check the address, or give `ray={LOCAL}` to start one here",
                argument="address",
            ) from error
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # A piece of long trajectories takes hours.
    context.execution_no_progress_timeout_s = -1
    return ray


def _knock(address: str) -> None:
    """Raise OSError at once if nothing listens there: Ray would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _cause(error: BaseException) -> DistrivoteError:
    """Return the failure of a worker as an error of this library."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, DistrivoteError):
            return found
        found = getattr(found, "cause", None) or found.__cause__
    lines = [line for line in str(error).splitlines() if line.strip()]
    return EngineError(f"a worker on the Ray cluster failed ({lines[-1].strip()}): what was stored is safe")
