"""Questions with all answers and their grades: the samples of PRS.

A record is a question with its `gold` answer, the list of `answers` and, for each, whether it is `correct`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from distrivote.errors import InputError
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.records import Record, at, first_fields, records, shown
from distrivote.store.runs.rows import Row
from distrivote.store.tables.labels import label_at


def _is_one(_path: Path, head: bytes) -> bool:
    return {"answers", "gold", "correct"} <= first_fields(head)


def _read(path: Path, _reading: ImportOptions) -> Iterator[Row]:
    for record in records(path, "id, gold, answers and correct"):
        question = record.label_at("id", "question_id")
        if question is None:
            raise InputError(f"{record.where} has no id: it has to say which question it is")
        truth = record.label_at("gold")
        answers = record.list_at("answers")
        grades = _grades(record, len(answers))
        for index, (given, right) in enumerate(zip(answers, grades, strict=True)):
            where = f"{record.where}, answer {index}"
            answer = label_at(given, where.__str__, "the answer")
            with at(where):
                yield Row(
                    question_id=question,
                    sample=0,
                    answer=answer,
                    answer_class=-1 if answer is None else None,
                    correct=right if answer is not None or right is None else False,
                    ground_truth=truth,
                )


def _grades(record: Record, n: int) -> list[bool | None]:
    if record.fields.get("correct") is None:
        return [None] * n
    values = record.list_at("correct")
    if len(values) != n:
        raise InputError(f"{record.where} has {n} answers but {len(values)} grades: one for each is needed")
    for index, value in enumerate(values):
        if not isinstance(value, bool | int | float | None) or value not in (0, 1, None):
            raise InputError(
                f"{record.where}, answer {index}: correct is {shown(value)}: 0, 1, true or false is needed"
            )
    return [None if value is None else bool(value) for value in values]


FORMAT = Format("prs", "answers with their grades, as PRS writes them", _is_one, _read)
