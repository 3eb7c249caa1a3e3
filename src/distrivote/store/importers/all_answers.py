"""Questions with the answers of all samples: the files of prefix-consistency and of BoInf.

A record is a question with its `gold_answer` and `all_answers`, a list of [answer, number of tokens].
prefix-consistency adds `confidences`: DeepConf's measures of each sample, of which the mean is the
confidence. Only answers are published, no texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distrivote.errors import InputError
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.records import Record, at, count, first_fields, number, records, shown
from distrivote.store.runs.rows import Row
from distrivote.store.tables.labels import label_at

_FAILED = "PARSE_FAILED"
_MEASURES = ("mean_conf", "tail_conf", "block_min_conf", "bottom10_conf")
"""Their measures that are also ours; the others and the stated confidences are left out."""


def _is_one(_path: Path, head: bytes) -> bool:
    return {"all_answers", "gold_answer"} <= first_fields(head)


def _read(path: Path, _reading: ImportOptions) -> Iterator[Row]:
    for record in records(path, "problem_num, gold_answer and all_answers"):
        question = record.label_at("problem_num", "question_id", "id")
        if question is None:
            raise InputError(f"{record.where} has no problem_num: it has to say which question it is")
        truth = record.label_at("gold_answer")
        given = record.list_at("all_answers")
        measured = _confidences(record, len(given))
        for index, (pair, values) in enumerate(zip(given, measured, strict=True)):
            where = f"{record.where}, answer {index}"
            answer, n_tokens = _answer(pair, where)
            found = {name: number(values.get(name), f"{where}: {name}") for name in _MEASURES}
            with at(where):
                yield Row(
                    question_id=question,
                    sample=0,
                    answer=answer,
                    answer_class=-1 if answer is None else None,
                    ground_truth=truth,
                    confidence=found["mean_conf"],
                    confidence_mean=found["mean_conf"],
                    confidence_tail=found["tail_conf"],
                    confidence_lowest_group=found["block_min_conf"],
                    confidence_bottom_groups=found["bottom10_conf"],
                    n_tokens=n_tokens,
                )


def _answer(pair: object, where: str) -> tuple[str | None, int | None]:
    """Return the answer and its number of tokens; a failed sample has no answer."""
    if pair is None:
        return None, None
    if not isinstance(pair, list) or not pair:
        raise InputError(f"{where} is {shown(pair)}: a list of the answer and its number of tokens is needed")
    said = label_at(pair[0], where.__str__, "the answer")
    n_tokens = count(pair[1], f"{where}: the number of tokens") if len(pair) > 1 else None
    return None if said == _FAILED else said, n_tokens


def _confidences(record: Record, n: int) -> list[dict[str, Any]]:
    if record.fields.get("confidences") is None:
        return [{}] * n
    values = record.list_at("confidences")
    if len(values) != n:
        raise InputError(
            f"{record.where} has {n} answers but {len(values)} confidences: one for each is needed"
        )
    for index, value in enumerate(values):
        if value is not None and not isinstance(value, dict):
            raise InputError(
                f"{record.where}, answer {index}: confidences is {shown(value)}: an object of measures is"
                " needed there"
            )
    return [value or {} for value in values]


FORMAT = Format(
    "prefix-consistency", "all_answers of each question, as prefix-consistency and BoInf", _is_one, _read
)
