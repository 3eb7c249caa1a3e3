"""Complete questions: the rows of a table, grouped for the vote, some at a time.

A table whose rows are sorted by question (consecutive, in any order) is grouped as it streams: memory holds
one batch and the largest question, and 8 bytes per question to detect one that appears again. If one does,
`stream_questions` raises QuestionCameBack, and `hold_questions` groups the same rows by holding all of them
in memory, about 70 bytes a row.

Questions come in the order in which they first appear, their rows in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equivalence import same_answer
from distrivote.errors import InputError
from distrivote.store.columns import CONFIDENCE, MODEL

_BLOCK_ROWS = 1 << 19

Ints = npt.NDArray[np.int64]


class QuestionCameBack(Exception):
    """The rows are not sorted by question: group them with `hold_questions`."""


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Some complete questions. Arrays over rows are flat; question i is offsets[i] to offsets[i + 1]."""

    ids: pa.Array
    """(n_questions,) Their ids, integers or strings."""

    by: pa.Array | None
    offsets: Ints
    """(n_questions + 1,)"""

    classes: Ints
    """(n_rows,) The answer of each row as an index into `labels`, -1 for none. Within a question,
    equal answers have equal classes; across questions one label may have two."""

    labels: pa.Array
    confidences: npt.NDArray[np.float64]
    """(n_rows,) NaN where missing."""

    truths: pa.Array | None
    """(n_questions,) The right answer as text, null if unknown; None if there is no such column."""

    correct: npt.NDArray[np.int8] | None
    """(n_rows,) 1 for right, 0 for wrong, -1 for unknown; None if there is no such column."""

    models: npt.NDArray[np.object_] | None = None
    """(n_rows,) The model of each row, if questions have several; None: there is only one."""

    def __len__(self) -> int:
        return len(self.ids)


def stream_questions(batches: Iterable[pa.RecordBatch]) -> Iterator[Questions]:
    """Group rows that are sorted by question, a block per batch."""
    seen = _Seen()
    open_parts: list[pa.RecordBatch] = []  # the rows so far of the current question
    for batch in batches:
        starts = _starts(batch)
        if open_parts and _same_question(open_parts[-1], batch):
            starts = starts[1:]
            if not len(starts):
                open_parts.append(batch)
                continue
            open_parts.append(batch.slice(0, starts[0]))
        body = batch.slice(starts[0], starts[-1] - starts[0])
        if open_parts or len(body):
            block = _block(open_parts, body, starts[:-1] - starts[0])
            seen.add(_keys(block))
            yield block
        open_parts = [batch.slice(starts[-1])]
    if open_parts:
        block = _block(open_parts, open_parts[0].slice(0, 0), np.empty(0, np.int64))
        seen.add(_keys(block))
        yield block


def hold_questions(batches: Iterable[pa.RecordBatch]) -> Iterator[Questions]:
    """Group rows in any order, by holding all of them and sorting."""
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    groups = _group_numbers(table)
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    n_rows = len(groups)
    low = 0
    while low < len(starts):
        # At least one question, and as many as fit.
        high = int(np.searchsorted(starts, starts[low] + _BLOCK_ROWS, side="right")) - 1
        high = max(high, low + 1) if n_rows - starts[low] > _BLOCK_ROWS else len(starts)
        end = starts[high] if high < len(starts) else n_rows
        rows = table.take(pa.array(order[starts[low] : end])).combine_chunks().to_batches()[0]
        yield _block([], rows, starts[low:high] - starts[low])
        low = high


