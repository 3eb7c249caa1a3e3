"""Plain tables: JSON Lines, CSV or Parquet with a row per sampled answer, as `distrivote vote` reads them.

A table may hold whole replies instead of answers, which are then found in them. If it holds both, the answers
are used unless an extractor is named.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from distrivote.answers.kinds.kind import Kind
from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.columns import CONFIDENCE, TEXTS
from distrivote.store.importers.base import HEAD, Format, ImportOptions
from distrivote.store.importers.records import first_fields, row
from distrivote.store.runs.rows import Row
from distrivote.store.tables.faults import listed
from distrivote.store.tables.source import SUFFIXES, open_table
from distrivote.trajectory import Trajectory

_TELLING = {"question_id", "answer"}

_NAME = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')


def _is_one(path: Path, head: bytes) -> bool:
    if head.startswith(b"PAR1"):
        return True
    kind = SUFFIXES.get(path.suffix.lower())
    # Many files are JSON, and a folder of logs has some that are not tables.
    return kind == "csv" or (kind == "jsonl" and not first_fields(head).isdisjoint(_TELLING))


def read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    """Yield the rows of a table; without a column of confidences they have none."""
    columns, there = reading.columns, _columns(path)
    text = _text_column(path, reading, there)
    if text is not None:
        columns = replace(columns, answer=text)
    with open_table(str(path), columns) as table:
        for batch in table.batches():
            content = batch.to_pydict()
            n = len(batch)
            nothing: list[None] = [None] * n
            for question, answer, confidence, truth, correct in zip(
                content["question"],
                content["answer"],
                content.get(CONFIDENCE, nothing),
                content.get("truth", nothing),
                content.get("correct", nothing),
                strict=True,
            ):
                sure = math.nan if confidence is None else confidence
                if text is not None:
                    problem = Problem("", str(question), truth)
                    made = row(Trajectory(answer or ""), problem, reading, f"{path}: {text}", correct=correct)
                    yield replace(made, confidence=sure)
                    continue
                yield Row(
                    question_id=str(question),
                    sample=0,
                    answer=answer,
                    answer_class=-1 if answer is None else None,
                    correct=correct,
                    ground_truth=truth,
                    confidence=sure,
                )


def _text_column(path: Path, reading: ImportOptions, there: AbstractSet[str] | None) -> str | None:
    """Return the column in which answers are to be found; None: the table has answers."""
    if reading.text is not None or there is None:
        return reading.text
    is_told = reading.columns.answer in there
    if is_told and reading.extract is None:
        return None
    found = next((name for name in TEXTS if name in there), None)
    if found is not None:
        return found
    replies = "column of whole replies"
    lacking = replies if is_told else f"column {reading.columns.answer!r} and no {replies}"
    how = reading.extract.name if isinstance(reading.extract, Kind) else reading.extract
    asked = f"{how!r} finds answers in replies, and " if how else ""
    other = "leave `extract` out" if is_told else "the answers with `answer_column`"
    raise InputError(
        f"{asked}{path} has no {lacking} (it has {listed(sorted(there))})",
        hint=f"name the replies with `text`, or {other}",
        argument="text",
    )


def _columns(path: Path) -> AbstractSet[str] | None:
    """Return the names of a table's columns from its beginning, None if it does not show them."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    if head.startswith(b"PAR1"):
        try:
            return set(pq.read_schema(path).names)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return None  # the reader raises the error
    beginning = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.startswith((b"{", b"[")):
        return {name.decode("utf-8", "replace") for name in _NAME.findall(beginning)}
    header = beginning.split(b"\n", 1)[0].decode("utf-8", "replace")
    try:
        names = next(csv.reader([header], delimiter=max(",\t;", key=header.count)), [])
    except csv.Error:
        return None  # as above
    return {name.strip() for name in names} or None


FORMAT = Format("table", "JSON Lines, CSV or Parquet with a row per answer", _is_one, read)
