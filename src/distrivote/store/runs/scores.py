"""Columns that were added to a run afterwards: one number per trajectory, by a scorer.

    scores/<name>/scorer.json     what made the numbers, with a checksum
    scores/<name>/parts, claims   as those of a run, but with the columns of `SCHEMA`

The parts of the run itself never change. Of two scores for one sample the later counts: it was made because
the earlier was made of another text. Readers of earlier versions do not look into this folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.confidence import LENGTH
from distrivote.errors import InputError
from distrivote.store.columns import QUESTION_ID, SAMPLE
from distrivote.store.runs import schema as run_schema
from distrivote.store.runs.folder import Folder
from distrivote.store.runs.listing import Listing, damage_notes, list_parts, repaired
from distrivote.store.runs.parts import first_of_each, read_part, replace_parts, write_part
from distrivote.store.runs.scorer_record import NAME as RECORD
from distrivote.store.runs.scorer_record import ScorerRecord

FOLDER = "scores"
SCORE, KEY = "score", "key"
SCHEMA = pa.schema(
    [
        pa.field(QUESTION_ID, pa.string(), nullable=False),
        pa.field(SAMPLE, pa.int32(), nullable=False),
        pa.field(SCORE, pa.float64()),
        pa.field(KEY, pa.binary(16)),
    ]
)
"""`score` is null if the scorer had none; `key` is a digest of what it read."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_RESERVED = {*run_schema.SCHEMA.names, *run_schema.MEASURES, LENGTH, "auto", "stated", "model"}


def check_name(name: str) -> str:
    """Return the name of a new column; raise InputError if it can't be one."""
    if name in _RESERVED:
        raise InputError(f"a run has {name!r} already", hint="give another `name`", argument="name")
    if not _NAME.fullmatch(name):
        raise InputError(
            f"the name is {name[:80]!r}",
            hint="give a `name` of letters, digits, - and _, such as reward",
            argument="name",
        )
    return name


def score_names(run: Folder) -> tuple[str, ...]:
    """Return the names of the columns that were added to a run, sorted."""
    try:
        found = run.within(FOLDER).folders()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(name for name in found if is_scored(run, name))


def is_scored(run: Folder, name: str) -> bool:
    """Return whether a run has such an added column."""
    return _NAME.fullmatch(name) is not None and column_folder(run, name).has(RECORD)


def column_folder(run: Folder, name: str) -> Folder:
    return run.within(f"{FOLDER}/{name}")


class ScoreColumn:
    """An added column of a run, as it was when it was opened."""

    def __init__(self, run: Folder, name: str, *, partial: bool = False) -> None:
        self.name, self._folder = name, column_folder(run, name)
        self.record = ScorerRecord.load(self._folder)
        self._listing = list_parts(self._folder)
        self._unread: dict[str, str] = {}
        if self._listing.missing and not partial:
            raise InputError(
                f"{self._folder.address} lacks {self._listing.missing[0]}, so it was not copied whole, or"
                " files were deleted",
                hint="copy it again, make the missing scores with distrivote score, or take what is there"
                " with `partial=True`",
                argument="partial",
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats about the column, a sentence each."""
        return score_notes(self.name, self._listing, self._unread)

    def table(self, question_id: str | None = None) -> pa.Table:
        """Return the scores that count, by question and sample, with the columns of `SCHEMA`."""
        while True:
            try:
                return self._read(question_id)
            except FileNotFoundError:  # a part has been merged since
                self._listing = list_parts(self._folder)

    def _read(self, question_id: str | None) -> pa.Table:
        tables = [SCHEMA.empty_table()]
        for part in reversed(self._listing.parts):
            try:
                tables.append(read_part(part, SCHEMA.names, question_id, schema=SCHEMA))
            except InputError:
                raise
            except ValueError as error:
                self._unread[part.name] = f"it can't be read: {error}"
        return latest(pa.concat_tables(tables, promote_options="permissive"))


def latest(table: pa.Table) -> pa.Table:
    """Return the first row of each sample, sorted; the rows are given latest first."""
    return table.take(pa.array(first_of_each(table)))


def score_notes(name: str, listing: Listing, unread: dict[str, str]) -> tuple[str, ...]:
    damaged = damage_notes(listing.damaged | unread, "its scores do not count")
    gone = tuple(f"{part} is missing: its scores do not count" for part in listing.missing)
    return tuple(f"{FOLDER}/{name}: {note}" for note in damaged + gone)


def scores_of(table: pa.Table, scores: pa.Table) -> pa.Array:
    """Return the score of each row of a table of the run, null where there is none.

    >>> keys = {"question_id": ["a", "b"], "sample": pa.array([1, 0], pa.int32())}
    >>> scores = {"question_id": ["b", "c"], "sample": pa.array([0, 0], pa.int32()), "score": [0.5, 2.0]}
    >>> scores_of(pa.table(keys), pa.table(scores)).to_pylist()
    [None, 0.5]
    """
    ids = pa.chunked_array([*scores[QUESTION_ID].chunks, *table[QUESTION_ID].chunks], pa.string())
    codes = ids.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    samples = np.concatenate([scores[SAMPLE].to_numpy(), table[SAMPLE].to_numpy()]).astype(np.int64)
    keys = codes << 32 | samples
    known, wanted = keys[: len(scores)], keys[len(scores) :]
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known[order], wanted)
    at[at == len(known)] = 0
    found = known[order][at] == wanted if len(known) else np.zeros(len(wanted), dtype=bool)
    places = pa.array(order[at] if len(known) else np.zeros(len(wanted), dtype=np.int64), mask=~found)
    return scores[SCORE].combine_chunks().take(places)


def compact_scores(run: Folder, token: Callable[[], str]) -> tuple[str, ...]:
    """Merge the parts of every added column into one, and return notes about damaged parts."""
    notes: list[str] = []
    for name in score_names(run):
        folder = column_folder(run, name)
        listing = repaired(folder)
        notes += score_notes(name, listing, {})
        if len(listing.parts) > 1:
            tables = [read_part(part, SCHEMA.names, schema=SCHEMA) for part in reversed(listing.parts)]
            table = latest(pa.concat_tables(tables)).cast(SCHEMA)
            write_part(folder, token(), 0, table, listing.parts)
            replace_parts(listing.parts)
    return tuple(notes)


def copy_scores(run: Folder, target: Folder, token: Callable[[], str]) -> tuple[str, ...]:
    """Copy the added columns of a run into another folder with the same samples, and return their names."""
    names = score_names(run)
    for name in names:
        column, folder = ScoreColumn(run, name, partial=True), column_folder(target, name)
        folder.make("parts")
        folder.make("claims")
        column.record.create(folder)
        write_part(folder, token(), 0, column.table().cast(SCHEMA))
    return names


def known_scores(column: pa.Table) -> pa.Table:
    """Return the rows that have a score."""
    return column.filter(pc.is_valid(column[SCORE]))
