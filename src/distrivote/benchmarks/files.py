"""Rows from a local file: JSON Lines, CSV (commas, semicolons or tabs) or Parquet.

A benchmark is small, so it is read at once. The format is detected as for tables of sampled answers: from the
suffix, otherwise from the first bytes. Positions are lines in text files, and rows from 1 in Parquet.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distrivote.benchmarks.question_table import QuestionRow, QuestionTable
from distrivote.errors import InputError
from distrivote.store.tables.cells import reader_of
from distrivote.store.tables.faults import (
    check_fields,
    check_names,
    check_weight,
    decoded,
    delimiter_of,
    json_object,
    not_csv,
)

LARGEST_FILE = 256_000_000
"""Bytes. A larger file is probably not a benchmark."""

LARGEST_CONTENT = 512 << 20
"""Bytes of a Parquet file, decompressed."""

MOST_CELLS = 20_000_000


def read(path: str | os.PathLike[str]) -> QuestionTable:
    """Return the rows of a file; raise InputError with the position of the first error."""
    from distrivote.store.tables.source import Columns, cant_read, open_table

    name = os.fspath(path)
    file = Path(name).expanduser()
    if file.is_dir():
        raise InputError(f"{name} is a directory: name one file of questions (.jsonl, .csv or .parquet)")
    if file.is_file() and file.stat().st_size > LARGEST_FILE:
        raise InputError(
            f"{name} is larger than {LARGEST_FILE // 1_000_000} MB: a benchmark is a small file of questions"
        )
    with open_table(str(file), Columns(confidence=None, max_spool=LARGEST_FILE)) as table:
        try:
            if table.kind == "parquet":
                rows = _parquet_rows(table.path, name)
            else:
                lines = _lines(table.path.read_bytes(), name)
                rows = list((_json_rows if table.kind == "jsonl" else _csv_rows)(lines, name))
        except OSError as error:
            cant_read(name, error)
    if not rows:
        raise InputError(f"{name} has no rows: a benchmark needs at least one question")
    return QuestionTable(name, rows)


def _lines(content: bytes, name: str) -> list[str]:
    """Decode a file line by line; only line feeds end a line, as a question may hold other separators."""
    check_weight(content, name)
    lines = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        lines.append(decoded(line, f"{name}, line {number}".__str__) + "\n")
    return lines


def _json_rows(lines: list[str], name: str) -> Iterator[QuestionRow]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        record = json_object(line.rstrip("\r\n"), where.__str__, "question and answer")
        yield QuestionRow(where, record)


def _csv_rows(lines: list[str], name: str) -> Iterator[QuestionRow]:
    before = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    if before == len(lines):
        return
    delimiter = delimiter_of(lines[before], f"{name}, line {before + 1}")
    csv.field_size_limit(LARGEST_FILE)
    reader = csv.reader(lines[before:], delimiter=delimiter, strict=True)
    line = before + 1
    try:
        cells = next(reader)
        text_of = reader_of(lines[before], cells)
        names = [text_of(cell).strip() for cell in cells]
        check_names(names, name)
        line = before + reader.line_num + 1
        for fields in reader:
            if len(fields) > 1 or any(field.strip() for field in fields):
                check_fields(len(fields), len(names), f"{name}, line {line}", delimiter)
                yield QuestionRow(f"{name}, line {line}", dict(zip(names, map(text_of, fields), strict=True)))
            line = before + reader.line_num + 1
    except csv.Error as error:
        raise not_csv(f"{name}, line {line}", error) from error


def _parquet_rows(path: Path, name: str) -> list[QuestionRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from distrivote.store.tables.parquet_sizes import (
        TooLargeError,
        check_declared,
        check_footer,
        n_bytes_repeated,
        text_columns,
    )

    try:
        # Not as a dataset: a folder called `year=2025` must not become a column.
        with open(path, "rb") as source:
            check_footer(source)
            metadata = pq.read_metadata(source)
            schema = metadata.schema.to_arrow_schema()
            if metadata.num_rows * max(1, len(schema)) > MOST_CELLS:
                raise TooLargeError("it holds more than a benchmark does")
            check_declared(metadata, path.stat().st_size, LARGEST_CONTENT)
            lists = [field.name for field in schema if pa.types.is_nested(field.type)]
            flat = [column for column in schema.names if column not in lists]
            file = pq.ParquetFile(source, metadata=metadata, read_dictionary=text_columns(schema))
            table = file.read(flat)
            if sum(n_bytes_repeated(column) for column in table.itercolumns()) > LARGEST_CONTENT:
                raise TooLargeError("it holds more than a benchmark does")
            # Questions and answers are not lists: their content is not read, and using one is an error.
            values: list[dict[str, Any]] = [row | {key: [] for key in lists} for row in table.to_pylist()]
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError, TooLargeError) as error:
        reason = str(error).partition("\n")[0].rstrip(". ")
        raise InputError(
            f"{name} can't be read as a Parquet file ({reason}): it may be truncated, so copy or write"
            " it again"
        ) from error
    return [QuestionRow(f"{name}, row {number}", row) for number, row in enumerate(values, 1)]
