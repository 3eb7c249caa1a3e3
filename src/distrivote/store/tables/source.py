"""Tables of sampled answers: which file, which format, which columns.

A row is a trajectory: a question id, an answer, a confidence, where known the truth. JSON Lines and
CSV are read by `text`, Parquet by `parquet`; both give record batches of the same shape:

    question    int64 or LABELS   never null
    by          int64 or LABELS   only if asked for
    answer      LABELS            null: no answer
    confidence  float64           NaN: missing
    truth       LABELS            only where the file may have one
    correct     bool              only where the file may have it

Every value is checked when it is read, and an error names its row or line. `questions` groups the rows.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equality import Equality, Same, equality
from distrivote.defaults import MAX_SPOOL
from distrivote.errors import InputError
from distrivote.nouns import plural
from distrivote.store.columns import (
    ANSWER,
    CONFIDENCE,
    CORRECT,
    GROUND_TRUTH,
    MODEL,
    N_TOKENS,
    QUESTION_ID,
    TEXTS,
)
from distrivote.store.runs.folder import MANIFEST, folder_at, is_remote
from distrivote.store.tables.faults import check_names, listed
from distrivote.store.tables.spool import check_standard_input, check_stream, spooled
from distrivote.voting.scales import Convert

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
    """The names of the columns of a file."""

    question: str = QUESTION_ID
    answer: str = ANSWER
    confidence: str | None = CONFIDENCE
    """None: not read, since majority voting needs none."""

    length: str = N_TOKENS
    """How many tokens a trajectory has."""

    by: str | None = None
    """Several models or runs in one file: a question counts once for each value of this column."""

    truth: str | None = None
    """The right answer. None: `ground_truth` and `correct` are looked for, and `correct` is preferred."""

    per_length: bool = False
    """The column of the confidence holds a length: shorter is more confident, so 1000 / length is used."""

    named: bool = False
    """Whether the user named the column of the confidence: then it must be there."""

    positive_for: str | None = None
    """The name, for messages, of what needs positive confidences; None: any finite ones are accepted."""

    convert: Convert | None = None
    """How the column of the confidence becomes positive, if it holds log-probabilities or logits."""

    partial: bool = False
    """Whether a run with missing parts is read without them."""

    max_spool: int = MAX_SPOOL
    """Maximum bytes of piped input that are kept in a temporary file."""

    def needed(self) -> dict[str, str]:
        """The columns that must be there, each with the argument that renames it."""
        named = {
            self.question: "question",
            self.answer: "answer_column",
            self.confidence: "length" if self.confidence == self.length else "confidence",
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
    """A file of sampled answers that can be read repeatedly from its beginning."""

    path: Path
    name: str
    """The name in messages."""

    kind: str
    columns: Columns
    same: Same | None = None
    """When two answers are equal; None: the comparison of a run, and for a file mathematics within limits."""

    no_probability: str | None = None
    """Why its answers have no probability, in a sentence; None if they have one."""

    done: float = 0.0
    """The part of the file that the latest reading has passed, 0 to 1."""

    notes: list[str] = field(default_factory=list)
    """Caveats about the latest reading, a sentence each."""

    lacks: str | None = None
    """The column of the confidence, if the latest reading did not find it and none is needed."""

    models: set[int | str | bytes] = field(default_factory=set)
    """The values of the column `model` in the latest reading, if it pools models; not all if many."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file once, in batches of the shape that this module describes."""
        for batch in self._read():
            yield _per_length(batch) if self.columns.per_length else batch
        if len(self.models) > 1:
            n = f"more than {_MOST_MODELS:,}" if len(self.models) > _MOST_MODELS else str(len(self.models))
            self.notes.append(f"the column {MODEL!r} has {n} values: `by={MODEL}` votes on each apart")

    @property
    def pools_models(self) -> bool:
        """Whether a column `model`, if there is one, is neither requested nor known to have many values."""
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
def open_table(path: str, columns: Columns, same: Same | None = None) -> Iterator[AnswerTable]:
    """Find the file (`-`: standard input, copied to a temporary file) and its format.

    The suffix decides the format; without a known one the first bytes do. `same` says when two answers are
    equal (see `classes`).
    """
    if isinstance(same, str):
        same = equality(same)
    _check_names(columns)
    name = "standard input" if path == STDIN else path
    with ExitStack() as stack:
        if is_run(path):
            from distrivote.store.runs.run import manifest_of

            why = _no_probability(same, manifest_of(folder_at(path)).answer)
            yield AnswerTable(Path(path), name, "run", columns, same, why)
            return
        if path == STDIN:
            check_standard_input(name)
            file = stack.enter_context(spooled(sys.stdin.buffer, name, columns.max_spool))
        elif _is_regular(path):
            file = Path(path)
        else:  # a pipe can be read only once, and an unsorted file is read twice
            pipe = stack.enter_context(open(path, "rb"))
            file = stack.enter_context(spooled(pipe, name, columns.max_spool))
        yield AnswerTable(file, name, _kind(file, path, name), columns, same, _no_probability(same))


