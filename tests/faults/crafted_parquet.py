"""Parquet files written by hand, so that they can claim anything: a billion rows in a hundred bytes.

Every column is a text or a number that is the same in all rows, or a list of numbers in the one row there is.
https://github.com/apache/parquet-format has the fields; they are written in Thrift's compact protocol.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import pyarrow as pa

PLAIN, RLE_DICTIONARY = 0, 8
_TYPES = {"int32": 1, "int64": 2, "float": 4, "double": 5, "text": 6}
_FORMATS = {"int32": "<i", "int64": "<q", "float": "<f", "double": "<d"}
_CODECS = {"none": 0, "gzip": 2, "zstd": 6}


class Column(NamedTuple):
    """A column with one value in all rows."""

    name: str
    kind: str
    value: Any
    n_repeated: int = 0
    """If not 0, the column is a list, and its first row holds the value so many times."""

    packing: str = "none"
    histogram: tuple[int, ...] = ()
    """If not empty, how often each level is said to occur; a wrong length makes pyarrow end the process."""

    claim: int | None = None
    """The unpacked size that its data page claims, instead of the real one."""


def crafted(columns: list[Column], n_rows: int, metadata: dict[str, str] | None = None) -> bytes:
    """Return a Parquet file of n_rows equal rows, however many."""
    content = b"PAR1"
    chunks = []
    for column in columns:
        start = len(content)
        n_values = column.n_repeated or n_rows
        dictionary = _value(column)
        content += _page(2, dictionary, column, {1: 1, 2: PLAIN})
        data_at = len(content)
        # A repetition level of 1 says: the same row goes on.
        levels = _levels([(1, 0), (n_values - 1, 1)]) if column.n_repeated else b""
        levels += _levels([(n_values, 1)])
        codes = b"\x01" + _varint(n_values << 1) + b"\0"
        about = {1: n_values, 2: RLE_DICTIONARY, 3: 3, 4: 3}
        content += _page(0, levels + codes, column, about, column.claim)
        chunks.append(_chunk(column, n_values, start, data_at, len(content)))
    group = {1: [{2: Long(0), 3: chunk} for chunk in chunks], 2: Long(len(content)), 3: Long(n_rows)}
    return closed(content, columns, [group], n_rows, metadata)


def closed(
    content: bytes, columns: list[Column], groups: list[Any], n_rows: int, metadata: dict[str, str] | None
) -> bytes:
    """Return the content with a footer."""
    schema: list[Any] = [{4: b"schema", 5: len(columns)}]
    for column in columns:
        leaf = {
            1: _TYPES[column.kind],
            3: 2 if column.n_repeated else 1,
            4: column.name.encode("utf-8", "surrogateescape"),
        }
        schema.append(leaf | ({6: 0} if column.kind == "text" else {}))
    about: dict[int, Any] = {1: 1, 2: schema, 3: Long(n_rows), 4: groups}
    if metadata:
        about[5] = [{1: key.encode(), 2: value.encode()} for key, value in metadata.items()]
    footer = _struct(about)
    return content + footer + struct.pack("<I", len(footer)) + b"PAR1"


class Long(int):
    """A whole number of 64 bits."""


def _chunk(column: Column, n_values: int, start: int, data_at: int, end: int) -> dict[int, Any]:
    about: dict[int, Any] = {
        1: _TYPES[column.kind],
        2: [PLAIN, RLE_DICTIONARY],
        3: [column.name.encode("utf-8", "surrogateescape")],
        4: _CODECS[column.packing],
        5: Long(n_values),
        6: Long(end - start),
        7: Long(end - (start or data_at)),
        9: Long(data_at),
    }
    if column.histogram:
        about[16] = {3: [Long(n) for n in column.histogram]}
    return about | ({11: Long(start)} if start else {})


def _value(column: Column) -> bytes:
    if column.kind == "text":
        return struct.pack("<I", len(column.value)) + column.value.encode()
    return struct.pack(_FORMATS[column.kind], column.value)


def _page(kind: int, body: bytes, column: Column, about: dict[int, Any], claim: int | None = None) -> bytes:
    packed = body if column.packing == "none" else pa.compress(body, column.packing, asbytes=True)
    header = {1: kind, 2: len(body) if claim is None else claim, 3: len(packed)}
    return _struct(header | {5 if kind == 0 else 7: about}) + packed


def _levels(runs: list[tuple[int, int]]) -> bytes:
    body = b"".join(_varint(n << 1) + bytes([level]) for n, level in runs if n)
    return struct.pack("<I", len(body)) + body


# Thrift's compact protocol


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else ((-value) << 1) - 1)


def _struct(fields: dict[int, Any]) -> bytes:
    out, before = b"", 0
    for number, value in sorted(fields.items()):
        assert 0 < number - before < 16
        kind, body = _encoded(value)
        out += bytes([(number - before) << 4 | kind]) + body
        before = number
    return out + b"\0"


def _encoded(value: Any) -> tuple[int, bytes]:
    if isinstance(value, Long):
        return 6, _zigzag(value)
    if isinstance(value, int):
        return 5, _zigzag(value)
    if isinstance(value, bytes):
        return 8, _varint(len(value)) + value
    if isinstance(value, dict):
        return 12, _struct(value)
    items = [_encoded(item) for item in value]
    kind = items[0][0] if items else 12
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + _varint(len(items))
    return 9, head + b"".join(body for _, body in items)
