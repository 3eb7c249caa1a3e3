"""Tables of sampled answers: which file, which format, which columns.

A row is a trajectory: a question id, an answer, a confidence, where known the truth. JSON Lines and
CSV are read by `text`, Parquet by `parquet`; both give record batches of the same shape:

    question    int64 or LABELS   never null
    by          int64 or LABELS   only if asked for
    answer      LABELS            null: no answer
    confidence  float64           NaN: missing
    truth       LABELS            only where the file may have one
    correct     bool              only where the file may have it

Every value is checked on the way in, and an error names its row or line. Which rows belong to one
question is not known here (see `questions`).
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equality import Equality, equality
from distrivote.errors import InputError
from distrivote.nouns import plural
from distrivote.store.columns import ANSWER, CONFIDENCE, CORRECT, GROUND_TRUTH, MODEL, QUESTION_ID
from distrivote.store.tables.faults import check_names, listed

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
STDIN = "-"
_MOST_MODELS = 1000
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"BZh": "bzip2"}


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a file are called."""

    question: str = QUESTION_ID
    answer: str = ANSWER
    confidence: str | None = CONFIDENCE
    """None: not read at all, as majority voting needs none."""

    by: str | None = None
    """Several models or runs in one file: a question counts once for each value of this column."""

    truth: str | None = None
    """The right answer. None: `ground_truth` and `correct` are looked for, `correct` counts first."""

    per_length: bool = False
    """The column of the confidence holds a length: shorter is surer, so it counts as 1000 / length."""

    named: bool = False
    """Whether the user named the column of the confidence: then it must be there."""

    positive_for: str | None = None
    """What needs positive confidences; None: any finite ones do."""

    logprob: bool = False
    """The column of the confidence holds log-probabilities: exp of them counts."""

    def needed(self) -> dict[str, str]:
        """The columns that must be there, each with the argument that renames it."""
        named = {
            self.question: "question",
            self.answer: "answer",
            self.confidence: "confidence",
            self.by: "by",
            self.truth: "truth",
        }
        return {name: option for name, option in named.items() if name is not None}

    def truths(self, there: Iterable[str]) -> tuple[str | None, str | None]:
        """Return the columns of the right answer and of `correct`, each None if not among `there`."""
        if self.truth is not None:
            return self.truth, None
        names = set(there)
        return (
            GROUND_TRUTH if GROUND_TRUTH in names else None,
            CORRECT if CORRECT in names else None,
        )


@dataclass(slots=True)
class AnswerTable:
    """A file of sampled answers that can be read from its beginning as often as needed."""

    path: Path
    name: str
    """What messages call it."""

    kind: str
    columns: Columns
    same: str | Equality | None = None
    """When two answers are one; None: what a run says, and for a file mathematics, as far as it goes."""

    done: float = 0.0
    """The part of the file that the latest reading has passed, 0 to 1."""

    notes: list[str] = field(default_factory=list)
    """What a careful reader should know of the latest reading, a sentence each."""

    lacks: str | None = None
    """The column of the confidence, if the latest reading found none of that name and none is needed."""

    models: set[int | str | bytes] = field(default_factory=set)
    """What the latest reading found in the column `model`, where it pools models; not all if many."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file once, in batches of the shape that this module describes."""
        for batch in self._read():
            yield _per_length(batch) if self.columns.per_length else batch
        if len(self.models) > 1:
            n = f"more than {_MOST_MODELS:,}" if len(self.models) > _MOST_MODELS else str(len(self.models))
            self.notes.append(f"the column {MODEL!r} has {n} values: `by={MODEL}` votes on each apart")

    @property
    def pools_models(self) -> bool:
        """Whether a column `model`, if there is one, is neither asked for nor found to have many values."""
        asked = self.columns.by is not None or MODEL in self.columns.needed()
        return not asked and len(self.models) <= _MOST_MODELS

    def _read(self) -> Iterator[pa.RecordBatch]:
        self.done, self.notes, self.lacks, self.models = 0.0, [], None, set()
        if self.kind == "run":
            from distrivote.store.tables.run import read_run

            yield from read_run(self)
        elif self.kind == "parquet":
            from distrivote.store.tables.parquet import read_parquet

            yield from read_parquet(self)
        else:
            from distrivote.store.tables.text import read_csv, read_jsonl

            yield from (read_jsonl if self.kind == "jsonl" else read_csv)(self)


