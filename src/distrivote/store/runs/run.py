"""A run: a directory with a manifest and Parquet parts, read here.

Any number of processes may read and write one run at the same time: parts appear whole and are never
changed. Of two rows for one sample the earlier one counts. Writing is in `writer`, merging in
`compaction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equality import Equality
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError, UnknownNameError
from distrivote.nouns import count
from distrivote.store.columns import ANSWER_CLASS, CORRECT, GROUND_TRUTH, N_TOKENS, QUESTION_ID, SAMPLE
from distrivote.store.natural import natural_key
from distrivote.store.runs.classes import NEEDED, Grading, classified, recorded
from distrivote.store.runs.listing import Listing, damage_notes, list_parts
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.parts import FOLDER, first_of_each, read_part
from distrivote.store.runs.rows import Row, rows_of, trajectory_of
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.runs.sources import SOURCE, SOURCED, mixed_sources, source_notes
from distrivote.store.tables.parquet_sizes import allowance
from distrivote.trajectory import Trajectory

KEYS = (QUESTION_ID, SAMPLE)


class StoredQuestion(NamedTuple):
    """What a run has on one question."""

    id: str
    n_trajectories: int
    n_tokens: int | None
    """As far as they are known; None if no trajectory says."""

    ground_truth: str | None


def known_tokens(questions: Sequence[StoredQuestion]) -> int | None:
    """Return the tokens of questions together, None if no question says."""
    known = [question.n_tokens for question in questions if question.n_tokens is not None]
    return sum(known) if known or not questions else None


class Run:
    """A stored run, as it was when it was opened."""

    def __init__(
        self, path: Path, manifest: Manifest, listing: Listing, same: str | Equality | None = None
    ) -> None:
        self.path, self.manifest = path, manifest
        self.grading = Grading.of(manifest, same)
        self._graded = self._told = False
        self._remarks: dict[str, Remarks] = {}
        self._listing = listing
        self._unread: dict[str, str] = {}
        self._mixed: set[str] = set()

    @classmethod
    def open(cls, path: str | Path, same: str | Equality | None = None) -> Self:
        """Open a run for reading; InputError if there is none.

        `same` says when two answers are one, and what the run says if it is None.
        """
        path = Path(path)
        manifest = manifest_of(path)
        return cls(path, manifest, list_parts(path / FOLDER), same)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a careful reader should know of the run and of what was read, a sentence each."""
        damaged = {path.name: why for path, why in self._listing.damaged.items()} | self._unread
        notes = damage_notes(damaged) + source_notes(self._mixed)
        return notes + self.grading.notes + self.remarks.notes

    @property
    def remarks(self) -> Remarks:
        """What there is to say of the comparisons of answers, as far as they were read."""
        stored = Remarks() if self.grading.again or not self._graded else recorded(self.manifest)
        return sum(self._remarks.values(), stored)

    @property
    def graded_manifest(self) -> Manifest:
        """The manifest of a copy of the run that has the classes that were read."""
        if not (self.grading.again or self._remarks):
            return self.manifest
        return self.grading.recorded_in(self.manifest, self._told, self.remarks)

    def done(self) -> set[tuple[str, int]]:
        """Return the question and number of every trajectory that is there."""
        table = self.table(KEYS)
        return set(zip(table[QUESTION_ID].to_pylist(), table[SAMPLE].to_pylist(), strict=True))

    def table(self, columns: Sequence[str] | None = None, question_id: str | None = None) -> pa.Table:
        """Return columns (all if None) of the run or of one question, by question id and sample.

        `answer_class` and `correct` are filled in where rows do not say them, or said them by another
        comparison than this one. Only the columns that
        are asked for, and those that these need, are read.
        """
        names = list(SCHEMA.names if columns is None else columns)
        for name in names:
            if name not in SCHEMA.names:
                raise UnknownNameError("column", name, SCHEMA.names)
        fill = not {ANSWER_CLASS, CORRECT}.isdisjoint(names)
        sourced = not {*SOURCED}.isdisjoint(names)
        extra = (*(NEEDED if fill else ()), *((SOURCE,) if sourced else ()))
        table = self._read(list(dict.fromkeys([*KEYS, *names, *extra])), question_id)
        table = table.take(pa.array(first_of_each(table)))
        if sourced:
            self._mixed.update(mixed_sources(table))
        if fill:
            self._graded = True
            table, remarks, told = classified(table, self.grading)
            self._remarks |= remarks
            self._told |= told
        return table.select(names)

    def questions(self) -> tuple[StoredQuestion, ...]:
        """Return what there is on each question, by id, question 2 before question 10."""
        table = self.table((QUESTION_ID, N_TOKENS, GROUND_TRUTH))
        groups = table.group_by(QUESTION_ID, use_threads=False).aggregate(
            [(QUESTION_ID, "count"), (N_TOKENS, "sum"), (GROUND_TRUTH, "max")]
        )
        names = (QUESTION_ID, "question_id_count", "n_tokens_sum", "ground_truth_max")
        found = [StoredQuestion(*(row[name] for name in names)) for row in groups.to_pylist()]
        return tuple(sorted(found, key=lambda question: natural_key(question.id)))

    def row(self, question_id: str, sample: int) -> Row:
        """Return a stored trajectory with everything that is known of it."""
        table = self.table(None, question_id)
        # Arrow compares with no number of more than 64 bits.
        rows = rows_of(table.filter(pc.equal(table[SAMPLE], sample))) if abs(sample) < 2**31 else []
        if not rows:
            has = count(len(table), "trajectory") if len(table) else "nothing"
            damaged = "".join(f"; {note}" for note in self.notes[:1])
            raise InputError(
                f"{self.path} has no sample {sample} of question {question_id!r}: it has {has} of it{damaged}"
            )
        return rows[0]

    def trajectory(self, question_id: str, sample: int) -> Trajectory:
        """Return a stored trajectory, with its text and tokens as far as they were kept."""
        return trajectory_of(self.row(question_id, sample))

    def _read(self, columns: Sequence[str], question_id: str | None) -> pa.Table:
        while True:
            try:
                return self._read_listed(columns, question_id)
            except FileNotFoundError:
                # A part was merged meanwhile: what replaces it is there now.
                self._listing = list_parts(self.path / FOLDER)

    def _read_listed(self, columns: Sequence[str], question_id: str | None) -> pa.Table:
        tables = [pa.table([pa.array([], SCHEMA.field(name).type) for name in columns], list(columns))]
        # Many small parts may each hold as much as one may: together they get one part's share.
        most = allowance(sum(part.n_bytes for part in self._listing.parts))
        for part in self._listing.parts:
            try:
                tables.append(read_part(part, columns, question_id, most))
                most -= tables[-1].nbytes
            except ValueError as error:
                self._unread[part.path.name] = f"it can't be read: {error}"
        return pa.concat_tables(tables)


def manifest_of(path: Path) -> Manifest:
    """Return the manifest of a run; InputError if there is none."""
    try:
        return Manifest.load(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{path} is not a run: it has no manifest.json") from error
    except OSError as error:
        raise InputError(f"can't read {path} ({error.strerror or error})") from error
