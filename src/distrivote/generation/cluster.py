"""A run over a benchmark on a Ray cluster: one store, written by many workers.

Ray Data does the scheduling: actors with an engine each process batches of questions, are started and stopped
as needed, and a batch whose actor died is retried on another. Every actor adds to the same run, so its folder
must be in an object store, or on a file system that all machines share. What is stored already is not sampled
again.
"""

from __future__ import annotations

import logging
import pickle
import socket
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from distrivote.engines.base import SamplingParams
from distrivote.engines.choice import EngineChoice, open_engine
from distrivote.errors import DistrivoteError, EngineError, InputError, MissingPackageError
from distrivote.generation.sampling import Todo, generate
from distrivote.steering import Controller
from distrivote.store.runs.folder import is_remote
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep
from distrivote.store.runs.writer import RunWriter

LOCAL = "local"
"""The address of a cluster that is started on this machine and ends with the program."""

N_TRAJECTORIES = 64
"""Trajectories of one question that go to an actor together."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where the workers run, and the resources of each."""

    address: str = LOCAL
    n_workers: int = 1
    n_cpus: float = 1.0
    """Per worker. On a small machine use a fraction, since Ray's own readers need some too."""

    n_gpus: float = 0.0
    batch_size: int = 4
    """Questions, or parts of them with 64 trajectories, that a worker samples at the same time."""

    def __post_init__(self) -> None:
        for name in ("n_workers", "n_cpus", "batch_size"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} is {getattr(self, name)}: give a number above 0")
        if self.n_gpus < 0:
            raise InputError(f"n_gpus is {self.n_gpus}: give 0 or more")


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


class Stored(NamedTuple):
    """One trajectory that a worker has stored."""

    question_id: str
    n_tokens: int
    n_reflections: int
    correct: bool | None


class Worker:
    """An actor: an engine and a writer, created once, which process one batch after the other."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._notes: list[str] = []
        self._engine = open_engine(work.choice, note=self._notes.append)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        work = self._work
        stored: list[Stored] = []
        # Opened again for each batch: an actor that died may have begun it.
        with RunWriter(work.run, work.manifest, keep=work.keep) as writer:
            done = writer.done()
            given = [_lacking(pickle.loads(item), done) for item in batch["todo"]]
            items = [item for item in given if item.samples]
            for made in generate(
                self._engine, items, writer, work.params, work.controller, stop_when=work.stop_when
            ):
                record = made.trajectory.interventions
                n_reflections = 0 if record is None else record.n_reflections
                stored.append(Stored(made.problem.id, made.trajectory.n_tokens, n_reflections, made.correct))
        columns = {name: [getattr(each, name) for each in stored] for name in Stored._fields}
        return columns | {"notes": ["\n".join(self._notes)] * len(stored)}


def _lacking(item: Todo, done: set[tuple[str, int]]) -> Todo:
    return item._replace(samples=tuple(i for i in item.samples if (item.problem.id, i) not in done))


def generate_on_ray(
    work: Work, items: Sequence[Todo], cluster: Cluster, note: Callable[[str], None] = lambda _: None
) -> Generator[Stored]:
    """Sample the missing trajectories on a cluster and yield what was stored, batch by batch.

    `note` is called with what the user should know of the workers' engines, each sentence once.
    Closing the iterator stops it: what is stored stays, and the same call continues from there.
    """
    ray = _connected(cluster.address)
    if not is_remote(work.run):
        work = replace(work, run=str(Path(work.run).resolve()))
    parts = [
        {"todo": pickle.dumps(item._replace(samples=item.samples[start : start + N_TRAJECTORIES]))}
        for item in items
        for start in range(0, len(item.samples), N_TRAJECTORIES)
    ]
    # At least two batches for each worker, so that all of them are busy.
    batch_size = max(1, min(cluster.batch_size, len(parts) // (2 * cluster.n_workers)))
    said: set[str] = set()
    try:
        done = ray.data.from_items(parts, override_num_blocks=-(-len(parts) // batch_size)).map_batches(
            Worker,
            fn_constructor_args=(work,),
            batch_size=batch_size,
            batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=cluster.n_workers),
            num_cpus=cluster.n_cpus,
            num_gpus=cluster.n_gpus,
        )
        for row in done.iter_rows():
            for sentence in row["notes"].splitlines():
                if sentence not in said:
                    said.add(sentence)
                    note(sentence)
            yield Stored(**{name: row[name] for name in Stored._fields})
    except ray.exceptions.RayError as error:
        raise _cause(error) from error
    finally:
        if cluster.address == LOCAL:
            ray.shutdown()


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
