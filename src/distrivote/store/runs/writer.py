"""Adding trajectories to a run.

What `flush` has written survives a kill of the process. Rows are flushed automatically when there are many,
or when the oldest has waited a hundred times as long as a flush takes: about a second, and five at most. A
writer merges its own small parts, so that a run of days does not end with many thousand files.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

import pyarrow as pa

from distrivote.errors import InputError
from distrivote.store.columns import QUESTION_ID, SAMPLE
from distrivote.store.runs.claims import FOLDER as CLAIMS
from distrivote.store.runs.claims import Order, read_claims
from distrivote.store.runs.folder import MANIFEST, Folder, Place, folder_at, reason
from distrivote.store.runs.leases import FOLDER as LEASES
from distrivote.store.runs.listing import aside_notes, repaired
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.parts import FOLDER, Damage, Part, checked, read_part, replace_parts, write_part
from distrivote.store.runs.rows import Keep, Row, table_of
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA

MAX_ROWS = 256
MAX_WAIT = 5.0
MIN_WAIT = 0.1
"""In seconds."""

WAIT_PER_FLUSH = 100
"""The wait as a multiple of the time of a flush, so that storing takes at most about 1% of the time."""

MAX_CHARACTERS = 64_000_000
N_MERGED = 32
_N_LOOKS = 5
_OURS = (FOLDER, CLAIMS, LEASES)
SMALL_PART = 1 << 20
"""In bytes."""


class RunWriter:
    """Adds trajectories to a run, which it creates if there is none; several writers may share one run.

    Damaged parts are set aside, and their trajectories count as not done. With `max_wait` None no rows are
    flushed because of waiting.
    """

    def __init__(
        self,
        path: Place,
        manifest: Manifest,
        *,
        keep: Keep = Keep(),  # noqa: B008
        max_rows: int = MAX_ROWS,
        max_wait: float | None = MAX_WAIT,
    ) -> None:
        self._folder, self.keep = folder_at(path), keep
        self.path = self._folder.address
        self.manifest = _entered(self._folder, manifest)
        listing = repaired(self._folder)
        self.notes = aside_notes(listing)
        self._there = {part.name for part in listing.parts}
        self._seen = 0  # the last claim that was read
        self._done = Run(self._folder, self.manifest, listing).done()
        self._max_rows, self._max_wait = max_rows, max_wait
        self._wait = MIN_WAIT
        self._writer, self._number = secrets.token_hex(6), 0
        self._rows: dict[
            tuple[str, int], Row
        ] = {}  # one operation per row, so that an interrupt can't split a row
        self._n_characters = 0
        self._small: list[Part] = []
        self._added: dict[tuple[str, int], Order] = {}
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._failure: InputError | None = None

    def done(self) -> set[tuple[str, int]]:
        """Return the question and number of every trajectory that was stored or has been added."""
        with self._lock:
            return self._done | self._rows.keys()

    def has(self, question_id: str, sample: int) -> bool:
        """Return whether a trajectory is known to be stored, or has been added."""
        with self._lock:
            return (question_id, sample) in self._done or (question_id, sample) in self._rows

    @property
    def n_added(self) -> int:
        """How many trajectories were added here."""
        with self._lock:
            return len(self._added) + len(self._rows)

    def look(self) -> None:
        """Read which trajectories other writers have stored since: they count as done."""
        with self._lock:
            for _ in range(_N_LOOKS):
                try:
                    self._look()
                    return
                except (Damage, FileNotFoundError, ValueError):  # it is being merged
                    continue

    def _look(self) -> None:
        for name, order in (read_claims(self._folder, self._seen) or {}).items():
            if name not in self._there and not name.startswith(f"part-{self._writer}-"):
                table = read_part(checked(self._folder, name, whole=False), (QUESTION_ID, SAMPLE))
                self._done |= set(zip(table[QUESTION_ID].to_pylist(), table[SAMPLE].to_pylist(), strict=True))
            self._seen = order.number

    def add(self, row: Row) -> None:
        """Add a trajectory; it is stored by the next flush."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            name = (row.question_id, row.sample)
            if name in self._done or name in self._rows:
                raise InputError(
                    f"{self.path} has sample {row.sample} of question {row.question_id!r} already: give"
                    " every question its own id, and skip what is done"
                )
            self._rows[name] = row
            self._n_characters += len(row.text or "")
            if len(self._rows) >= self._max_rows or self._n_characters >= MAX_CHARACTERS:
                self.flush()
            elif self._timer is None and self._max_wait is not None:
                self._timer = threading.Timer(min(self._wait, self._max_wait), self._flush_late)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write the added rows; raise InputError if they can't be written, and then keep them."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if not self._rows:
                return
            begun = time.perf_counter()
            part = self._write(table_of(list(self._rows.values()), self.keep))
            assert part.order is not None
            self._added.update(dict.fromkeys(self._rows, part.order))
            taken = time.perf_counter() - begun
            self._wait = max(WAIT_PER_FLUSH * taken, MIN_WAIT)
            self._done |= self._rows.keys()
            self._rows, self._n_characters, self._failure = {}, 0, None
            if part.n_bytes < SMALL_PART:
                self._small.append(part)
            if len(self._small) >= N_MERGED:
                self._merge()

    def n_doubled(self) -> int:
        """Flush, and return how many of the rows that were added another writer had stored before."""
        with self._lock:
            self.flush()
            if not self._added:
                return 0
            for _ in range(_N_LOOKS):
                try:
                    others = self._others(max(self._added.values()))
                except (Damage, FileNotFoundError, ValueError):  # it is being merged
                    continue
                return sum(key in others and others[key] < order for key, order in self._added.items())
            return 0

    def close(self) -> None:
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush_late(self) -> None:
        try:
            self.flush()
        except InputError as error:
            # An exception in this thread would be lost: the next call raises it.
            self._failure = error

    def _write(self, table: pa.Table, merged: Sequence[Part] = ()) -> Part:
        part = write_part(self._folder, self._writer, self._number, table, merged)
        self._number += 1
        return part

    def _merge(self) -> None:
        parts, self._small = self._small, []
        try:
            others = self._others(max(part.order for part in parts if part.order is not None))
            tables = [self._first(part, others) for part in parts]
        except (Damage, FileNotFoundError, ValueError):
            # The run was compacted, or a part is damaged: the next process that opens it handles that.
            return
        self._write(pa.concat_tables(tables).cast(SCHEMA), parts)
        replace_parts(parts)

    def _first(self, part: Part, others: Mapping[tuple[str, int], Order]) -> pa.Table:
        """Return the rows of a part that count: a merged part is earlier than some of its sources were."""
        table = read_part(part, SCHEMA.names)
        keys = zip(table[QUESTION_ID].to_pylist(), table[SAMPLE].to_pylist(), strict=True)
        assert part.order is not None
        counts = [not (key in others and others[key] < part.order) for key in keys]
        return table if all(counts) else table.filter(pa.array(counts))

    def _others(self, last: Order) -> dict[tuple[str, int], Order]:
        """Return the samples that other writers have since stored before a position, with their positions."""
        claims = read_claims(self._folder) or {}
        found: dict[tuple[str, int], Order] = {}
        for name, claimed in claims.items():
            if name in self._there or name.startswith(f"part-{self._writer}-"):
                continue
            part = checked(self._folder, name, whole=False)
            order = part.order or claimed
            if order < last:
                table = read_part(part, (QUESTION_ID, SAMPLE))
                for key in zip(table[QUESTION_ID].to_pylist(), table[SAMPLE].to_pylist(), strict=True):
                    found[key] = min(order, found.get(key, order))
        return found


def _entered(run: Folder, asked: Manifest) -> Manifest:
    """Return the manifest of the run to continue, created or extended as needed."""
    try:
        try:
            was = Manifest.load(run)
        except FileNotFoundError:
            run.make(FOLDER)
            strange = [
                *(name for name in run.names() if not name.startswith(".") and name != MANIFEST),
                *(name for name in run.folders() if not name.startswith(".") and name not in _OURS),
            ]
            if strange or any(name.endswith(".parquet") for name in run.names(FOLDER)):
                raise InputError(
                    f"{run.address} holds other files and no manifest.json: name a new folder for the run"
                ) from None
            # Before the first part: without this folder the run would look like an incomplete copy.
            run.make(CLAIMS)
            if asked.create(run):
                return asked
            was = Manifest.load(run)
        grown = was.going_on(asked, run.address)
        if grown != was:
            grown.save(run)
        run.make(FOLDER)
        return grown
    except OSError as error:
        raise InputError(
            f"can't write to {run.address} ({reason(error)}): check the folder and its space"
        ) from error
