"""Adding scores to a run: scores that have been flushed survive a kill, and are not computed again."""

from __future__ import annotations

import secrets
import time
from types import TracebackType
from typing import NamedTuple, Self

import pyarrow as pa

from distrivote.errors import InputError
from distrivote.store.columns import QUESTION_ID, SAMPLE
from distrivote.store.runs.folder import Folder, cant_write
from distrivote.store.runs.listing import repaired
from distrivote.store.runs.parts import Part, replace_parts, write_part
from distrivote.store.runs.scorer_record import ScorerRecord
from distrivote.store.runs.scores import (
    FOLDER,
    KEY,
    SCHEMA,
    SCORE,
    ScoreColumn,
    check_name,
    column_folder,
    is_scored,
    latest,
    score_notes,
)

MAX_ROWS = 4096
MAX_WAIT = 1.0
"""Seconds after which the next score is flushed at once."""

N_MERGED = 32
MERGED_ROWS = 1 << 16
"""A merged part with more rows is not merged again."""


class Known(NamedTuple):
    """A stored score."""

    key: bytes
    """The digest of what the scorer read."""

    score: float | None


class ScoreWriter:
    """Adds a column to a run, or resumes it; InputError if another scorer made it."""

    def __init__(self, run: Folder, name: str, record: ScorerRecord) -> None:
        check_name(name)
        self.name, self._folder = name, column_folder(run, name)
        try:
            if not is_scored(run, name):
                self._folder.make("parts")
                self._folder.make("claims")
                record.create(self._folder)
            was = ScorerRecord.load(self._folder)
            if not was.is_same(record):
                raise InputError(
                    f"the column {name!r} of {run.address} was made by another scorer"
                    f" ({_difference(was, record)})",
                    hint="give another `name`",
                    argument="name",
                )
            listing = repaired(self._folder)
        except OSError as error:
            raise cant_write(run, FOLDER, error) from error
        self.notes = score_notes(name, listing, {})
        stored = ScoreColumn(run, name, partial=True).table()
        columns = (stored[each].to_pylist() for each in SCHEMA.names)
        self.known = {(q, s): Known(key, score) for q, s, score, key in zip(*columns, strict=True)}
        """What was stored when it was opened, by question and sample."""

        self._rows: list[tuple[str, int, float | None, bytes]] = []
        self._writer, self._number, self._flushed = secrets.token_hex(6), 0, time.monotonic()
        self._small: list[tuple[Part, pa.Table]] = []

    def add(self, question_id: str, sample: int, key: bytes, score: float | None) -> None:
        """Add a score; it is stored by the next flush."""
        self._rows.append((question_id, sample, score, key))
        if len(self._rows) >= MAX_ROWS or time.monotonic() - self._flushed >= MAX_WAIT:
            self.flush()

    def flush(self) -> None:
        """Write what was added."""
        if self._rows:
            columns = zip(*self._rows, strict=True)
            fields = (SCHEMA.field(name) for name in (QUESTION_ID, SAMPLE, SCORE, KEY))
            arrays = [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)]
            self._write(pa.table(arrays, schema=SCHEMA))
            self._rows = []
        self._flushed = time.monotonic()

    def _write(self, table: pa.Table, merged: tuple[Part, ...] = ()) -> None:
        part = write_part(self._folder, self._writer, self._number, table, merged)
        self._number += 1
        if len(table) < MERGED_ROWS:
            self._small.append((part, table))
        if len(self._small) >= N_MERGED:
            parts, tables = zip(*self._small, strict=True)
            self._small = []
            self._write(latest(pa.concat_tables(reversed(tables))).cast(SCHEMA), parts)
            replace_parts(parts)

    def close(self) -> None:
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _difference(was: ScorerRecord, now: ScorerRecord) -> str:
    if was.scorer != now.scorer:
        return f"{was.scorer}, not {now.scorer}"
    old, new = was.settings, now.settings
    name = next(name for name in {**old, **new} if old.get(name) != new.get(name))
    return f"{name} was {old.get(name)!r}, and is {new.get(name)!r}"
