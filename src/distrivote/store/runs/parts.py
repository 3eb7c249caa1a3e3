"""The Parquet parts of a run: written atomically, checked, read.

    parts/part-<writer>-<number>-<checksum>.parquet

A part is never seen incomplete. The checksum in its name is the CRC-32 of the file before its footer and that
of the footer (from the file metadata to the end). A footer is always checked; the rest at once if a run is
opened for writing or the part is small, otherwise, and in an object store, page by page as it is read.
`claims` determines when a part begins to count.
"""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from distrivote.errors import InputError
from distrivote.store.columns import QUESTION_ID, SAMPLE
from distrivote.store.runs.claims import Order, claim, release
from distrivote.store.runs.folder import Folder, Place, cant_write, folder_at
from distrivote.store.runs.schema import DICTIONARIES, ENCODINGS, SCHEMA
from distrivote.store.tables.parquet_sizes import (
    TooLargeError,
    allowance,
    check_declared,
    check_footer,
    declared_bytes,
    n_bytes_repeated,
    text_columns,
)

FOLDER = "parts"
SMALL = 64 << 20
"""In bytes; a part up to this size is checked completely whenever it is listed."""

N_GROUP_ROWS = 8192
GROUP_BYTES = 16 << 20
_NAME = re.compile(r"part-[0-9a-z]+-\d+-(?P<body>[0-9a-f]{8})(?P<footer>[0-9a-f]{8})\.parquet")
_WRITTEN, _REPLACES, _ORDER = b"distrivote.written", b"distrivote.replaces", b"distrivote.order"
_FOREIGN = 2**63 - 1


class Part(NamedTuple):
    """One file of a run."""

    name: str
    run: Folder
    n_bytes: int
    n_raw_bytes: int
    """Before compression."""

    n_rows: int

    written: int
    """The time in nanoseconds; for a merged part, that of its oldest source."""

    replaces: frozenset[str]
    """The names of the parts that it was merged from."""

    order: Order | None = None
    """Its position; None if only its claim has it, and in runs of earlier versions."""

    is_claimed: bool = False
    """Whether its writer claims its parts: then it counts only if there is a claim."""


def write_part(run: Place, writer: str, number: int, table: pa.Table, merged: Sequence[Part] = ()) -> Part:
    """Write a table as a part, claim it, and return it; raise InputError if it can't be written.

    A merged part gets the position of the first of its sources.
    """
    written = min((part.written for part in merged), default=time.time_ns())
    replaces = sorted(part.name for part in merged)
    order = min((part.order for part in merged if part.order is not None), default=None)
    metadata = {_WRITTEN: str(written), _REPLACES: json.dumps(replaces), _ORDER: json.dumps(order)}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(metadata),
        sink,
        compression="zstd",
        compression_level=3,
        use_dictionary=list(DICTIONARIES),
        column_encoding=ENCODINGS,
        row_group_size=_n_group_rows(table),
        write_page_checksum=True,
    )
    content = sink.getvalue().to_pybytes()
    n_footer = _footer_size(content[-8:])
    checksum = f"{zlib.crc32(content[:-n_footer]):08x}{zlib.crc32(content[-n_footer:]):08x}"
    folder, name = folder_at(run), f"part-{writer}-{number:06d}-{checksum}.parquet"
    try:
        folder.write(f"{FOLDER}/{name}", content)
    except OSError as error:
        raise cant_write(folder, FOLDER, error) from error
    number = claim(folder, [name])
    sizes = (len(content), table.nbytes, table.num_rows)
    return Part(name, folder, *sizes, written, frozenset(replaces), order or Order(number), True)


