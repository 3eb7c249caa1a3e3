"""Converted copies of a set: one table with all pools, which the registry's columns tell apart."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from distrivote.errors import InputError
from distrivote.pools.archives import one_line
from distrivote.pools.published import PublishedPool, TableCopy
from distrivote.store.tables.parquet_sizes import (
    TooLargeError,
    allowance,
    check_declared,
    check_footer,
    n_bytes_repeated,
    text_columns,
)


def pools_in(path: Path, copy: TableCopy) -> frozenset[tuple[str | None, str | None]] | None:
    """Return the models and benchmarks of a copy; None for a column that it lacks, or for both."""
    if copy.model is None and copy.benchmark is None:
        return None
    status = os.stat(path)
    return _pools_in(path, copy.model, copy.benchmark, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _pools_in(
    path: Path, model: str | None, benchmark: str | None, _changed: int, _size: int
) -> frozenset[tuple[str | None, str | None]]:
    there = _names(path)
    columns = [name if name in there else None for name in (model, benchmark)]
    table = _read(path, [name for name in columns if name is not None])
    distinct = table.group_by(table.column_names).aggregate([]).to_pylist()
    return frozenset(
        tuple(None if name is None else str(row[name]) for name in columns)  # type: ignore[misc]
        for row in distinct
    )


def rows_of(path: Path, copy: TableCopy, pool: PublishedPool) -> pa.Table:
    """Return the rows of one pool."""
    there = _names(path)
    wanted = ["question_id", "confidence", "ground_truth", "correct", copy.answer]
    filters = [
        (name, value)
        for name, value in ((copy.model, pool.model), (copy.benchmark, pool.benchmark))
        if name is not None and name in there
    ]
    names = [name for name in wanted if name in there]
    table = _read(path, [*names, *(name for name, _ in filters)])
    for name, value in filters:
        table = table.filter(pc.equal(table[name].cast(pa.string()), value))
    if not len(table):
        raise InputError(f"{path} has no row of {pool.name}")
    return table.select(names)


def _names(path: Path) -> list[str]:
    """Return the columns; raise InputError for a file that is damaged or declares implausibly much."""
    try:
        with path.open("rb") as file:
            check_footer(file)
            metadata = pq.read_metadata(file)
        check_declared(metadata, path.stat().st_size)
        return list(metadata.schema.to_arrow_schema().names)
    except _FAULTS as error:
        raise _unreadable(path, error) from error


def _read(path: Path, names: list[str]) -> pa.Table:
    """Return columns of texts and numbers; texts that repeat are held once."""
    try:
        schema = pq.read_schema(path)
        texts = [name for name in text_columns(schema) if name in names]
        for name in names:
            if pa.types.is_nested(schema.field(name).type):
                raise ValueError(f"its column {name!r} is of type {schema.field(name).type}")
        table = pq.read_table(path, columns=list(dict.fromkeys(names)), read_dictionary=texts)
        if table.nbytes + sum(n_bytes_repeated(table[name]) for name in texts) > allowance(
            path.stat().st_size
        ):
            raise TooLargeError("its content would not fit into memory")
        table = table.cast(pa.schema([(field.name, _plain(field.type)) for field in table.schema]))
        table.validate(full=True)
        return table
    except _FAULTS as error:
        raise _unreadable(path, error) from error


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


_FAULTS = (pa.ArrowException, OSError, ValueError, LookupError)


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} can't be read as Parquet ({one_line(error)})")
