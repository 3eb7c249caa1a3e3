"""Saved responses of an OpenAI-compatible server, and the output files of its batches.

A file is one response, a list of them, or JSON Lines; from chat, completions, or llama.cpp's own
/completion. A line of a batch holds its response at `response.body`. The question is identified by
`question_id`, `custom_id`, `question` or `prompt` next to the response; without any of them, all responses of
the file are answers to one question, named like the file.

Requests of a batch that failed and responses without a choice are left out, and a LeftOutWarning counts them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from distrivote.engines.responses import trajectories_from_openai, trajectory_of_choice
from distrivote.engines.wire import Choice
from distrivote.errors import InputError
from distrivote.nouns import count, verb
from distrivote.problem import Problem
from distrivote.store.importers.base import Format, ImportOptions, id_of_question
from distrivote.store.importers.records import (
    LeftOutWarning,
    RawRecord,
    Record,
    at,
    first_fields,
    raw_records,
    row,
    shown,
)
from distrivote.store.runs.rows import Row

_LLAMA = {"completion_probabilities", "generation_settings", "tokens_predicted"}


def _is_one(_path: Path, head: bytes) -> bool:
    there = first_fields(head)
    if {"choices.message", "choices.text", "response.choices", "response.body.choices"} & there:
        return True
    if {"choices", "model", "object"} <= there:  # the first one may be empty
        return True
    if {"custom_id", "response"} <= there and {"error", "response.status_code"} & there:
        return True
    return "content" in there and bool(_LLAMA & there)


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    failures: list[str] = []
    n_records = 0
    for found in raw_records(path, "choices"):
        n_records += 1
        typed = _typed(found) if isinstance(found, RawRecord) else None
        if typed is not None:
            yield from _rows(typed, path.stem, reading)
            continue
        record = found.parsed() if isinstance(found, RawRecord) else found
        failure = _failure(record.fields)
        if failure is not None:
            failures.append(failure)
            continue
        problem = _problem(record, path.stem)
        with at(record.where):
            trajectories = trajectories_from_openai(_body(record))
        for trajectory in trajectories:
            yield row(trajectory, problem, reading, record.where)
    if failures and len(failures) == n_records:
        raise InputError(
            f"{path} holds {count(n_records, 'request')} and {'it' if n_records == 1 else 'all of them'}"
            f" failed, the first with {failures[0]}: send the batch again"
        )
    if failures:
        warnings.warn(
            f"{path}: {len(failures)} of {count(n_records, 'request')} had failed and"
            f" {verb(len(failures), 'are')} left out, the first with {failures[0]}",
            LeftOutWarning,
            stacklevel=2,
        )


class _Outer(msgspec.Struct, gc=False):
    """A response, or a batch record that contains one."""

    choices: list[Choice] = []
    response: _Outer | None = None
    body: _Outer | None = None
    question_id: Any = None
    custom_id: Any = None
    question: Any = None
    prompt: Any = None
    ground_truth: Any = None


_decode = msgspec.json.Decoder(_Outer).decode


class _Typed(NamedTuple):
    """A record whose response has been decoded."""

    record: Record
    choices: list[Choice]


def _typed(raw: RawRecord) -> _Typed | None:
    """Return a record by the fast path, None if it has to be read field by field."""
    try:
        outer = _decode(raw.content.removeprefix(b"\xef\xbb\xbf") if raw.number == 1 else raw.content)
    except (ValueError, RecursionError):
        return None
    inner: _Outer | None = outer
    while inner is not None and not inner.choices:
        inner = inner.response or inner.body
    if inner is None or b"\0" in raw.content:
        return None
    if any(choice.message is None and choice.text is None for choice in inner.choices):
        return None
    names = ("question_id", "custom_id", "question", "prompt", "ground_truth")
    fields = {name: getattr(outer, name) for name in names}
    return _Typed(Record(raw.where, raw.number, fields), inner.choices)


def _rows(typed: _Typed, stem: str, reading: ImportOptions) -> Iterator[Row]:
    record = typed.record
    problem = _problem(record, stem)
    for j, choice in enumerate(typed.choices):
        with at(record.where):
            trajectory = trajectory_of_choice(choice, f"response 0, choice {j}")
        yield row(trajectory, problem, reading, record.where)


def _failure(fields: dict[str, Any]) -> str | None:
    """Return what went wrong with a request of a batch, None if nothing did."""
    response = fields.get("response")
    status = response.get("status_code") if isinstance(response, dict) else None
    if _innermost(fields).get("choices") == []:
        return "no choices"
    if "choices" in fields or (fields.get("error") is None and status in (None, 200)):
        return None
    error = fields.get("error")
    if error is None and isinstance(response, dict) and isinstance(response.get("body"), dict):
        error = response["body"].get("error")
    message = error.get("message") or error.get("code") if isinstance(error, dict) else error
    said = "no message" if message is None else shown(message, 80)
    return said if status in (None, 200) else f"status {shown(status, 20)}: {said}"


def _problem(record: Record, stem: str) -> Problem:
    question = record.text_at("question") or record.text_at("prompt")
    made = id_of_question(question) if question else stem
    question_id = record.label_at("question_id", "custom_id") or made
    return Problem(question, question_id, record.label_at("ground_truth"))


def _body(record: Record) -> dict[str, Any]:
    """Return the response in the format of OpenAI."""
    body = _innermost(record.fields)
    if "choices" not in body and "content" in body:
        probabilities = body.get("completion_probabilities")
        choice = {
            "text": body["content"],
            "logprobs": None if probabilities is None else {"content": probabilities},
            "finish_reason": {"eos": "stop", "word": "stop", "limit": "length"}.get(
                str(body.get("stop_type"))
            ),
        }
        return {"choices": [choice]}
    if not isinstance(body.get("choices"), list):
        raise InputError("there are no choices: a response with a list of choices is needed")
    return dict(body)


def _innermost(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the response itself, which may be nested in other objects."""
    for name in ("response", "body"):
        if "choices" not in fields and isinstance(fields.get(name), dict):
            fields = fields[name]
    return fields


FORMAT = Format("openai", "responses and batch output of OpenAI-compatible servers", _is_one, _read)
