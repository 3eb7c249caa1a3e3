"""How much memory would the columns of a Parquet file take? Told from its pages, before any is unpacked.

A file may claim anything: a billion rows in a hundred bytes, a page that unpacks to 2 GB. The reader believes
it and asks for the memory. So the header of every page that is about to be read is looked at first, which
takes some ten microseconds each. What the footer says of sizes and counts is not relied on. It is read here
and not by pyarrow, whose `RowGroupMetaData.column` ends the process on a footer that contradicts itself.

Both are in Thrift's compact protocol; https://github.com/apache/parquet-format has the fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

LARGEST_PAGE = 128 << 20
"""In bytes, unpacked. Writers make pages of about 1 MB."""

LARGEST_FOOTER = 8 << 20
"""In bytes; the reader takes a hundred times as much memory."""

_MANY = 64 << 20
"""In bytes; what lists of texts may take without a look at how long the texts are."""

_FREE = 1 << 30
_FREE_ROWS = 10_000_000
_PER_BYTE = 64
_LARGEST_PREFIXED_PAGE = 2 << 20
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""By type: boolean, whole numbers of 32, 64 and 96 bits, float, double. 6 is of any length, 7 of its own."""

_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4", 6: "zstd", 7: "lz4_raw"}
_LEVELS = 8
"""Bytes beside each value: offsets, and the levels that say where lists begin and what is null."""

_HEADER_SIZES = (256, 1 << 16, 1 << 20)
_DEEPEST = 10
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_PREFIXED = 7
"""DELTA_BYTE_ARRAY: each value is a part of the one before, and more."""


class PagesError(ValueError):
    """What is wrong with a file's pages, as the end of a sentence about it."""


class Weight(NamedTuple):
    """The memory that a column takes."""

    n_bytes: int
    """As it is read, with repeated values held once."""

    n_bytes_repeated: int
    """At most, with every value held for itself, which lists of texts always are."""

    is_nested: bool

    has_prefixes: bool
    """Whether values lean on those before them, so that some thousand can be large at once."""


def allowance(n_bytes: int) -> int:
    """Return how much memory the content of a file of so many bytes may take."""
    return _FREE + _PER_BYTE * n_bytes


def check_footer(n_footer: int) -> None:
    """Raise PagesError if a footer is larger than any that was meant."""
    if n_footer > LARGEST_FOOTER:
        raise PagesError(f"its footer takes {n_footer >> 20} MB, and at most {LARGEST_FOOTER >> 20} are read")


def check_rows(n_rows: int, n_bytes: int) -> None:
    """Raise PagesError if a file has far more rows than its bytes can mean."""
    if not 0 <= n_rows <= _FREE_ROWS + _PER_BYTE * n_bytes:
        raise PagesError(f"it claims {n_rows:,} rows in {n_bytes:,} bytes")


class Chunk(NamedTuple):
    """Where a column of a row group is, as the footer says it."""

    kind: int
    codec: int
    n_values: int
    n_packed: int
    data_at: int
    dictionary_at: int
    least: bytes | None
    """The smallest and the largest value, None where they are not told."""

    most: bytes | None


def chunks_of(file: BinaryIO) -> list[list[Chunk]]:
    """Return the columns of each row group; PagesError if the footer is none."""
    n_file = file.seek(0, 2)
    file.seek(max(0, n_file - 8))
    n_footer = int.from_bytes(file.read(4), "little")
    check_footer(n_footer)
    file.seek(max(0, n_file - 8 - n_footer))
    try:
        footer = _Compact(file.read(n_footer)).struct()
        return [[_chunk(column[3]) for column in group[1]] for group in footer[4]]
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise PagesError("its footer can't be read") from error


def _chunk(about: dict[int, Any]) -> Chunk:
    kind, codec, n_values, n_packed, data_at = (_whole(about[field]) for field in (1, 4, 5, 7, 9))
    known = about.get(12, {})
    least, most = (each if isinstance(each, bytes) else None for each in (known.get(6), known.get(5)))
    return Chunk(kind, codec, n_values, n_packed, data_at, _whole(about.get(11, 0)), least, most)


def weigh(
    file: BinaryIO, metadata: Any, columns: Collection[str], groups: Iterable[int] | None = None
) -> dict[str, Weight]:
    """Return the weight of columns, by name, in row groups (all if None) of a file; PagesError if it lies."""
    weights: dict[str, Weight] = {}
    n_file = file.seek(0, 2)
    chunks = chunks_of(file)
    leaves = [metadata.schema.column(leaf) for leaf in range(metadata.num_columns)]
    for number in range(len(chunks)) if groups is None else groups:
        if len(chunks[number]) != len(leaves):
            raise PagesError("a row group has other columns than the file")
        for leaf, chunk in zip(leaves, chunks[number], strict=True):
            name = leaf.path.partition(".")[0]
            if name not in columns:
                continue
            width = max(0, leaf.length) if chunk.kind == 7 else _WIDTHS.get(chunk.kind)
            before = weights.get(name, Weight(0, 0, False, False))
            found = _weight_of_chunk(file, chunk, width, n_file, "." in leaf.path)
            weights[name] = Weight(
                before.n_bytes + found.n_bytes,
                before.n_bytes_repeated + found.n_bytes_repeated,
                before.is_nested or found.is_nested,
                before.has_prefixes or found.has_prefixes,
            )
    return weights


