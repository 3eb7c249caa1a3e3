"""Converted copies of a set: one table with all pools, which the registry's columns tell apart."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from distrivote.errors import InputError
from distrivote.pools.published import PublishedPool, TableCopy


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
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} can't be read as Parquet ({error})") from error


def _read(path: Path, names: list[str]) -> pa.Table:
    try:
        return pq.read_table(path, columns=list(dict.fromkeys(names)))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} can't be read as Parquet ({error})") from error