def _n_group_rows(table: pa.Table) -> int:
    """Return how many rows to write together: few if they are large, so that reading one is fast."""
    row_bytes: int = max(1, table.nbytes // max(1, len(table)))
    return max(16, min(N_GROUP_ROWS, GROUP_BYTES // row_bytes))


def replace_parts(merged: Sequence[Part]) -> None:
    """Remove parts that another was merged from; first their claims, and those of what they replaced."""
    if merged:
        run = merged[0].run
        release(run, [name for part in merged for name in (part.name, *part.replaces)])
        run.remove(f"{FOLDER}/{part.name}" for part in merged)


def _footer_size(tail: bytes) -> int:
    """Return the size of the footer (metadata, its length and the magic number) from the last eight bytes."""
    if len(tail) < 8 or tail[-4:] != b"PAR1":
        raise Damage("it is truncated")
    return int.from_bytes(tail[:4], "little") + 8


class Damage(Exception):
    """What is wrong with a part."""


def checked(run: Folder, name: str, whole: bool) -> Part:
    """Return the part in a file, or raise Damage."""
    sums = _NAME.fullmatch(name)
    with run.open(f"{FOLDER}/{name}") as file:
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(0, n_bytes - 8))
        n_footer = _footer_size(file.read(8))
        if n_footer > n_bytes:
            raise Damage("it is truncated")
        try:
            check_footer(file)
        except TooLargeError as error:
            raise Damage(str(error)) from error
        if sums is not None:
            file.seek(n_bytes - n_footer)
            _compare(zlib.crc32(file.read()), sums["footer"])
            if run.is_near and (whole or n_bytes <= SMALL):
                file.seek(0)
                _compare(_crc(file, n_bytes - n_footer), sums["body"])
        file.seek(0)
        try:
            footer = pq.read_metadata(file)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise Damage(f"it can't be read: {_first_line(error)}") from error
    metadata = footer.metadata or {}
    try:
        replaces = frozenset(json.loads(metadata.get(_REPLACES, b"[]")))
        written = int(metadata.get(_WRITTEN, _FOREIGN))
        place = json.loads(metadata.get(_ORDER, b"null"))
        order = None if place is None else Order(*map(int, place))
    except (ValueError, TypeError, RecursionError) as error:
        raise Damage("its metadata can't be read") from error
    try:
        check_declared(footer, n_bytes)
    except TooLargeError as error:
        raise Damage(str(error)) from error
    sizes = (n_bytes, declared_bytes(footer), footer.num_rows)
    return Part(name, run, *sizes, written, replaces, order, _ORDER in metadata)


def _is_ours(part: Part) -> bool:
    """Whether a part's name has the checksum of its content, which was compared when it was listed."""
    return _NAME.fullmatch(part.name) is not None


def _crc(file: BinaryIO, n_bytes: int) -> int:
    crc = 0
    while n_bytes:
        block = file.read(min(n_bytes, 1 << 20))
        if not block:
            break
        crc = zlib.crc32(block, crc)
        n_bytes -= len(block)
    return crc


def _compare(crc: int, expected: str) -> None:
    if f"{crc:08x}" != expected:
        raise Damage("its checksum does not match")


_LARGE = 1 << 20
"""Bytes from which on a part is decoded by several threads. Small ones gain nothing, and a program that ends
while pyarrow starts its first thread is aborted (seen in 1 of 40 exports of a small run)."""


def read_part(
    part: Part,
    columns: Sequence[str],
    question_id: str | None = None,
    most: int | None = None,
    *,
    schema: pa.Schema = SCHEMA,
) -> pa.Table:
    """Return columns of a part, or of one question in it, with nulls for missing columns.

    `question_id` must be among the columns if only one question is requested. Content that would take more
    than `most` bytes of memory is not read; None: the default limit for a file of its size. `schema` has the
    types.

    Raises FileNotFoundError if it has been merged since, ValueError if it is damaged.
    """
    most = allowance(part.n_bytes) if most is None else most
    try:
        with part.run.open(f"{FOLDER}/{part.name}") as source:
            metadata = pq.read_metadata(source)
            check_declared(metadata, part.n_bytes, most)
            stored = metadata.schema.to_arrow_schema()
            known = set(stored.names)
            there = [name for name in columns if name in known]
            ours = _is_ours(part)
            # Distinct texts are read faster without a dictionary, and only foreign parts repeat texts.
            held_once = [
                name for name in text_columns(stored) if name in there and (name in DICTIONARIES or not ours)
            ]
            groups = _groups_with(part, metadata, question_id)
            file = pq.ParquetFile(
                source,
                metadata=metadata,
                read_dictionary=held_once,
                page_checksum_verification=True,
                pre_buffer=True,
            )
            table = file.read_row_groups(groups, there, use_threads=part.n_bytes > _LARGE)
        n_bytes = table.nbytes + sum(n_bytes_repeated(table[name]) for name in held_once)
        _require(n_bytes <= most, "its content would not fit into memory")
        fields = [schema.field(name) for name in columns]
        arrays = [
            table[field.name].cast(field.type) if field.name in known else pa.nulls(len(table), field.type)
            for field in fields
        ]
        table = pa.table(arrays, schema=pa.schema([field.with_nullable(True) for field in fields]))
        _check_values(table)
        return table if question_id is None else table.filter(pc.equal(table[QUESTION_ID], question_id))
    except (FileNotFoundError, InputError):
        raise
    except (pa.ArrowException, OSError, LookupError, UnicodeDecodeError) as error:
        raise ValueError(_first_line(error)) from error


def _check_values(table: pa.Table) -> None:
    """Raise ValueError if rows have no valid key, or texts are not UTF-8."""
    for name in table.column_names:
        if pa.types.is_string(table[name].type):
            # Parquet readers do not check strings.
            table[name].validate(full=True)
        elif pa.types.is_list(table[name].type):
            inside = pc.list_flatten(table[name])
            _require(not inside.null_count, f"a {name} has gaps")
            if pa.types.is_integer(inside.type) and len(inside):
                _require(pc.min(inside).as_py() >= 0, f"a {name} has a number below 0")
    for name in {QUESTION_ID, SAMPLE}.intersection(table.column_names):
        _require(not table[name].null_count, f"a row has no {name}")
    if SAMPLE in table.column_names and len(table):
        _require(pc.min(table[SAMPLE]).as_py() >= 0, "a sample has a number below 0")


def _require(fits: bool, complaint: str) -> None:
    if not fits:
        raise ValueError(complaint)


def _groups_with(part: Part, metadata: Any, question_id: str | None) -> list[int]:
    """Return the row groups that may hold the question, by their statistics.

    The statistics of a part without a checksum are not used: pyarrow aborts the process on damaged ones.
    """
    groups = list(range(metadata.num_row_groups))
    leaves = [metadata.schema.column(leaf).path for leaf in range(metadata.num_columns)]
    if question_id is None or QUESTION_ID not in leaves or not _is_ours(part):
        return groups
    column = leaves.index(QUESTION_ID)
    known = ((group, metadata.row_group(group).column(column).statistics) for group in groups)
    return [
        group
        for group, told in known
        if told is None or not told.has_min_max or told.min <= question_id <= told.max
    ]


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def question_starts(table: pa.Table) -> list[int]:
    """Return the row at which each question begins; rows of a question are consecutive.

    >>> question_starts(pa.table({"question_id": ["b", "b", "a", "c", "c"]}))
    [0, 2, 3]
    """
    codes = _coded_questions(table).indices.to_numpy()
    return [int(row) for row in np.flatnonzero(np.diff(codes, prepend=-1))]


def _coded_questions(table: pa.Table) -> pa.DictionaryArray:
    codes = table[QUESTION_ID].combine_chunks().dictionary_encode()
    return codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes


def first_of_each(table: pa.Table) -> npt.NDArray[np.int64]:
    """Return the rows to keep, the first for each sample, in the order of question and sample.

    >>> ids, samples = ["b", "a", "b", "b"], pa.array([0, 5, 1, 0], pa.int32())
    >>> first_of_each(pa.table({"question_id": ids, "sample": samples})).tolist()
    [1, 0, 2]
    """
    ids = _coded_questions(table)
    names = ids.dictionary.to_pylist()
    ranks = np.empty(len(names), np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    keys = ranks[ids.indices.to_numpy()] << 32 | table[SAMPLE].to_numpy().astype(np.int64)
    return np.unique(keys, return_index=True)[1].astype(np.int64)
