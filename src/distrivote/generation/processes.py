"""A run that is sampled from servers by several client processes, with one writer.

One process reads as many streams as one processor allows, and fast servers give more. So the streams are
spread over processes that each have an engine and an event loop; what they sample goes to the process that
writes the run. It also assigns the work: each process asks before it begins some, so none is idle while
another has a queue.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from distrivote.defaults import N_PARALLEL
from distrivote.engines.base import Progress, SamplingParams
from distrivote.engines.choice import EngineChoice, open_engine
from distrivote.errors import EngineError, InputError
from distrivote.generation.result import Stored
from distrivote.generation.sampling import generate, stored_of
from distrivote.rounds import BLOCK, Todo
from distrivote.steering import Controller
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.writer import RunWriter

_ROW, _STORED, _TAKE, _PROGRESS, _NOTE, _END = "row", "stored", "take", "progress", "note", "end"


@dataclass(frozen=True, slots=True)
class ClientWork:
    """What every client process needs to know."""

    choice: EngineChoice
    run: str
    manifest: Manifest
    params: SamplingParams
    controller: Controller | None
    stop_when: str | None


def check_processes(n: int, choice: EngineChoice | None) -> None:
    """Raise InputError unless an engine can be used by this number of processes."""
    if n < 1:
        raise InputError(f"processes is {n}", hint="give 1 or more", argument="processes")
    if n > 1 and (choice is None or choice.engine != "openai"):
        raise InputError(
            "several processes share the work of reading from servers, and this engine has none",
            hint="leave out `processes`, or give an EngineChoice with `base_urls`",
            argument="processes",
        )


def generate_in_processes(
    work: ClientWork,
    n: int,
    items: Sequence[Todo],
    writer: RunWriter,
    take: Callable[[Todo], bool],
    *,
    whole: bool,
    watch: Callable[[Progress], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
) -> Generator[Stored]:
    """Sample by n processes and yield what was given to the writer; `take` is as in `generate`.

    With `whole` a question is not divided between processes.

    Closing the iterator ends the processes: what has finished is stored.
    """
    given: dict[str, Any] = {"n_parallel": N_PARALLEL, **work.choice.options}
    limits: dict[str, Any] = {
        name: -(-int(given[name]) // n) for name in ("n_parallel", "n_per_server") if name in given
    }
    choice = replace(work.choice, options={**work.choice.options, **limits})
    context = multiprocessing.get_context("spawn")
    clients: dict[Any, BaseProcess] = {}
    try:
        for _ in range(n):
            here, there = context.Pipe()
            process: BaseProcess = context.Process(
                target=_client, args=(there, replace(work, choice=choice), tuple(items)), daemon=True
            )
            process.start()
            there.close()
            clients[here] = process
        yield from _Conductor(clients, items, writer, take, watch, note, whole).run()
    finally:
        for link, client in clients.items():
            client.terminate()
            link.close()
        for client in clients.values():
            client.join()


class _Conductor:
    """Listens to the client processes, stores what they send, and gives each its work."""

    def __init__(
        self,
        clients: dict[Any, BaseProcess],
        items: Sequence[Todo],
        writer: RunWriter,
        take: Callable[[Todo], bool],
        watch: Callable[[Progress], None],
        note: Callable[[str], None],
        whole: bool,
    ) -> None:
        self._clients, self._writer, self._take = clients, writer, take
        self._watch, self._note, self._whole = watch, note, whole
        self._problems = {item.problem.id: item.problem for item in items}
        self._owners: dict[tuple[str, int], Any] = {}
        self._progress: dict[Any, Progress] = {}
        self._notes: set[str] = set()

    def run(self) -> Generator[Stored]:
        open_links = set(self._clients)
        failure: BaseException | None = None
        while open_links:
            for link in wait(list(open_links)):
                assert isinstance(link, Connection)
                try:
                    kind, value = link.recv()
                except (EOFError, OSError):
                    kind, value = _END, EngineError("a client process was killed: what was stored is safe")
                if kind == _STORED:
                    yield value
                elif kind == _END:
                    open_links.discard(link)
                    failure = failure or value
                else:
                    self._hear(link, kind, value)
        if failure is not None:
            raise failure

    def _hear(self, link: Connection, kind: str, value: Any) -> None:
        if kind == _ROW:
            if not self._writer.has(value.question_id, value.sample):
                self._writer.add(value)
        elif kind == _TAKE:
            with suppress(OSError):  # it was killed meanwhile
                link.send(self._is_for(link, *value))
        elif kind == _PROGRESS:
            self._progress[link] = value
            told = self._progress.values()
            self._watch(
                Progress(
                    sum(each.n_tokens for each in told),
                    sum(each.n_live for each in told),
                    sum(each.n_reflections for each in told),
                )
            )
        elif value not in self._notes:
            self._notes.add(value)
            self._note(value)

    def _is_for(self, link: Connection, question_id: str, samples: tuple[int, ...]) -> bool:
        key = (question_id, 0 if self._whole else samples[0] // BLOCK)
        if key not in self._owners and self._take(Todo(self._problems[question_id], samples)):
            self._owners[key] = link
        return self._owners.get(key) is link


class _Link:
    """The writer as a client process sees it."""

    def __init__(self, link: Connection, work: ClientWork) -> None:
        self.path, self.manifest = work.run, work.manifest
        self._link = link
        self._sending, self._asking = threading.Lock(), threading.Lock()

    def send(self, kind: str, value: Any) -> None:
        with self._sending:
            self._link.send((kind, value))

    def take(self, item: Todo) -> bool:
        with self._asking:
            self.send(_TAKE, (item.problem.id, item.samples))
            return bool(self._link.recv())

    def has(self, question_id: str, sample: int) -> bool:  # noqa: ARG002
        return False  # the process that writes knows

    def add(self, row: Row) -> None:
        self.send(_ROW, row)

    def flush(self) -> None:
        """Do nothing: the process that writes does it."""


def _client(link: Connection, work: ClientWork, items: Sequence[Todo]) -> None:
    """Sample as one of several processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that writes ends this one
    writer = _Link(link, work)
    failure: BaseException | None = None
    try:
        with open_engine(work.choice, note=lambda text: writer.send(_NOTE, text)) as engine:
            for made in generate(
                *(engine, items, writer, work.params, work.controller),
                stop_when=work.stop_when,
                watch=lambda progress: writer.send(_PROGRESS, Progress(*progress[:3])),
                take=writer.take,
            ):
                writer.send(_STORED, stored_of(made))
    except (BrokenPipeError, ConnectionError, EOFError):
        return  # the process that writes is gone
    except Exception as error:
        failure = error
    with suppress(OSError):
        writer.send(_END, failure)
