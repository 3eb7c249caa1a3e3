"""Labels: the text of an answer, by one rule for JSON values and for Arrow columns.

Equal labels are the same answer: 42 and 42.0 are "42", booleans are "true" and "false", strings are
unchanged. None, NaN and blank strings are no answer. Whether "1/2" equals "0.5" is decided by `classes`, once
questions are complete.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from distrivote.errors import InputError

CODES = pa.int32()
LABELS = pa.dictionary(CODES, pa.string())
"""The type of every column of labels: indices into the distinct labels of its batch."""


class NotOneValue(Exception):
    """A list, an object or bytes where a single value is expected; the argument says which."""


def label(value: object) -> str | None:
    """Return the label of one value, None for no answer.

    >>> label(42.0), label(42), label(True), label(" "), label("0.50")
    ('42', '42', 'true', None, '0.50')
    """
    if value is None:
        return None
    if isinstance(value, str):
        return value if value and not value.isspace() else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        if value.is_nan():
            return None
        whole = value.is_finite() and value == value.to_integral_value()
        return str(int(value)) if whole else str(value.normalize())
    raise NotOneValue(f"a {_JSON_NAMES.get(type(value), type(value).__name__)}")


def label_at(value: object, where: Callable[[], str], column: str) -> str | None:
    """Return the label of the value of a column; raise InputError if it is not one value."""
    try:
        return label(value)
    except NotOneValue as error:
        raise InputError(f"{where()}: {column} is {error}: it must be one string or number") from error


_JSON_NAMES: dict[type, str] = {list: "list", dict: "JSON object"}


class Labeller:
    """Turns the batches of a column into indices and distinct labels (null: no answer).

    Only distinct values are converted one by one, never the rows, and not again if the next batch has the
    same ones, as the batches of a Parquet row group do.

    >>> Labeller()(pa.array([42.0, None, 42.0, 0.5])).to_pylist()
    ['42', None, '42', '0.5']
    """

    def __init__(self) -> None:
        self._values: pa.Array | None = None
        self._texts: pa.Array | None = None
        self._recoded: pa.Array | None = None

    def __call__(self, column: pa.Array) -> pa.DictionaryArray:
        if pa.types.is_null(column.type):
            return column.cast(pa.string()).dictionary_encode()
        if not pa.types.is_dictionary(column.type):
            _check_one_value(column.type)
            column = column.dictionary_encode()
        if self._values is None or not column.dictionary.equals(self._values):
            self._look_at(column.dictionary)
        codes = column.indices.cast(CODES)
        if self._recoded is not None:
            codes = self._recoded.take(codes)
        return pa.DictionaryArray.from_arrays(codes, self._texts)

    def _look_at(self, values: pa.Array) -> None:
        _check_one_value(values.type)
        texts = _texts(values)
        distinct = texts.dictionary_encode()
        self._values, self._texts, self._recoded = values, texts, None
        if len(distinct.dictionary) < len(texts):
            self._texts, self._recoded = distinct.dictionary, distinct.indices


def _check_one_value(kind: Any) -> None:
    """Raise NotOneValue for Arrow types with several values in a row."""
    if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
        raise NotOneValue(f"of type {kind}")


def _texts(values: pa.Array) -> pa.Array:
    """Return the label of each distinct value, null where it is no answer."""
    kind = values.type
    if pa.types.is_floating(kind):
        # Through text, so that a float32 of 0.1 is "0.1" and not "0.10000000149011612".
        numbers = values.cast(pa.string()).to_pylist()
        return pa.array([label(n and float(n)) for n in numbers], pa.string())
    if pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return pa.array([label(value) for value in values.to_pylist()], pa.string())
    texts = values.cast(pa.string())
    # Parquet readers do not check strings; this check fails if they are not UTF-8.
    texts.validate(full=True)
    blank = pc.equal(pc.utf8_trim_whitespace(texts), "")
    return pc.if_else(blank, None, texts) if pc.any(blank).as_py() else texts


def text_array(texts: list[str | None]) -> pa.Array:
    """Return the texts as an Arrow array; a lone surrogate, which has no UTF-8, is escaped."""
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        spelt = [t and t.encode("utf-8", "backslashreplace").decode() for t in texts]
        return pa.array(spelt, pa.string())