def _no_probability(same: Same | None, read_as: str | None = None) -> str | None:
    """Return why answers of the kind that was asked for, else of the kind of a run, have no probability."""
    if read_as is None and (same is None or isinstance(same, str | Equality)):
        return None
    # Imported on use: compiling the patterns of all kinds takes as long as a vote on a million rows.
    from distrivote.answers.kinds.kind import Kind
    from distrivote.answers.kinds.names import KINDS

    kind = same if isinstance(same, Kind) else KINDS.get(read_as or "")
    return None if kind is None else kind.no_probability


def is_run(path: str) -> bool:
    """Return whether a path is the folder of a stored run."""
    return path != STDIN and folder_at(path).has(MANIFEST)


def _is_regular(path: str) -> bool:
    """Check that there is something to read; False for a pipe."""
    if is_remote(path):
        raise InputError(f"{path} is not a run: copy a file from an object store before you read it")
    try:
        status = os.stat(path)
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            raise InputError(
                f"{path} is a directory and not a run: name one file of sampled answers (.jsonl, .csv or"
                " .parquet), or a run that distrivote generate made"
            )
        check_stream(status, path)
        if stat.S_ISREG(mode):
            open(path, "rb").close()
    except (OSError, ValueError) as error:
        cant_read(path, error)
    return stat.S_ISREG(mode)


def cant_read(path: str, error: Exception) -> NoReturn:
    """Raise the InputError for a file that can't be opened."""
    if isinstance(error, InputError):
        raise error
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    raise InputError(f"can't read {path} ({reason}): check the path and its permissions") from error


def check_columns(table: AnswerTable, there: Sequence[str]) -> None:
    """Raise InputError if a needed column is missing, or one is there twice."""
    missing = {name: argument for name, argument in table.columns.needed().items() if name not in there}
    if not table.columns.named and CONFIDENCE in missing and table.columns.confidence == CONFIDENCE:
        table.lacks = CONFIDENCE
        del missing[CONFIDENCE]
    if missing:
        arguments, ones = list(missing.values()), plural(len(missing), "one")
        hint = f"name the right {ones} with {_and(f'`{name}`' for name in arguments)}"
        if table.columns.answer in missing and any(name in there for name in TEXTS):
            hint += "; if it holds whole replies, turn it into a run first (distrivote import)"
        raise InputError(
            f"{table.name} has no {plural(len(missing), 'column')} {_and(map(repr, missing))}"
            f" (it has {listed(there)})",
            hint=hint,
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
            raise InputError(f"the column {name!r} is named twice: each option needs its own column")


def _kind(file: Path, path: str, name: str) -> str:
    """Detect the format from the suffix of the path, otherwise from the first bytes of the file."""
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
