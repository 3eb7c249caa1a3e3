"""How much memory a Parquet file may take, from its footer, before anything is read.

The limit is against files that hold far more than their size suggests: a billion equal rows, a long text
repeated in every row, columns that decompress to many gigabytes. The sizes are those that the file's footer
declares. A footer that was forged to declare less is not detected: docs/reliability.md says what that means.

Only `RowGroupMetaData.total_byte_size` is used: `RowGroupMetaData.column` aborts the process on a damaged
footer whose statistics contradict themselves.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

LARGEST_FOOTER = 8 << 20
"""In bytes; the reader uses a hundred times as much memory."""

_FREE = 1 << 30
_FREE_ROWS = 10_000_000
_PER_BYTE = 64


class TooLargeError(ValueError):
    """A file holds too much; the message completes a sentence about it."""


def allowance(n_bytes: int) -> int:
    """Return how much memory the content of a file of `n_bytes` bytes may take."""
    return _FREE + _PER_BYTE * n_bytes


def check_footer(file: BinaryIO) -> None:
    """Raise TooLargeError if the footer is larger than that of any real file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    n_footer = min(size, int.from_bytes(file.read(4), "little"))
    file.seek(0)
    if n_footer > LARGEST_FOOTER:
        raise TooLargeError(
            f"its footer takes {n_footer >> 20} MB, and at most {LARGEST_FOOTER >> 20} are read"
        )


def declared_bytes(metadata: Any) -> int:
    """Return how many bytes the columns of a file take decompressed, as its footer declares."""
    groups = range(metadata.num_row_groups)
    return sum(max(0, metadata.row_group(group).total_byte_size) for group in groups)


def check_declared(metadata: Any, n_bytes: int, most: int | None = None) -> None:
    """Raise TooLargeError if a file of n_bytes declares implausibly much, or more than `most`."""
    if not 0 <= metadata.num_rows <= _FREE_ROWS + _PER_BYTE * n_bytes:
        raise TooLargeError(f"it claims {metadata.num_rows:,} rows in {n_bytes:,} bytes")
    if declared_bytes(metadata) > (allowance(n_bytes) if most is None else most):
        raise TooLargeError("its content would not fit into memory")


def text_columns(schema: pa.Schema) -> list[str]:
    """Return the columns of texts; as dictionaries, a repeated text is held once.

    >>> text_columns(pa.schema({"answer": pa.string(), "k": pa.int32(), "tags": pa.list_(pa.string())}))
    ['answer']
    """
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return [field.name for field in schema if any(each(field.type) for each in is_text)]


def n_bytes_repeated(column: pa.ChunkedArray) -> int:
    """Return how many bytes the texts of a column take without a dictionary."""
    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type) and not pa.types.is_nested(chunk.type.value_type):
            lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
            total += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return total