def _per_length(batch: pa.RecordBatch) -> pa.RecordBatch:
    at = batch.schema.get_field_index(CONFIDENCE)
    surer = pc.divide(1000.0, batch.column(at))
    return batch.set_column(at, batch.schema.field(at), surer)


@contextmanager
def open_table(path: str, columns: Columns, same: str | Equality | None = None) -> Iterator[AnswerTable]:
    """Find the file (`-`: standard input, kept in a temporary file meanwhile) and its format.

    The suffix names the format; without a known one the first bytes do. `same` says when two answers are
    one, for whoever groups them (see `classes`).
    """
    if same is not None:
        same = equality(same)
    _check_names(columns)
    name = "standard input" if path == STDIN else path
    with ExitStack() as stack:
        if is_run(path):
            yield AnswerTable(Path(path), name, "run", columns, same)
            return
        if path == STDIN:
            file = stack.enter_context(_spooled(sys.stdin.buffer, name))
        elif _is_regular(path):
            file = Path(path)
        else:  # a pipe can be read only once, and an unsorted file is read twice
            file = stack.enter_context(_spooled(stack.enter_context(open(path, "rb")), name))
        yield AnswerTable(file, name, _kind(file, path, name), columns, same)


def is_run(path: str) -> bool:
    """Whether that is the folder of a stored run."""
    return os.path.isfile(os.path.join(path, "manifest.json"))


def _is_regular(path: str) -> bool:
    """Check that there is something to read; False for a pipe or a device."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise InputError(
                f"{path} is a directory and not a run: name one file of sampled answers (.jsonl, .csv or"
                " .parquet), or a run that distrivote generate made"
            )
        if stat.S_ISREG(mode):
            open(path, "rb").close()
    except (OSError, ValueError) as error:
        cant_read(path, error)
    return stat.S_ISREG(mode)


def cant_read(path: str, error: Exception) -> NoReturn:
    """Raise the InputError for a file that the system does not hand over."""
    if isinstance(error, InputError):
        raise error
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    raise InputError(f"can't read {path} ({reason}): check the path and its permissions") from error


def check_columns(table: AnswerTable, there: Sequence[str]) -> None:
    """Raise InputError if a needed column is not among those there, or one is there twice."""
    missing = {name: argument for name, argument in table.columns.needed().items() if name not in there}
    if not table.columns.named and CONFIDENCE in missing and table.columns.confidence == CONFIDENCE:
        table.lacks = CONFIDENCE
        del missing[CONFIDENCE]
    if missing:
        arguments, ones = list(missing.values()), plural(len(missing), "one")
        raise InputError(
            f"{table.name} has no {plural(len(missing), 'column')} {_and(map(repr, missing))}"
            f" (it has {listed(there)})",
            hint=f"name the right {ones} with {_and(f'`{name}`' for name in arguments)}",
            argument=arguments[0],
        )
    check_names(there, table.name)


def is_empty(table: AnswerTable, what: str = "is empty") -> InputError:
    """Return the error for a file without rows."""
    return InputError(f"{table.name} {what}: a vote needs at least one row of question and answer")


def _and(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _check_names(columns: Columns) -> None:
    named = [
        name
        for name in (columns.question, columns.answer, columns.confidence, columns.by, columns.truth)
        if name is not None
    ]
    for name in named:
        if named.count(name) > 1:
            raise InputError(f"the column {name!r} is asked for twice: each option needs its own column")


@contextmanager
def _spooled(source: BinaryIO, name: str) -> Iterator[Path]:
    """Copy a stream into a temporary file that is removed afterwards."""
    handle, spool = tempfile.mkstemp(prefix="distrivote-")
    try:
        try:
            with os.fdopen(handle, "wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
        except OSError as error:
            cant_read(name, error)
        yield Path(spool)
    finally:
        os.unlink(spool)


def _kind(file: Path, path: str, name: str) -> str:
    """Tell the format from the suffix of the path, else from the first bytes of the file."""
    with open(file, "rb") as source:
        start = source.read(4096)
    for magic, packer in _PACKED.items():
        if start.startswith(magic):
            raise InputError(
                f"{name} is packed with {packer}: unpack it first, or unpack it into standard input"
                " and name the file -"
            )
    known = SUFFIXES.get(Path(path).suffix.lower())
    if known:
        return known
    if start.startswith(b"PAR1"):
        return "parquet"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    return "jsonl" if text.startswith((b"{", b"[")) else "csv"
