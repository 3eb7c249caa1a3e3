"""A question and its replies in each record: `{"prompt": ..., "responses": [...]}`.

The prompt is a text or a list of chat messages, a reply a text or an object with its text and, where known,
the log-probabilities of its tokens as numbers or as objects with `logprob`. These have no texts of tokens,
so that only their mean counts: as `logprob`, and as the confidence, the geometric mean probability.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.columns import GROUND_TRUTH, TEXTS
from distrivote.store.importers.base import Format, ImportOptions, id_of_question
from distrivote.store.importers.records import (
    Record,
    counted,
    first_fields,
    mean,
    number,
    records,
    row,
    shown,
    text,
)
from distrivote.store.runs.rows import Row
from distrivote.trajectory import Trajectory
from distrivote.voting.scales import permitted

_PROMPTS = ("prompt", "question", "problem", "input", "messages")
_REPLIES = ("responses", "replies", "generations")
_TRUTHS = (GROUND_TRUTH, "answer", "gold_answer", "gold", "target", "reference_answer")
_LOGPROBS = ("token_logprobs", "logprobs")


def _is_one(_path: Path, head: bytes) -> bool:
    fields = first_fields(head)
    return not fields.isdisjoint(_PROMPTS) and not fields.isdisjoint(_REPLIES)


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    for record in records(path, "prompt and responses"):
        name = next((each for each in _REPLIES if each in record.fields), _REPLIES[0])
        problem = _problem(record)
        for index, given in enumerate(record.list_at(name)):
            where = f"{record.where}, {name} {index}"
            reply, logprobs = _reply(given, where)
            made = row(Trajectory(reply), problem, reading, where)
            yield with_logprobs(made, logprobs)


def with_logprobs(made: Row, logprobs: list[float] | None) -> Row:
    """Return the row with the measures that the log-probabilities of its tokens give."""
    if not logprobs:
        return made
    sure = math.exp(mean(logprobs))
    known = sure if permitted(sure, True) else math.nan
    return counted(dataclasses.replace(made, confidence=known, logprob=known), len(logprobs))


def logprobs_of(value: object, where: str) -> list[float] | None:
    """Return the log-probabilities of sampled tokens, from numbers or from objects with `logprob`."""
    if isinstance(value, dict):
        value = value.get("content", value.get("token_logprobs"))
    if value is None:
        return None
    if not isinstance(value, list):
        raise InputError(f"{where} is {shown(value)}: a list of log-probabilities is needed there")
    found = []
    for place, each in enumerate(value):
        plain = each.get("logprob") if isinstance(each, dict) else each
        known = number(plain, f"{where}, token {place}")
        if known > 0 or known == math.inf:
            raise InputError(f"{where}, token {place} is {known:g}: a log-probability is at most 0")
        found.append(known)
    return None if any(not math.isfinite(each) for each in found) else found


def _reply(given: object, where: str) -> tuple[str, list[float] | None]:
    if not isinstance(given, dict):
        return text(given, where), None
    name = next((each for each in (*TEXTS, "content") if each in given), None)
    if name is None:
        raise InputError(f"{where} has no text (none of {', '.join(TEXTS)}): a reply needs one")
    field = next((each for each in _LOGPROBS if given.get(each) is not None), None)
    logprobs = None if field is None else logprobs_of(given[field], f"{where}: {field}")
    return text(given[name], f"{where}: {name}"), logprobs


def _problem(record: Record) -> Problem:
    name = next((each for each in _PROMPTS if record.fields.get(each) is not None), None)
    prompt = "" if name is None else _prompt(record.fields[name], f"{record.where}: {name}")
    named = record.label_at("question_id", "id", "problem_id", "unique_id")
    if named is None and not prompt:
        raise InputError(f"{record.where} has no prompt and no id: one has to say which question it is")
    return Problem(prompt, named or id_of_question(prompt), record.label_at(*_TRUTHS))


def _prompt(value: Any, where: str) -> str:
    """Return a prompt; of chat messages the last that the user wrote."""
    if not isinstance(value, list):
        return text(value, where)
    said = [each.get("content") for each in value if isinstance(each, dict) and each.get("role") == "user"]
    if not said:
        raise InputError(f"{where} has no message of the user: give the question as text")
    return text(said[-1], f"{where}, the last message of the user")


FORMAT = Format("responses", "a prompt and the list of its responses in each record", _is_one, _read)
