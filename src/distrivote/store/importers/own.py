"""Custom formats: a `Format`, or a function (path) -> rows as dicts.

A row has `question_id`, and `answer` or a whole reply as `text`; and, where known, `confidence`,
`ground_truth`, `correct` and `question`. Any other key is an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from distrivote.errors import InputError, suggestion
from distrivote.names import IMPORTER, Own, called, check_call, each_of, misgiven
from distrivote.problem import Problem
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.records import row
from distrivote.store.runs.rows import Row
from distrivote.trajectory import Trajectory

KEYS = ("question_id", "answer", "text", "confidence", "ground_truth", "correct", "question")


def own_format(own: Own) -> Format:
    """Return the format for an object of the user's."""
    if isinstance(own.value, Format):
        return own.value._replace(name=own.name)
    check_call(IMPORTER, own, 1)

    def read(path: Path, options: ImportOptions) -> Iterator[Row]:
        rows = called(IMPORTER, own.name, own.value, path)
        if not isinstance(rows, Iterable) or isinstance(rows, str):
            raise misgiven(IMPORTER, own, f"returned {str(rows)[:60]}")
        for number, record in enumerate(each_of(IMPORTER, own, rows), 1):
            yield _row(record, options, f"{path}, row {number} of {own.name}")

    return Format(own.name, "read by a function", lambda _path, _head: True, read)


def _row(record: Any, options: ImportOptions, where: str) -> Row:
    if not isinstance(record, Mapping):
        raise InputError(f"{where} is {str(record)[:60]}", hint=f"yield dicts with {', '.join(KEYS[:4])}")
    for key in record:
        if key not in KEYS:
            raise InputError(f"{where} has the unknown key {key!r}", hint=suggestion(str(key), KEYS))
    if record.get("question_id") is None:
        raise InputError(f"{where} has no question_id", hint="give every row that of its question")
    answer, truth = _text(record.get("answer")), _text(record.get("ground_truth"))
    confidence = record.get("confidence")
    made = row(
        Trajectory(str(record.get("text") or "")),
        Problem(str(record.get("question") or ""), str(record["question_id"]), truth),
        options,
        where,
        told=None if "text" in record and answer is None else (answer,),
        correct=record.get("correct"),
    )
    return replace(made, confidence=math.nan if confidence is None else float(confidence))


def _text(value: object) -> str | None:
    return None if value is None or not str(value).strip() else str(value)
