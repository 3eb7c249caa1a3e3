"""What the workers of a cluster report while they work, and how they are told to end.

Each worker has a `Reporter`, whose thread tells the one `Collector` of the run about once a second what is
new. The driver asks the collector. Neither knows Ray: the collector runs as an actor, and the reporter is
given a function that reaches it. A report that is lost is made up for when the piece of work ends.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from distrivote.engines.base import Progress
from distrivote.generation.result import Stored

SECONDS = 1.0
"""Between two reports."""

_N_SILENT = 15
"""Questions of the driver after which a worker that said nothing is taken for dead."""


class Report(NamedTuple):
    """What a worker has to say."""

    worker: str
    progress: Progress
    n_pieces: int
    """Pieces of work that it has not finished."""

    ks: frozenset[int]
    """The numbers of log-probabilities behind its confidences: one, or none yet."""

    notes: tuple[str, ...] = ()
    stored: tuple[Stored, ...] = ()


class Told(NamedTuple):
    """What all workers have said: sums, and what is new since the last time."""

    progress: Progress
    n_pieces: int
    """Unfinished pieces of workers that are alive."""

    ks: frozenset[int]
    notes: tuple[str, ...]
    stored: tuple[Stored, ...]


class Collector:
    """Hears the workers and tells the driver."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[Report, int]] = {}
        self._notes: dict[str, None] = {}
        self._stored: list[Stored] = []
        self._n_asked = 0
        self._is_over = False

    def hear(self, report: Report) -> bool:
        """Take a report, and return whether the worker is to end."""
        self._latest[report.worker] = report._replace(notes=(), stored=()), self._n_asked
        self._notes |= dict.fromkeys(report.notes)
        self._stored += report.stored
        return self._is_over

    def tell(self, is_over: bool) -> Told:
        """Return what was reported, and note whether the workers are to end."""
        self._is_over = is_over
        self._n_asked += 1
        alive = [each for each, heard in self._latest.values() if self._n_asked - heard <= _N_SILENT]
        # What a worker has sampled counts after its end.
        all_progress = [each.progress for each, _ in self._latest.values()]
        stored, self._stored = tuple(self._stored), []
        return Told(
            Progress(
                sum(each.n_tokens for each in all_progress),
                sum(each.progress.n_live for each in alive),
                sum(each.n_reflections for each in all_progress),
            ),
            sum(each.n_pieces for each in alive),
            frozenset().union(*(each.ks for each, _ in self._latest.values())),
            tuple(self._notes),
            stored,
        )


class StoppedError(Exception):
    """The worker is to end."""


class Reporter:
    """Tells a collector what is new, from a thread of its own; lost connections are tried again."""

    def __init__(self, hear: Callable[[Report], bool], seconds: float = SECONDS) -> None:
        self.is_over = False
        self.ks: Callable[[], frozenset[int]] = frozenset
        self.whole: Callable[[], Progress] | None = None
        """The progress of the engine, where the pieces do not tell their own."""

        self._worker = secrets.token_hex(6)
        self._hear, self._seconds = hear, seconds
        self._pieces: dict[int, Progress] = {}
        self._ended = Progress(0, 0, 0)
        self._n_begun = 0
        self._notes: list[str] = []
        self._stored: list[Stored] = []
        self._lock = threading.Lock()
        self._telling = threading.Lock()
        """Held while a report is told: two at once would each take off what only one of them has told."""

        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="reporter")
        self._thread.start()

    def note(self, sentence: str) -> None:
        with self._lock:
            self._notes.append(sentence)

    def add(self, stored: Stored) -> None:
        with self._lock:
            self._stored.append(stored)

    def begin(self) -> int:
        """Return the number of a piece that begins."""
        with self._lock:
            self._n_begun += 1
            self._pieces[self._n_begun] = Progress(0, 0, 0)
            return self._n_begun

    def see(self, piece: int, progress: Progress) -> None:
        """Take the progress of a piece; raise StoppedError if the worker is to end."""
        if self.is_over:
            raise StoppedError
        with self._lock:
            self._pieces[piece] = progress

    def end(self, piece: int) -> None:
        with self._lock:
            self._ended = _sum(self._ended, self._pieces.pop(piece)._replace(n_live=0))

    def report(self) -> None:
        """Tell what is new now; what can't be told is told next time."""
        with self._telling:
            self._report()

    def _report(self) -> None:
        with self._lock:
            progress = _sum(self._ended, *self._pieces.values()) if self.whole is None else self.whole()
            n_notes, n_stored = len(self._notes), len(self._stored)
            report = Report(
                self._worker,
                Progress(*progress[:3]),
                len(self._pieces),
                self.ks(),
                tuple(self._notes),
                tuple(self._stored),
            )
        with suppress(Exception):  # the collector's process or node may be gone for a moment
            self.is_over = self._hear(report) or self.is_over
            with self._lock:
                del self._notes[:n_notes], self._stored[:n_stored]

    def close(self) -> None:
        """End the thread, with a last report."""
        self._closing.set()
        self._thread.join()
        self.report()

    def _run(self) -> None:
        while not self._closing.wait(self._seconds):
            self.report()


def _sum(*all_progress: Progress) -> Progress:
    return Progress(
        sum(each.n_tokens for each in all_progress),
        sum(each.n_live for each in all_progress),
        sum(each.n_reflections for each in all_progress),
    )
