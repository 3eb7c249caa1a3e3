"""Sampled answers from a Parquet file, a batch at a time.

Only the requested columns are read. Strings are read as the dictionaries that most files already hold, so
that a label is converted once per batch and not once per row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from distrivote.errors import InputError
from distrivote.store.columns import ANSWER, CONFIDENCE, CORRECT, GROUND_TRUTH, MODEL
from distrivote.store.tables.faults import (
    FLAGS,
    missing_id,
    not_a_confidence,
    not_a_flag,
    not_a_number,
    not_text,
)
from distrivote.store.tables.labels import Labeller, NotOneValue
from distrivote.store.tables.parquet_sizes import (
    TooLargeError,
    check_declared,
    check_footer,
    declared_bytes,
)
from distrivote.store.tables.source import AnswerTable, check_columns, is_empty
from distrivote.voting.scales import permitted

BATCH_ROWS = 1 << 18
"""Of the sizes 2^17 to 2^20 the fastest on 10 million rows, and 20 MB of memory."""

_BATCH_BYTES = 1 << 27
_FEWEST_ROWS = 8192
_READ_BYTES = 1 << 20
"""Read column chunks piece by piece: a row group may be as large as the file."""

_LABEL_BYTES = 1 << 30
_LONGEST_NUMBER = 1000
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def read_parquet(table: AnswerTable) -> Iterator[pa.RecordBatch]:
    """Read the batches of a table whose kind is parquet."""
    with _opened(table) as file:
        names = list(file.schema_arrow.names)
        check_columns(table, names)
        n_rows = file.metadata.num_rows
        if n_rows == 0:
            raise is_empty(table, "has columns but no rows")
        check = Check(table, *table.columns.truths(names))
        for name in sorted(check.wanted):
            check.require_one_value(name, file.schema_arrow.field(name).type)
        pools_models = MODEL in names and table.pools_models and _is_name(file.schema_arrow.field(MODEL).type)
        wanted = sorted({*check.wanted, MODEL} if pools_models else check.wanted)
        batches = file.iter_batches(_batch_rows(file.metadata), columns=wanted)
        while True:
            try:
                batch = next(batches, None)
                _check_codes(batch)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise _damaged(table, f"from row {check.first} on", error) from error
            if batch is None:
                return
            table.done = (check.first + batch.num_rows - 1) / n_rows
            if pools_models and table.pools_models:
                table.models.update(_distinct(batch.column(MODEL)))
            if batch.num_rows:
                yield check(batch)


def _check_codes(batch: pa.RecordBatch | None) -> None:
    """Raise ArrowIndexError for codes without a value, which damaged pages give and pyarrow lets pass."""
    for column in () if batch is None else batch.columns:
        if pa.types.is_dictionary(column.type):
            last = pc.max(column.indices).as_py()
            if last is not None and last >= len(column.dictionary):
                raise pa.ArrowIndexError(f"code {last} of {len(column.dictionary)} values")


def _is_name(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind))


def _distinct(column: pa.Array) -> list[Any]:
    """Return the values of a column, texts as bytes, since Parquet readers do not check them."""
    values = column.unique().drop_null()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not pa.types.is_integer(values.type):
        values = values.cast(pa.large_binary())
    return [value for value in values.to_pylist() if value != b""]


def _opened(table: AnswerTable) -> pq.ParquetFile:
    if table.path.stat().st_size == 0:
        raise is_empty(table)
    try:
        with open(table.path, "rb") as source:
            check_footer(source)
            metadata = pq.read_metadata(source)
        check_declared(metadata, table.path.stat().st_size)
        leaves = {metadata.schema.column(i).path for i in range(metadata.num_columns)}
        file = pq.ParquetFile(
            table.path,
            metadata=metadata,
            read_dictionary=sorted(leaves & {*table.columns.needed(), GROUND_TRUTH, CORRECT, MODEL}),
            pre_buffer=False,
            buffer_size=_READ_BYTES,
        )
        _ = file.schema_arrow.names  # fails here if they are not texts
        return file
    except (pa.ArrowException, OSError, UnicodeDecodeError, TooLargeError) as error:
        raise _damaged(table, "as a Parquet file", error) from error


def _damaged(table: AnswerTable, where: str, error: Exception) -> InputError:
    reason = str(error).partition("\n")[0].rstrip(". ")
    return InputError(
        f"{table.name} can't be read {where} ({reason}): it may be truncated or damaged, so copy or write it"
        " again"
    )


def _batch_rows(metadata: Any) -> int:
    """Return how many rows to read at a time: fewer if rows are large."""
    n_rows = _BATCH_BYTES * metadata.num_rows // max(1, declared_bytes(metadata))
    return int(min(BATCH_ROWS, max(_FEWEST_ROWS, n_rows)))


class Check:
    """Converts each batch to the common shape; errors name the row."""

    def __init__(self, table: AnswerTable, truth: str | None, correct: str | None) -> None:
        self.table, self.truth, self.correct = table, truth, correct
        self.wanted = {*table.columns.needed(), *(name for name in (truth, correct) if name)} - {table.lacks}
        self.by_model = False
        """Whether rows name their models, which vote together."""

        self.first = 1
        self.labellers: defaultdict[str, Labeller] = defaultdict(Labeller)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        names = self.table.columns
        columns = {"question": self._ids(batch, names.question)}
        if names.by is not None:
            columns["by"] = self._ids(batch, names.by)
        columns[ANSWER] = self._labels(batch, names.answer)
        confidences = np.full(batch.num_rows, np.nan)
        if names.confidence is not None and self.table.lacks is None:
            confidences = self._checked(self._confidences(batch.column(names.confidence)))
        columns[CONFIDENCE] = pa.array(confidences)
        if self.by_model:
            columns[MODEL] = self._labels(batch, MODEL)
        if self.truth is not None:
            columns["truth"] = self._labels(batch, self.truth)
        if self.correct is not None:
            columns[CORRECT] = self._flags(batch, self.correct)
        self.first += batch.num_rows
        return pa.RecordBatch.from_pydict(columns)

    def require_one_value(self, name: str, kind: Any) -> None:
        """Raise InputError if a column has a type with several values in a row."""
        if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
            if name == self.table.columns.confidence:
                raise self._not_numbers(kind)
            raise InputError(
                f"{self.table.name}: the column {name!r} is of type {kind}: it must hold one string or number"
                " per row"
            )

    def _not_numbers(self, kind: Any) -> InputError:
        return InputError(
            f"{self.table.name}: the column {self.table.columns.confidence!r} is of type {kind}:"
            " confidences must be numbers"
        )

    def _where(self, index: int) -> str:
        return f"{self.table.name}, row {self.first + index}"

    def _ids(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """Return a column that identifies questions: integers stay integers, others become labels."""
        column = batch.column(name)
        if pa.types.is_integer(column.type) and column.type != pa.uint64():
            ids = column.cast(pa.int64())
        else:
            ids = self._labels(batch, name)
        if ids.null_count:
            raise missing_id(self._where(pc.index(ids.is_null(), True).as_py()), name)
        return ids

    def _labels(self, batch: pa.RecordBatch, name: str) -> pa.DictionaryArray:
        column = batch.column(name)
        try:
            labels = self.labellers[name](column)
            self._require_room(labels, name)
            return labels
        except NotOneValue as error:
            raise InputError(
                f"{self.table.name}: the column {name!r} is {error}: it must hold one string or number"
                " per row"
            ) from error
        except pa.ArrowNotImplementedError as error:
            raise InputError(
                f"{self.table.name}: the column {name!r} is of type {column.type}, which has no text"
                " form: write it as strings or numbers"
            ) from error
        except pa.ArrowInvalid as error:
            raise not_text(self._where(_first_without_label(column)), name) from error

    def _require_room(self, labels: pa.DictionaryArray, name: str) -> None:
        """Raise InputError if texts that are stored once would be too large with a copy for each row."""
        lengths = pc.binary_length(labels.dictionary).cast(pa.int64())
        if (pc.max(lengths).as_py() or 0) * len(labels) > _LABEL_BYTES:
            n_bytes = pc.sum(lengths.take(labels.indices)).as_py() or 0
            if n_bytes > _LABEL_BYTES:
                raise InputError(
                    f"{self._where(0)} and after: {name} takes {n_bytes >> 20:,} MB in {len(labels):,} rows:"
                    " shorten the texts there"
                )

    def _confidences(self, column: pa.Array) -> npt.NDArray[np.float64]:
        """Return the confidences as floats, NaN where missing."""
        if pa.types.is_dictionary(column.type):
            self._require_short(column)
            column = column.dictionary_decode()
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            column = self._parsed(column)
        elif not any(
            is_kind(kind)
            for is_kind in (
                pa.types.is_floating,
                pa.types.is_integer,
                pa.types.is_decimal,
                pa.types.is_null,
            )
        ):
            raise self._not_numbers(kind)
        values: Any = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return np.asarray(values, dtype=np.float64)

    def _require_short(self, column: pa.DictionaryArray) -> None:
        """Raise InputError for a text that is too long to be a number, before each row gets a copy."""
        kind = column.dictionary.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
            if (pc.max(lengths).as_py() or 0) > _LONGEST_NUMBER:
                index = pc.index(pc.greater(lengths, _LONGEST_NUMBER), True).as_py()
                raise not_a_number(self._where(index), _start_of(column, index))

    def _parsed(self, column: pa.Array) -> pa.Array:
        """Parse numbers that are written as strings; blank ones and NaN are missing."""
        texts = pc.utf8_trim_whitespace(column)
        texts = pc.if_else(pc.is_in(pc.utf8_lower(texts), _MISSING), None, texts)
        wrong = pc.invert(pc.match_substring_regex(texts, _NUMBER))
        if pc.any(wrong).as_py():
            index = pc.index(wrong, True).as_py()
            raise not_a_number(self._where(index), column[index].as_py())
        return texts.cast(pa.float64())

    def _checked(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the confidences on the scale of votes; raise InputError for the first invalid one."""
        columns = self.table.columns
        good = permitted(values, columns.positive_for is not None and columns.convert is None)
        if not good.all():
            bad = np.flatnonzero(~(good | np.isnan(values)))
            if len(bad):
                at = int(bad[0])
                raise not_a_confidence(self._where(at), float(values[at]), columns.positive_for)
        if columns.convert is not None:
            return columns.convert(values, lambda at: f"{self._where(at)}: confidence")
        return values

    def _flags(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """Return booleans, from true and false, 1 and 0, and the same as text."""
        column = batch.column(name)
        if pa.types.is_boolean(column.type):
            return column
        texts = self._labels(batch, name)
        meaning = [text and FLAGS.get(text.lower()) for text in texts.dictionary.to_pylist()]
        flags = pa.array(meaning, pa.bool_()).take(texts.indices)
        if flags.null_count > texts.null_count:
            index = pc.index(pc.and_(flags.is_null(), texts.is_valid()), True).as_py()
            raise not_a_flag(self._where(index), texts[index].as_py())
        return flags


_MISSING = pa.array(["", "nan"])


def _start_of(column: pa.DictionaryArray, index: int) -> str:
    value = column.dictionary[column.indices[index].as_py()].as_buffer()
    return bytes(value[:100]).decode("utf-8", "replace")


def _first_without_label(column: pa.Array) -> int:
    """Return the index of the first value without a label, by bisection."""
    if pa.types.is_dictionary(column.type):
        code = _first_without_label(column.dictionary)
        return max(0, int(pc.index(column.indices, pa.scalar(code, column.indices.type)).as_py()))
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            Labeller()(column.slice(low, middle - low))
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low
