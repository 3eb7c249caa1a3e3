"""Several processes that sample one run: each leases some work before it begins it (`store.runs.leases`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from distrivote.benchmarks.shard import Shard
from distrivote.rounds import BLOCK, Todo, in_blocks
from distrivote.store.runs.leases import Leases
from distrivote.store.runs.writer import RunWriter

POLL = 2.0
"""Seconds between two checks of what other processes have stored."""

_ALL = "all questions"


class Sharing:
    """The work of a run that this process takes. With `whole`, a question is not divided."""

    def __init__(self, leases: Leases, writer: RunWriter, *, whole: bool) -> None:
        self._leases, self._writer, self._whole = leases, writer, whole
        self._left: set[str] = set()

    @property
    def left(self) -> bool:
        """Whether some work was left to other processes since the last `rest`."""
        return bool(self._left)

    def take(self, item: Todo) -> bool:
        """Lease the work if no other process has it, and if nothing of it was stored meanwhile."""
        name = f"{item.problem.id}\n{'' if self._whole else item.samples[0] // BLOCK}"
        if name in self._left or not self._leases.take(name):
            self._left.add(name)
            return False
        self._writer.look()
        if any(self._writer.has(item.problem.id, sample) for sample in item.samples):
            # What is missing of it has to be determined again.
            self._leases.give_back(name)
            self._left.add(name)
            return False
        return True

    def take_all(self, tell: Callable[[], None], shard: Shard = Shard()) -> None:  # noqa: B008
        """Lease a share of the run as soon as no other process has it; `tell` is called if that takes time.

        Processes that lease single blocks do not see this lease.
        """
        while not self._leases.take(_ALL if shard == Shard() else f"{_ALL}\n{shard}"):
            tell()
            time.sleep(POLL)
        self._writer.look()

    def rest(self, lacking: Callable[[], Sequence[Todo]], tell: Callable[[], None]) -> Sequence[Todo]:
        """Return what is missing as soon as some of it can be taken; nothing if others have done it all."""
        self._writer.flush()
        while True:
            self._writer.look()
            self._left.clear()
            work = lacking()
            blocks = work if self._whole else in_blocks(work)
            if not work or any(self.take(item) for item in blocks):
                self._left.clear()
                return work
            tell()
            time.sleep(POLL)
