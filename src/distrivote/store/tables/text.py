"""Sampled answers from JSON Lines and CSV; errors name the line.

Lines are read one by one and limited in length, so that a file without line ends does not fill the memory.
The text is UTF-8. In CSV everything is text: "42" and "42.0" are two labels there.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from distrivote.errors import InputError
from distrivote.store.tables.cells import reader_of
from distrivote.store.tables.faults import check_fields, decoded, delimiter_of, json_object, not_csv
from distrivote.store.tables.row_batches import RowBatcher
from distrivote.store.tables.source import AnswerTable, check_columns, is_empty

LONGEST_LINE = 64_000_000
"""Bytes. A trajectory's text with its log-probabilities is well below."""

BATCH_ROWS = 1 << 16


def read_jsonl(table: AnswerTable) -> Iterator[pa.RecordBatch]:
    """Read one JSON object per line; a field that a line leaves out is null."""
    rows = RowBatcher(table)
    names: dict[str, None] = {}
    checked = False
    with open(table.path, "rb") as file:
        lines = _Lines(table, file)
        for text in lines:
            if not text.strip():
                continue
            record = json_object(text, lines.where, "question_id, answer and confidence")
            if not checked:
                names |= dict.fromkeys(record)
            try:
                rows.add(lines.number, record)
            except InputError:
                if not checked:  # a missing column explains more than a missing value
                    check_columns(table, list(names))
                raise
            if len(rows) == BATCH_ROWS:
                if not checked:
                    check_columns(table, list(names))
                checked = True
                table.done = lines.done()
                yield rows.batch()
    if not rows.n_added:
        raise is_empty(table)
    if not checked:
        check_columns(table, list(names))
    if len(rows):
        yield rows.batch()


def read_csv(table: AnswerTable) -> Iterator[pa.RecordBatch]:
    """Read comma-, semicolon- or tab-separated lines under a header."""
    rows = RowBatcher(table)
    with open(table.path, "rb") as file:
        lines = _Lines(table, file)
        header = next((text for text in lines if text.strip()), None)
        if header is None:
            raise is_empty(table)
        delimiter = delimiter_of(header, lines.where())
        csv.field_size_limit(LONGEST_LINE)
        line = lines.number
        reader = csv.reader(lines.after(header), delimiter=delimiter, strict=True)
        try:
            cells = next(reader)
            text_of = reader_of(header, cells)
            names = [text_of(cell).strip() for cell in cells]
            check_columns(table, names)
            line = lines.number + 1
            for fields in reader:
                if fields:
                    check_fields(len(fields), len(names), f"{table.name}, line {line}", delimiter)
                    rows.add(line, dict(zip(names, map(text_of, fields), strict=True)))
                line = lines.number + 1
                if len(rows) == BATCH_ROWS:
                    table.done = lines.done()
                    yield rows.batch()
        except csv.Error as error:
            raise not_csv(f"{table.name}, line {line}", error) from error
    if not rows.n_added:
        raise is_empty(table, "has a header but no rows")
    if len(rows):
        yield rows.batch()


class _Lines:
    """The decoded lines of a file, each checked, with the number of the latest."""

    def __init__(self, table: AnswerTable, file: BinaryIO) -> None:
        self.table, self.file, self.number = table, file, 0
        self.size = max(1, os.fstat(file.fileno()).st_size)

    def __iter__(self) -> Iterator[str]:
        for line in iter(lambda: self.file.readline(LONGEST_LINE + 1), b""):
            self.number += 1
            if len(line) > LONGEST_LINE:
                raise InputError(
                    f"{self.where()} is longer than {LONGEST_LINE // 1_000_000} MB: write one trajectory"
                    " per line, and leave out what the vote does not need"
                )
            yield decoded(line, self.where, self.number == 1)

    def where(self) -> str:
        return f"{self.table.name}, line {self.number}"

    def after(self, header: str) -> Iterator[str]:
        """Yield the header again before the lines that follow it."""
        yield header
        yield from self

    def done(self) -> float:
        return self.file.tell() / self.size