def n_bytes_repeated(column: pa.ChunkedArray) -> int:
    """Return how many bytes the texts of a column take when every value is held for itself."""
    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type) and not pa.types.is_nested(chunk.type.value_type):
            lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
            total += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return total


def _weight_of_chunk(file: BinaryIO, chunk: Chunk, width: int | None, n_file: int, is_nested: bool) -> Weight:
    at = chunk.data_at
    if 0 < chunk.dictionary_at < at:
        at = chunk.dictionary_at
    end = at + chunk.n_packed
    if not 0 <= at <= end <= n_file:
        raise PagesError("its columns are not where it says")
    n_values = n_pages_bytes = n_dictionary = 0
    has_prefixes = False
    dictionary = None
    while at < end and n_values < chunk.n_values:
        page = _page(file, at, end)
        at = page.end
        if page.kind == _DICTIONARY:
            n_dictionary += page.n_bytes
            dictionary = page
        elif page.kind in (_DATA, _DATA_V2):
            n_values += page.n_values
            n_pages_bytes += page.n_bytes
            if page.encoding == _PREFIXED and width is None:
                has_prefixes = True
                if page.n_bytes > _LARGEST_PREFIXED_PAGE:
                    raise PagesError("it has large pages of values that lean on each other")
    if width is not None:
        n_bytes = n_values * (width + _LEVELS)
        return Weight(n_bytes, n_bytes, is_nested, False)
    n_bytes = n_values * _LEVELS + n_pages_bytes + n_dictionary
    longest = n_dictionary
    if is_nested and dictionary is not None and n_values * n_dictionary > _MANY:
        longest = min(longest, _longest_value(file, dictionary, chunk.codec))
    repeated = n_bytes + n_values * longest
    if has_prefixes:
        repeated += n_values * n_pages_bytes
    return Weight(n_bytes, repeated, is_nested, has_prefixes)


def _longest_value(file: BinaryIO, page: _Page, codec: int) -> int:
    """Return the bytes of the longest text in a dictionary, all of it where it can't be looked into."""
    file.seek(page.end - page.n_packed)
    content = file.read(page.n_packed)
    if codec:
        try:
            content = pa.decompress(content, page.n_bytes, _CODECS.get(codec, ""), asbytes=True)
        except (pa.ArrowException, OSError, ValueError):
            return page.n_bytes
    at = longest = 0
    while at + 4 <= len(content):
        length = int.from_bytes(content[at : at + 4], "little")
        longest = max(longest, length)
        at += 4 + length
    return longest


class _Page(NamedTuple):
    kind: int
    n_bytes: int
    n_packed: int
    n_values: int
    encoding: int
    end: int
    """Where the next page begins."""


def _page(file: BinaryIO, at: int, end: int) -> _Page:
    file.seek(at)
    content = b""
    header: dict[int, Any] = {}
    for size in _HEADER_SIZES:
        content += file.read(min(size, end - at) - len(content))
        reader = _Compact(content)
        try:
            header = reader.struct()
            break
        except IndexError:
            if at + len(content) >= end:
                break
    try:
        kind, n_bytes, n_packed = (_whole(header[field]) for field in (1, 2, 3))
        about = header.get({_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}.get(kind, 0), {})
        n_values = _whole(about.get(1, 0))
        encoding = _whole(about.get(4 if kind == _DATA_V2 else 2, 0))
    except (AttributeError, KeyError, TypeError) as error:
        raise PagesError("a page has no header") from error
    after = at + reader.at + n_packed
    if min(n_bytes, n_packed, n_values) < 0 or after > end:
        raise PagesError("a page is not as large as it says")
    if max(n_bytes, n_packed) > LARGEST_PAGE:
        raise PagesError(f"a page unpacks to {max(n_bytes, n_packed) >> 20} MB")
    return _Page(kind, n_bytes, n_packed, n_values, encoding, after)


class _Compact:
    """Reads Thrift's compact protocol; IndexError where the content ends."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if not head:
                return fields
            number = number + (head >> 4) if head >> 4 else _zigzag(self._varint())
            fields[number] = self._value(head & 15, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return _zigzag(self._varint())
        if kind == 12 and depth < _DEEPEST:
            return self.struct(depth + 1)
        if kind in (3, 7, 8):
            return self._bytes(self._varint() if kind == 8 else {3: 1, 7: 8}[kind])
        if kind in (9, 10) and depth < _DEEPEST:
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._varint()
            inside = 3 if head & 15 in (1, 2) else head & 15
            return [self._value(inside, depth + 1) for _ in range(n)]
        # Nothing else is in footers and in headers of pages.
        raise PagesError("a page or the footer can't be read")

    def _byte(self) -> int:
        byte = self.content[self.at]
        self.at += 1
        return byte

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise PagesError("a page has no header")

    def _bytes(self, n: int) -> bytes:
        self.at += n
        if self.at > len(self.content):
            raise IndexError
        return self.content[self.at - n : self.at]


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value


def _zigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)
