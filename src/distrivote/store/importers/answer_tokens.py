"""Confidences of answers' tokens, one file for each question: the BRUMO sample of dreamyang-liu/deepconf.

A file `answer_token_conf_budgetN.json` is in a folder whose name has the number of the question (`qid7`). It
has the lists `completed` and `truncated`; a trace has its `extracted_answer` and the confidence of each of
its tokens, whose mean is the confidence. The right answer is in `conf_exp_budgetN.json` beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from distrivote.errors import InputError
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.records import at, document, first_fields, mean, number, shown
from distrivote.store.runs.rows import Row
from distrivote.store.tables.labels import label_at
from distrivote.voting.scales import permitted

_NAME = "answer_token_conf"
_QUESTION = re.compile(r"qid(\d+)")


def _is_one(path: Path, head: bytes) -> bool:
    return path.name.startswith(_NAME) or "completed.answer_token_conf" in first_fields(head)


def _read(path: Path, _reading: ImportOptions) -> Iterator[Row]:
    whole = document(path)
    found = _QUESTION.search(str(path))
    if found is None:
        raise InputError(f"{path} does not say its question: its folder should be named as in qid7")
    truth = _truth(path.with_name(path.name.replace(_NAME, "conf_exp")))
    if not isinstance(whole, dict):
        raise InputError(f"{path} is {shown(whole)}: an object with completed and truncated is needed")
    for status in ("completed", "truncated"):
        traces = whole.get(status) or []
        if not isinstance(traces, list):
            raise InputError(f"{path}: {status} is {shown(traces)}: a list of traces is needed")
        for index, trace in enumerate(traces):
            where = f"{path}, {status} {index}"
            if not isinstance(trace, dict):
                raise InputError(f"{where} is {shown(trace)}: an object with extracted_answer is needed")
            answer = label_at(trace.get("extracted_answer"), where.__str__, "extracted_answer")
            sure = _mean(trace.get("answer_token_conf"), where) if answer is not None else math.nan
            with at(where):
                yield Row(
                    question_id=found[1],
                    sample=0,
                    answer=answer,
                    answer_class=-1 if answer is None else None,
                    ground_truth=truth,
                    confidence=sure,
                )


def _mean(tokens: object, where: str) -> float:
    if not tokens:
        return math.nan
    if not isinstance(tokens, list) or not all(isinstance(each, dict) for each in tokens):
        raise InputError(f"{where}: answer_token_conf is {shown(tokens)}: a list of objects is needed")
    values = [number(each.get("confidence"), f"{where}: confidence") for each in tokens]
    sure = mean(values)
    return sure if permitted(sure, True) else math.nan


def _truth(path: Path) -> str | None:
    if not path.is_file():
        return None
    whole = document(path)
    return (
        label_at(whole.get("ground_truth"), str(path).__str__, "ground_truth")
        if isinstance(whole, dict)
        else None
    )


FORMAT = Format(
    "answer-tokens", "confidences of the answers' tokens, as dreamyang-liu/deepconf", _is_one, _read
)
