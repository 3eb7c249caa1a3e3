"""A run: a directory with a manifest and Parquet parts, read here.

Any number of processes may read and write one run at the same time: parts appear complete and are never
changed. Of two rows for one sample the one that was claimed first counts (`claims`). Writing is in `writer`,
merging in `compaction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equality import Same
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError, UnknownNameError
from distrivote.nouns import count
from distrivote.store.columns import (
    ANSWER,
    ANSWER_CLASS,
    CORRECT,
    FINISH_REASON,
    GROUND_TRUTH,
    N_TOKENS,
    QUESTION,
    QUESTION_ID,
    SAMPLE,
    TEXT,
)
from distrivote.store.natural import natural_key
from distrivote.store.runs.classes import NEEDED, Grading, classified, read_again, recorded
from distrivote.store.runs.folder import Folder, Place, folder_at, reason
from distrivote.store.runs.listing import Listing, check_complete, damage_notes, list_parts
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.parts import first_of_each, read_part
from distrivote.store.runs.rows import Row, rows_of, trajectory_of
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.runs.scores import ScoreColumn, is_scored, score_names, scores_of
from distrivote.store.runs.sources import SOURCE, SOURCED, mixed_sources, source_notes
from distrivote.store.tables.parquet_sizes import allowance
from distrivote.trajectory import Trajectory

KEYS = (QUESTION_ID, SAMPLE)


class StoredQuestion(NamedTuple):
    """A summary of one question of a run."""

    id: str
    n_trajectories: int
    n_tokens: int | None
    """As far as they are known; None if no trajectory has them."""

    ground_truth: str | None


def known_tokens(questions: Sequence[StoredQuestion]) -> int | None:
    """Return the sum of the tokens of questions, None if no question has them."""
    known = [question.n_tokens for question in questions if question.n_tokens is not None]
    return sum(known) if known or not questions else None


class Run:
    """A stored run, as it was when it was opened."""

    def __init__(
        self,
        folder: Folder,
        manifest: Manifest,
        listing: Listing,
        same: Same | None = None,
        *,
        partial: bool = False,
    ) -> None:
        self.folder, self.path, self.manifest = folder, folder.address, manifest
        self._kind = same if isinstance(same, Kind) else None
        self.grading = Grading.of(manifest, same)
        self._graded = self._told = False
        self._remarks: dict[str, Remarks] = {}
        self._listing = listing
        self._unread: dict[str, str] = {}
        self._mixed: set[str] = set()
        self._partial = partial
        self._scores: dict[str, ScoreColumn] = {}

    @classmethod
    def open(cls, path: Place, same: Same | None = None, *, partial: bool = False) -> Self:
        """Open a run for reading; raise InputError if there is none, or if parts of it are missing.

        `same` says when two answers are equal; None: the comparison of the run. A `Kind` also says what
        an answer is: where the run has texts, answers are read from them again. `partial` takes a run that
        lacks parts, with a note.
        """
        folder = folder_at(path)
        manifest, listing = manifest_of(folder), list_parts(folder)
        check_complete(listing, folder.address, partial=partial)
        return cls(folder, manifest, listing, same, partial=partial)

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats about the run and what was read from it, a sentence each."""
        damaged = self._listing.damaged | self._unread
        gone = tuple(f"{name} is missing: its trajectories do not count" for name in self._listing.missing)
        notes = damage_notes(damaged) + gone + source_notes(self._mixed)
        notes += tuple(note for column in self._scores.values() for note in column.notes)
        return notes + self.grading.notes + self.remarks.notes

    @property
    def remarks(self) -> Remarks:
        """Remarks about the comparisons of answers that were read."""
        stored = Remarks() if self.grading.again or not self._graded else recorded(self.manifest)
        return sum(self._remarks.values(), stored)

    @property
    def graded_manifest(self) -> Manifest:
        """The manifest for a copy of the run with the classes that were read."""
        if not (self.grading.again or self._remarks):
            return self.manifest
        return self.grading.recorded_in(self.manifest, self._told, self.remarks)

    @cached_property
    def score_names(self) -> tuple[str, ...]:
        """The columns that scorers have added."""
        return score_names(self.folder)

    @property
    def n_raw_bytes(self) -> int:
        """The size of its parts before compression."""
        return sum(part.n_raw_bytes for part in self._listing.parts)

    def scores(self, name: str) -> ScoreColumn:
        """Return an added column; raise UnknownNameError if there is none."""
        if name not in self._scores:
            if not is_scored(self.folder, name):
                raise UnknownNameError("column", name, [*SCHEMA.names, *self.score_names])
            self._scores[name] = ScoreColumn(self.folder, name, partial=self._partial)
        return self._scores[name]

    def done(self) -> set[tuple[str, int]]:
        """Return the question and number of every stored trajectory."""
        table = self.table(KEYS)
        return set(zip(table[QUESTION_ID].to_pylist(), table[SAMPLE].to_pylist(), strict=True))

    def table(self, columns: Sequence[str] | None = None, question_id: str | None = None) -> pa.Table:
        """Return columns (all but added ones if None) of the run or of one question, by id and sample.

        `answer_class` and `correct` are filled in if rows do not have them, or have them by another
        comparison. Only the requested columns, and those that they depend on, are read.
        """
        wanted = list(SCHEMA.names if columns is None else columns)
        added = {name: self.scores(name) for name in wanted if name not in SCHEMA.names}
        names = [name for name in wanted if name not in added]
        fill = not {ANSWER_CLASS, CORRECT}.isdisjoint(names)
        sourced = not {*SOURCED}.isdisjoint(names)
        again = self._kind is not None and (fill or ANSWER in names)
        extra = [
            *(NEEDED if fill else ()),
            *((SOURCE,) if sourced else ()),
            *((TEXT, FINISH_REASON) if again else ()),
            *((QUESTION,) if fill and self.grading.same.sort is not None else ()),
        ]
        table = self._read(list(dict.fromkeys([*KEYS, *names, *extra])), question_id)
        table = table.take(pa.array(first_of_each(table)))
        if sourced:
            self._mixed.update(mixed_sources(table))
        if again and self._kind is not None:
            table = read_again(table, self._kind)
        if fill:
            self._graded = True
            table, remarks, told = classified(table, self.grading)
            self._remarks |= remarks
            self._told |= told
        for name, column in added.items():
            table = table.append_column(name, scores_of(table, column.table(question_id)))
        return table.select(wanted)

    def questions(self) -> tuple[StoredQuestion, ...]:
        """Return a summary of each question, by id, question 2 before question 10."""
        table = self.table((QUESTION_ID, N_TOKENS, GROUND_TRUTH))
        groups = table.group_by(QUESTION_ID, use_threads=False).aggregate(
            [(QUESTION_ID, "count"), (N_TOKENS, "sum"), (GROUND_TRUTH, "max")]
        )
        names = (QUESTION_ID, "question_id_count", "n_tokens_sum", "ground_truth_max")
        found = [StoredQuestion(*(row[name] for name in names)) for row in groups.to_pylist()]
        return tuple(sorted(found, key=lambda question: natural_key(question.id)))

    def row(self, question_id: str, sample: int) -> Row:
        """Return a stored trajectory as a row."""
        table = self.table(None, question_id)
        # Arrow can't compare numbers of more than 64 bits.
        rows = rows_of(table.filter(pc.equal(table[SAMPLE], sample))) if abs(sample) < 2**31 else []
        if not rows:
            has = count(len(table), "trajectory") if len(table) else "nothing"
            damaged = "".join(f"; {note}" for note in self.notes[:1])
            raise InputError(
                f"{self.path} has no sample {sample} of question {question_id!r}: it has {has} of it{damaged}"
            )
        return rows[0]

    def trajectory(self, question_id: str, sample: int) -> Trajectory:
        """Return a stored trajectory, with its text and tokens as far as they are stored."""
        return trajectory_of(self.row(question_id, sample))

    def _read(self, columns: Sequence[str], question_id: str | None) -> pa.Table:
        while True:
            try:
                return self._read_listed(columns, question_id)
            except FileNotFoundError:
                # A part has been merged since: the merged part exists now.
                self._listing = list_parts(self.folder)

    def _read_listed(self, columns: Sequence[str], question_id: str | None) -> pa.Table:
        tables = [pa.table([pa.array([], SCHEMA.field(name).type) for name in columns], list(columns))]
        # The limit of memory for one part is shared by many small ones.
        most = allowance(sum(part.n_bytes for part in self._listing.parts))
        for part in self._listing.parts:
            try:
                tables.append(read_part(part, columns, question_id, most))
                most -= tables[-1].nbytes
            except InputError:
                raise
            except ValueError as error:
                self._unread[part.name] = f"it can't be read: {error}"
        return pa.concat_tables(tables)


def manifest_of(folder: Folder) -> Manifest:
    """Return the manifest of a run; raise InputError if there is none."""
    try:
        return Manifest.load(folder)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{folder.address} is not a run: it has no manifest.json") from error
    except OSError as error:
        raise InputError(f"can't read {folder.address} ({reason(error)})") from error
