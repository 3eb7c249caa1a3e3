"""Leases: which process samples what, if several work on one run.

    leases/<work>.<turn>     the process that has the work; the highest turn counts
    leases/alive-<process>   the heartbeat: changes every few seconds while the process runs

A lease is a file that only one process can create. A process that is done, or interrupted, removes its own.
One that was killed leaves them: another process takes over with the next turn, which again only one can
create. On the same Linux machine a killed process is known at once, by its number and start. Elsewhere it
counts as dead if its heartbeat has not changed for `EXPIRY` seconds by the clock of the process that
watches it, so clocks of different machines are never compared. A process that is wrongly taken for dead,
because it was suspended, continues: then trajectories are sampled twice, and the first that is stored counts.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from distrivote.errors import InputError
from distrivote.store.runs.folder import Place, cant_write, folder_at

FOLDER = "leases"
BEAT = 5.0
"""Seconds between two heartbeats."""

EXPIRY = 60.0
"""Seconds without a change after which a process counts as dead."""

_ALIVE = "alive-"


class _Sign(NamedTuple):
    """A heartbeat, with the time at which it was first seen."""

    content: bytes
    seen: float


class Leases:
    """The work that this process has leased in a run; `close`, or the end of `with`, returns all of it."""

    def __init__(self, run: Place, *, beat: float = BEAT, expiry: float = EXPIRY) -> None:
        self._run = folder_at(run)
        self._beat, self._expiry = beat, expiry
        address = self._run.address
        self._where = os.path.realpath(address) if self._run.is_near else address
        self._process = secrets.token_hex(8)
        self._held: dict[str, int] = {}
        self._signs: dict[str, _Sign] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._beating: threading.Thread | None = None

    def take(self, work: str) -> bool:
        """Lease work, named by any text, and return whether this process has it now."""
        key = hashlib.blake2b(work.encode(), digest_size=12).hexdigest()
        with self._lock:
            if key in self._held:
                return True
            try:
                self._begin()
                turns = self._turns(key)
                turn = max(turns, default=0)
                if turn and self._is_alive(self._read(f"{key}.{turn}").decode(errors="replace")):
                    return False
                if not self._run.create(f"{FOLDER}/{key}.{turn + 1}", self._process.encode(), safe=False):
                    return False
            except OSError as error:
                raise cant_write(self._run, FOLDER, error) from error
            self._held[key] = turn + 1
            return True

    def give_back(self, work: str) -> None:
        """Return work, so that any process may take it."""
        key = hashlib.blake2b(work.encode(), digest_size=12).hexdigest()
        with self._lock:
            self._remove(key, self._held.pop(key, 0))

    def close(self) -> None:
        with self._lock:
            self._closing.set()
            for key, turn in self._held.items():
                self._remove(key, turn)
            self._held.clear()
            if self._beating is not None:
                self._run.remove([self._sign])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _sign(self) -> str:
        return f"{FOLDER}/{_ALIVE}{self._process}"

    def _turns(self, key: str) -> list[int]:
        names = self._run.names(FOLDER)
        found = (name.removeprefix(f"{key}.") for name in names if name.startswith(f"{key}."))
        return [int(turn) for turn in found if turn.isascii() and turn.isdecimal() and len(turn) < 10]

    def _remove(self, key: str, turn: int) -> None:
        with suppress(OSError, InputError):  # it expires
            turns = [each for each in self._turns(key) if each <= turn]
            self._run.remove(f"{FOLDER}/{key}.{each}" for each in sorted(turns))

    def _read(self, name: str) -> bytes:
        try:
            with self._run.open(f"{FOLDER}/{name}") as file:
                return file.read(1000)
        except FileNotFoundError:
            return b""

    def _begin(self) -> None:
        """Write the first heartbeat, before the first lease, and continue in a thread."""
        if self._beating is None:
            self._run.make(FOLDER)
            self._run.write(self._sign, self._life(0))
            self._beating = threading.Thread(target=self._live, daemon=True, name="leases")
            self._beating.start()

    def _life(self, n: int) -> bytes:
        return f"{n}\n{_place_of(os.getpid())}\n{self._where}".encode(errors="replace")

    def _live(self) -> None:
        n = 0
        while not self._closing.wait(self._beat):
            n += 1
            with self._lock, suppress(OSError, InputError):  # the next may succeed
                if not self._closing.is_set():
                    self._run.write(self._sign, self._life(n))

    def _is_alive(self, process: str) -> bool:
        """Return whether a process is alive by its heartbeat; one without a heartbeat is dead."""
        if not process.isalnum():
            return False
        now = self._read(f"{_ALIVE}{process}")
        if not now:
            return False
        _, place, where = (*now.decode(errors="replace").split("\n", 2), "", "", "")[:3]
        ours, theirs = _place_of(os.getpid()).split(), place.split()
        # In a copy of the run, the process may be running but does not work on the copy.
        is_here = len(theirs) == 4 and theirs[:2] == ours[:2] and where == self._where
        if is_here and theirs[2].isascii() and theirs[2].isdecimal():
            return place == _place_of(int(theirs[2]))
        sign = self._signs.get(process)
        if sign is None or sign.content != now:
            self._signs[process] = sign = _Sign(now, time.monotonic())
        return time.monotonic() - sign.seen < self._expiry


def _place_of(number: int) -> str:
    """Return machine, namespace, number and start time of a process; empty if it has ended or is unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        state, *fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        if state in "ZX":
            return ""
        return f"{boot} {os.readlink('/proc/self/ns/pid')} {number} {fields[18]}"
    except (OSError, IndexError):
        return ""