def _starts(batch: pa.RecordBatch) -> Ints:
    """Return where questions start in a batch of rows, including 0."""
    differ = np.zeros(batch.num_rows, dtype=bool)
    differ[0] = True
    for name in ("question", "by"):
        if name in batch.schema.names:
            column = batch.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.indices
            codes = column.to_numpy()
            differ[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(differ)


def _same_question(before: pa.RecordBatch, after: pa.RecordBatch) -> bool:
    """Whether the last row of one batch and the first of the next are of the same question."""
    return all(
        before.column(name)[-1].as_py() == after.column(name)[0].as_py()
        for name in ("question", "by")
        if name in after.schema.names
    )


def _block(head: list[pa.RecordBatch], body: pa.RecordBatch, body_starts: Ints) -> Questions:
    """Join the parts of one question (`head`, may be empty) and the whole questions after it.

    The head comes from several batches, whose labels have different indices, so it gets new indices after
    those of the body: the long body is used unchanged.
    """
    n_head = sum(part.num_rows for part in head)
    starts = np.concatenate([np.zeros(1 if head else 0, np.int64), body_starts + n_head])
    offsets = np.append(starts, n_head + body.num_rows)
    classes, labels = _joined_codes("answer", head, body)
    names = body.schema.names
    ids = _first_rows("question", head, body, body_starts)
    truths = None
    if "truth" in names:
        truths = _truths(*_joined_codes("truth", head, body), offsets, ids)
    correct = None
    if "correct" in names:
        flags = [pc.fill_null(part.column("correct").cast(pa.int8()), -1) for part in [*head, body]]
        correct = np.concatenate([f.to_numpy(zero_copy_only=False) for f in flags])
    models = None
    if MODEL in names:
        codes, known = _joined_codes(MODEL, head, body)
        models = np.array([*known.to_pylist(), ""], dtype=object)[codes]
    return Questions(
        ids=ids,
        by=_first_rows("by", head, body, body_starts) if "by" in names else None,
        offsets=offsets,
        classes=classes,
        labels=labels,
        confidences=np.concatenate([p.column(CONFIDENCE).to_numpy() for p in [*head, body]]),
        truths=truths,
        correct=correct,
        models=models,
    )


def _joined_codes(name: str, head: list[pa.RecordBatch], body: pa.RecordBatch) -> tuple[Ints, Any]:
    """Return the indices of a column of labels over head and body, and the labels."""
    column = body.column(name)
    codes, labels = _codes(column), column.dictionary
    if not head:
        return codes, labels
    decoded = [part.column(name).dictionary_decode() for part in head]
    joined = pa.concat_arrays(decoded).dictionary_encode()
    first = _codes(joined)
    first[first >= 0] += len(labels)
    return np.concatenate([first, codes]), pa.concat_arrays([labels, joined.dictionary])


def _codes(column: pa.DictionaryArray) -> Ints:
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(-1)
    codes: Ints = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _first_rows(name: str, head: list[pa.RecordBatch], body: pa.RecordBatch, body_starts: Ints) -> pa.Array:
    parts = [part.column(name).slice(0, 1) for part in head[:1]]
    parts.append(body.column(name).take(pa.array(body_starts)))
    if pa.types.is_dictionary(parts[0].type):
        parts = [part.dictionary_decode() for part in parts]
    return pa.concat_arrays(parts)


def _truths(codes: Ints, labels: pa.Array, offsets: Ints, ids: pa.Array) -> pa.Array:
    """Return the right answer of each question, from the rows that have one."""
    truths = np.maximum.reduceat(codes, offsets[:-1])
    expected = np.repeat(truths, np.diff(offsets))
    doubtful = np.flatnonzero((codes != expected) & (codes >= 0))
    if len(doubtful):
        pairs, where = np.unique(np.stack([codes[doubtful], expected[doubtful]]), axis=1, return_index=True)
        for (one, other), row in zip(pairs.T.tolist(), doubtful[where].tolist(), strict=True):
            if not same_answer(labels[one].as_py(), labels[other].as_py()):
                question = ids[int(np.searchsorted(offsets, row, side="right")) - 1]
                raise InputError(
                    f"question {question} has two right answers, {labels[one].as_py()!r} and"
                    f" {labels[other].as_py()!r}",
                    hint="if several sets use the same id, tell them apart with `by`, the name of a column",
                    argument="by",
                )
    return labels.take(pa.array(truths, mask=truths < 0))


def _group_numbers(table: pa.Table) -> npt.NDArray[Any]:
    """Number the rows by question, in the order in which questions first appear."""
    codes = [
        column.combine_chunks().dictionary_encode()
        for column in (table.column(n) for n in ("question", "by") if n in table.schema.names)
    ]
    numbers: npt.NDArray[Any] = codes[0].indices.to_numpy().astype(np.int64)
    if len(codes) == 2:
        pairs = numbers * len(codes[1].dictionary) + codes[1].indices.to_numpy()
        numbers = pa.array(pairs).dictionary_encode().indices.to_numpy()
    return numbers


def _keys(block: Questions) -> Ints:
    """Return a 64-bit hash per question: equal for equal questions, nearly always different otherwise.

    A collision (1 in 10^13 for a million) costs memory, but not correctness.
    """
    if block.by is None:
        if pa.types.is_integer(block.ids.type):
            return np.asarray(block.ids.to_numpy())
        values: Iterable[Any] = block.ids.to_pylist()
    else:
        values = zip(block.by.to_pylist(), block.ids.to_pylist(), strict=True)
    return np.fromiter(map(hash, values), np.int64, len(block))


class _Seen:
    """The keys so far, in sorted runs of doubling length."""

    def __init__(self) -> None:
        self.runs: list[Ints] = []

    def add(self, keys: Ints) -> None:
        """Add the keys; raise QuestionCameBack if one was there before."""
        keys = np.sort(keys)
        if (keys[1:] == keys[:-1]).any():
            raise QuestionCameBack
        for run in self.runs:
            places = np.searchsorted(run, keys)
            places[places == len(run)] = 0
            if (run[places] == keys).any():
                raise QuestionCameBack
        self.runs.append(keys)
        while len(self.runs) > 1 and len(self.runs[-2]) <= 2 * len(self.runs[-1]):
            last = self.runs.pop()
            self.runs[-1] = np.sort(np.concatenate([self.runs[-1], last]))
