"""Rows of a text file, collected one by one into a record batch.

It checks what each field may hold, and errors name the line. It is independent of the file's format: a row is
a dict, from JSON with its types, from CSV as strings.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from distrivote.errors import InputError
from distrivote.store.columns import CONFIDENCE, MODEL
from distrivote.store.tables.faults import (
    FLAGS,
    missing_id,
    not_a_confidence,
    not_a_flag,
    not_a_number,
    quoted,
)
from distrivote.store.tables.labels import label_at, text_array
from distrivote.store.tables.source import AnswerTable
from distrivote.voting.scales import permitted


class RowBatcher:
    """Rows collected for the next batch; every value is checked as it is added."""

    def __init__(self, table: AnswerTable) -> None:
        self.table = table
        self.truth = table.columns.truth or "ground_truth"
        self.flagged = table.columns.truth is None
        self.kinds: dict[str, tuple[str, int]] = {}
        self.n_added = 0
        self._clear()

    def _clear(self) -> None:
        self.questions: list[int | str | None] = []
        self.by: list[int | str | None] = []
        self.answers: list[str | None] = []
        self.confidences: list[float] = []
        self.truths: list[str | None] = []
        self.correct: list[bool | None] = []
        self.pools_models = self.table.pools_models

    def add(self, line: int, record: dict[str, Any]) -> None:
        names = self.table.columns
        self.questions.append(self._id(line, names.question, record.get(names.question)))
        if names.by is not None:
            self.by.append(self._id(line, names.by, record.get(names.by)))
        answer = self._label(line, names.answer, record.get(names.answer), one_kind=True)
        self.answers.append(answer)
        if names.confidence is None:
            self.confidences.append(math.nan)
        else:
            self.confidences.append(self._confidence(line, record.get(names.confidence)))
        truth = record.get(self.truth)
        correct = record.get("correct") if self.flagged else None
        self.truths.append(None if truth is None else self._label(line, self.truth, truth))
        self.correct.append(None if correct is None else self._flag(line, correct))
        if self.pools_models:
            model = record.get(MODEL)
            if isinstance(model, int | str) and model != "":
                self.table.models.add(model)
        self.n_added += 1

    def __len__(self) -> int:
        return len(self.questions)

    def batch(self) -> pa.RecordBatch:
        columns = {"question": _id_array(self.questions)}
        if self.table.columns.by is not None:
            columns["by"] = _id_array(self.by)
        columns["answer"] = text_array(self.answers).dictionary_encode()
        columns[CONFIDENCE] = pa.array(self.confidences, pa.float64())
        columns["truth"] = text_array(self.truths).dictionary_encode()
        columns["correct"] = pa.array(self.correct, pa.bool_())
        self._clear()
        return pa.RecordBatch.from_pydict(columns)

    def _where(self, line: int) -> str:
        return f"{self.table.name}, line {line}"

    def _label(self, line: int, name: str, value: object, one_kind: bool = False) -> str | None:
        text = label_at(value, lambda: self._where(line), name)
        if one_kind and text is not None:
            self._check_kind(line, name, value)
        return text

    def _check_kind(self, line: int, name: str, value: object) -> None:
        """Numbers and strings in one column are a mistake: is 42 the same as "42"?"""
        kind = _KINDS.get(type(value), "a number")
        first, first_line = self.kinds.setdefault(name, (kind, line))
        if kind != first:
            raise InputError(
                f"{self._where(line)}: {name} is {kind} ({quoted(value, 40)}), but {first} on line"
                f" {first_line}: write all of them the same way"
            )

    def _id(self, line: int, name: str, value: object) -> int | str:
        text = self._label(line, name, value, one_kind=True)
        if text is None:
            raise missing_id(self._where(line), name)
        if isinstance(value, str | bool):
            return text
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise InputError(
                f"{self._where(line)}: {name} is {quoted(value, 40)}: use whole numbers of 64 bits or strings"
            )
        return value

    def _confidence(self, line: int, value: Any) -> float:
        number = math.nan
        if isinstance(value, str):
            value = value.strip() or None
        if value is not None:
            try:
                if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
                    raise ValueError  # float() would accept True and "1_000"
                number = float(value)
            except (TypeError, ValueError, OverflowError) as error:
                raise not_a_number(self._where(line), value) from error
        columns = self.table.columns
        if number == number and not permitted(
            number, columns.positive_for is not None and columns.convert is None
        ):
            raise not_a_confidence(self._where(line), number, columns.positive_for)
        if columns.convert is not None:
            where = f"{self._where(line)}: confidence"
            return float(columns.convert(np.array([number]), lambda _: where)[0])
        return number

    def _flag(self, line: int, value: object) -> bool | None:
        if isinstance(value, bool):
            return value
        text = self._label(line, "correct", value)
        if text is None:
            return None
        if text.lower() not in FLAGS:
            raise not_a_flag(self._where(line), value)
        return FLAGS[text.lower()]


_KINDS: dict[type, str] = {str: "a string", bool: "a boolean"}


def _id_array(ids: list[Any]) -> pa.Array:
    if isinstance(ids[0], int):
        return pa.array(ids, pa.int64())
    return text_array(ids).dictionary_encode()
