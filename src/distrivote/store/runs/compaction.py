"""Merging the parts of a run into few, with the classes of all answers filled in.

A merged part is in place before its sources are removed, and names them, so that a kill in between neither
loses nor duplicates anything.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from distrivote.answers.equality import Same
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError
from distrivote.store.runs.classes import NEEDED, Grading, classified, recorded
from distrivote.store.runs.folder import Folder, Place, folder_at
from distrivote.store.runs.listing import aside_notes, check_complete, list_parts, repaired
from distrivote.store.runs.parts import Part, first_of_each, read_part, replace_parts, write_part
from distrivote.store.runs.run import KEYS, manifest_of
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.runs.scores import compact_scores

MAX_PART = 64 << 20
"""In bytes."""

MAX_RAW = 512 << 20
"""In bytes before compression, so that a merge fits into memory."""


class Compaction(NamedTuple):
    """What compacting a run did."""

    n_parts_before: int
    n_parts: int
    n_rows: int
    n_doubled: int
    """How many rows were dropped because an earlier row has the same sample."""

    notes: tuple[str, ...]


def compact(
    path: Place,
    *,
    same: Same | None = None,
    max_bytes: int = MAX_PART,
    partial: bool = False,
) -> Compaction:
    """Merge the parts of a run into few of some `max_bytes` each, and fill in classes and correctness.

    `same` decides from now on when two answers are equal; None keeps the comparison of the run. Classes that
    were made by another comparison, or another version of it, are computed again. With `partial` a run
    that lacks parts is accepted without them from now on.
    """
    run = folder_at(path)
    manifest_of(run)
    check_complete(list_parts(run), run.address, partial=partial)
    while True:
        try:
            return _compacted(run, same, max_bytes)
        except FileNotFoundError:
            # A writer has merged its own parts since: list them again.
            continue
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"a part of {run.address} can't be read ({error}): try again") from error


def _compacted(run: Folder, same: Same | None, max_bytes: int) -> Compaction:
    manifest = manifest_of(run)
    grading = Grading.of(manifest, same)
    listing, writer = repaired(run), secrets.token_hex(6)
    slim = _slim(listing.parts)
    order = first_of_each(slim)
    kept = slim.take(pa.array(order))
    filled, by_question, told = classified(kept, grading)
    if by_question and not grading.again and recorded(manifest) != Remarks():
        # Doubts are stored for all questions together, and some of these were graded again.
        grading = grading._replace(again=True)
        filled, by_question, told = classified(kept, grading)
    remarks = sum(by_question.values(), Remarks() if grading.again else recorded(manifest))
    # If nothing is graded here, the record keeps what did: this machine may not even have it.
    is_new = grading.again or by_question
    graded = grading.recorded_in(manifest, told, remarks) if is_new else manifest
    unchanged = filled.equals(kept)
    if not unchanged and manifest.grader is not None:
        # After a kill at this point a run has classes of both kinds: then none of them is used.
        dataclasses.replace(graded, grader=None).save(run)
    starts = np.concatenate(([0], np.cumsum([part.n_rows for part in listing.parts], dtype=np.int64)))
    groups = list(_groups(listing.parts, max_bytes))
    for first, last in groups:
        group = listing.parts[first:last]
        mine = np.flatnonzero((order >= starts[first]) & (order < starts[last]))
        if len(group) == 1 and len(mine) == group[0].n_rows and unchanged:
            continue
        table = pa.concat_tables([read_part(part, SCHEMA.names) for part in group]).combine_chunks()
        table = table.take(pa.array(order[mine] - starts[first]))
        for name in ("answer_class", "correct"):
            index = table.schema.get_field_index(name)
            table = table.set_column(index, SCHEMA.field(name), filled[name].take(pa.array(mine)))
        write_part(run, writer, first, table.cast(SCHEMA), group)
        replace_parts(group)
    if graded != manifest:
        graded.save(run)
    n_doubled = len(slim) - len(order)
    scored = compact_scores(run, lambda: secrets.token_hex(6))
    notes = (*aside_notes(listing), *grading.notes, *remarks.notes, *scored)
    return Compaction(len(listing.parts), len(groups), len(order), n_doubled, notes)


def _slim(parts: Sequence[Part]) -> pa.Table:
    columns = [*dict.fromkeys((*KEYS, *NEEDED))]
    none = pa.table([pa.array([], SCHEMA.field(name).type) for name in columns], columns)
    return pa.concat_tables([none, *(read_part(part, columns) for part in parts)])


def _groups(parts: Sequence[Part], max_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end indices of each group of consecutive parts that is not too large."""
    first, n_bytes, n_raw = 0, 0, 0
    for index, part in enumerate(parts):
        too_large = n_bytes + part.n_bytes > max_bytes or n_raw + part.n_raw_bytes > MAX_RAW
        if index > first and too_large:
            yield first, index
            first, n_bytes, n_raw = index, 0, 0
        n_bytes += part.n_bytes
        n_raw += part.n_raw_bytes
    if parts:
        yield first, len(parts)
