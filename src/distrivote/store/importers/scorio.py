"""scorio's datasets (Trace, Lite, Math, GPQA): a reply per row, graded, with log-probabilities of its tokens.

An answer is the one that was graded: EvalScope's, which Trace does not have. Math and GPQA hold the most
probable entries at each token, which give every measure. The others give the geometric mean probability of
the tokens, as `logprob` and as the confidence.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.records import (
    Record,
    at,
    counted,
    number,
    row,
    shown,
    text,
)
from distrivote.store.importers.responses import fields_of, records_of
from distrivote.store.runs.rows import Row
from distrivote.store.tables.labels import label_at
from distrivote.trajectory import Trajectory
from distrivote.voting.scales import permitted

_TELLING = {"data_id", "model_key", "seed", "tokens"}
_ANSWERS = {"evalscope_extracted_answer": "evalscope_is_correct", "extracted_answer": "is_correct"}
_NO_ANSWER = "NotFound"
_TOP, _TOKENS, _MEAN = "completion_topk_logprobs_list", "completion_token_list", "completion_avg_logprob"
# `data_id` is unique only within a part of GPQA.
_NUMBERS = ("full_data_id", "data_id")
_COLUMNS = (
    *_NUMBERS, *_ANSWERS, *_ANSWERS.values(), "task", "model_key", "seed", "prompt", "text",
    "finish_reason", "num_completion_tokens", "ground_truth", "ground_truth_accepted", f"tokens.{_MEAN}",
    f"tokens.{_TOKENS}",
)  # fmt: skip
_BATCH_ROWS = 8
"""A row of Math may have 20 entries at each of 100,000 tokens."""


def _is_one(path: Path, head: bytes) -> bool:
    fields = fields_of(path, head)
    return fields >= _TELLING and not fields.isdisjoint(_ANSWERS)


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    for record in records_of(path, "data_id, seed, tokens and an answer", _BATCH_ROWS, _is_read):
        made = _row(record, reading)
        yield dataclasses.replace(made, model=record.label_at("model_key"))


def _is_read(leaf: str) -> bool:
    if leaf.startswith(f"tokens.{_TOP}."):
        return leaf.endswith(".logprob")
    return any(leaf == name or leaf.startswith(f"{name}.") for name in _COLUMNS)


def _row(record: Record, reading: ImportOptions) -> Row:
    fields, where = record.fields, record.where
    name = next((each for each in _ANSWERS if each in fields), None)
    answer = record.label_at(name) if name else None
    answer = None if answer == _NO_ANSWER else answer
    grade = fields.get(_ANSWERS[name]) if name and reading.extract is None else None
    if not isinstance(grade, bool | int | None) or grade not in (0, 1, None):
        raise InputError(f"{where}: {_ANSWERS[str(name)]} is {shown(grade)}: 0, 1, true or false is needed")
    told = (answer,) if reading.extract is None else None
    seed = fields.get("seed")
    seed = seed if isinstance(seed, int) and not isinstance(seed, bool) else None
    reply = _reply(record)
    made = row(
        reply,
        _problem(record),
        reading,
        where,
        told=told,
        correct=None if grade is None else bool(grade) and answer is not None,
        seed=seed,
    )
    if reply.tokens:
        return made
    sure = _probability(_tokens(record).get(_MEAN), where)
    made = dataclasses.replace(made, confidence=sure, logprob=sure)
    return counted(made, record.count_at("num_completion_tokens"))


def _problem(record: Record) -> Problem:
    place = record.label_at(*_NUMBERS)
    if place is None:
        raise InputError(f"{record.where} has no data_id: it has to say which question it is")
    task = record.label_at("task")
    accepted = record.fields.get("ground_truth_accepted")
    if accepted is None:
        truth = record.label_at("ground_truth")
    elif isinstance(accepted, list):
        # Of several right answers none is the right one: the grades tell.
        truth = label_at(accepted[0], record.where.__str__, "ground_truth") if len(accepted) == 1 else None
    else:
        raise InputError(f"{record.where}: ground_truth_accepted is {shown(accepted)}: a list is needed")
    return Problem(record.text_at("prompt"), place if task is None else f"{task}/{place}", truth)


def _reply(record: Record) -> Trajectory:
    """Return the reply; the tokens, which hold the thinking too, only with the entries at each of them."""
    where = record.where
    why = text(record.fields.get("finish_reason"), f"{where}: finish_reason") or None
    tokens = _tokens(record)
    entries, texts = tokens.get(_TOP), tokens.get(_TOKENS)
    if not entries or not texts:
        return Trajectory(record.text_at("text"), finish_reason=why)
    if not isinstance(texts, list) or not isinstance(entries, list) or len(texts) != len(entries):
        raise InputError(f"{where}: {_TOP} and {_TOKENS} are not lists with an entry for each token")
    with at(where):
        found = [_entries(each, f"{_TOP} {place}") for place, each in enumerate(entries)]
    width = max(map(len, found))
    top = np.full((len(found), width), np.nan)
    for place, values in enumerate(found):
        top[place, : len(values)] = values
    words = tuple(text(each, f"{where}: {_TOKENS}") for each in texts)
    # The entry of the sampled token is the first.
    sampled = top[:, 0].copy() if width else np.full(len(found), np.nan)
    return Trajectory("".join(words), words, top, sampled, why)


def _entries(value: object, where: str) -> list[float]:
    if not isinstance(value, list | None) or not all(isinstance(each, dict) for each in value or ()):
        raise InputError(f"{where} is {shown(value)}: a list of objects with logprob is needed")
    return [number(each.get("logprob"), where) for each in value or ()]


def _tokens(record: Record) -> dict[str, Any]:
    tokens = record.fields.get("tokens")
    if not isinstance(tokens, dict | None):
        raise InputError(f"{record.where}: tokens is {shown(tokens)}: an object is needed")
    return tokens or {}


def _probability(value: object, where: str) -> float:
    mean = number(value, f"{where}: {_MEAN}")
    sure = math.exp(mean) if mean <= 0 else math.nan
    return sure if permitted(sure, True) else math.nan


FORMAT = Format("scorio", "scorio's datasets: Trace, Lite, Math and GPQA", _is_one, _read)
