"""Logs of Inspect AI: `.eval`, an archive with a member per sample, and `.json`, one document.

The epochs of a sample are answers to one question, `{task}-{id}`. Whether it is right comes from the first
scorer with the value C or I, or 1 or 0; it applies to the first choice of an output. The answer is found in
the text, since the `answer` of scorers is often the whole reply. Samples that ended in an error are left out,
and a LeftOutWarning counts them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distrivote.engines.responses import trajectories_from_openai
from distrivote.errors import InputError
from distrivote.nouns import plural, verb
from distrivote.problem import Problem
from distrivote.store.importers.archives import Archive
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.records import (
    LeftOutWarning,
    Record,
    at,
    count,
    counted,
    document,
    first_fields,
    parsed,
    row,
    shown,
    text,
)
from distrivote.store.runs.rows import Row
from distrivote.store.tables.source import cant_read

_MEMBER = re.compile(r"samples/.*_epoch_(\d{1,9})\.json", re.DOTALL)
_ATTACHMENT = "attachment://"
_VERDICTS = {"C": True, "I": False, "N": False, "1": True, "0": False}


def _is_one(path: Path, head: bytes) -> bool:
    if head.startswith(b"PK\x03\x04"):
        return path.suffix.lower() == ".eval" or b"_journal/start.json" in head[:256]
    return {"version", "eval", "eval.task"} <= first_fields(head)


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    n_samples, errors = 0, []
    for task, record in _samples(path):
        n_samples += 1
        if record.fields.get("error") is not None:
            errors.append(record.fields["error"])
        else:
            yield from _rows(task, record, reading)
    if not n_samples:
        raise InputError(f"{path} holds no samples: write the log with its samples")
    if errors:
        error = errors[0]
        message = error.get("message") if isinstance(error, dict) else error
        warnings.warn(
            f"{path}: {len(errors)} of {n_samples} {plural(n_samples, 'sample')} ended in an error"
            f" and {verb(len(errors), 'are')} left out, the first with {shown(message, 80)}",
            LeftOutWarning,
            stacklevel=2,
        )


def _samples(path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the samples with the name of their task, epoch by epoch."""
    if not _is_archive(path):
        log = document(path)
        samples = log.get("samples") if isinstance(log, dict) else None
        if not isinstance(samples, list):
            raise InputError(f"{path} has no list of samples: write the log with its samples")
        for place, sample in sorted(enumerate(samples, 1), key=lambda each: _epoch(each[1])):
            yield _task(log), _record(sample, f"{path}, sample {place}", place)
        return
    with Archive(path) as archive:
        names = archive.names
        header = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        task = "" if header is None else _task(parsed(archive.read(header), f"{path}, {header}"))
        found = [(int(match[1]), name) for name in names if (match := _MEMBER.fullmatch(name))]
        for place, (_, name) in enumerate(sorted(found, key=lambda each: each[0]), 1):
            where = f"{path}, {name}"
            yield task, _record(parsed(archive.read(name), where), where, place)


def _is_archive(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError as error:
        cant_read(str(path), error)


def _record(sample: Any, where: str, place: int) -> Record:
    if not isinstance(sample, dict):
        raise InputError(f"{where} is {shown(sample)}: a sample is a JSON object")
    return Record(where, place, sample)


def _epoch(sample: Any) -> int:
    epoch = sample.get("epoch") if isinstance(sample, dict) else None
    return epoch if isinstance(epoch, int) else 0


def _task(log: Any) -> str:
    about = log.get("eval") if isinstance(log, dict) else None
    task = about.get("task") if isinstance(about, dict) else None
    return task.rpartition("/")[2] if isinstance(task, str) else ""


def _rows(task: str, record: Record, reading: ImportOptions) -> Iterator[Row]:
    output = record.fields.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    if not isinstance(choices, list):
        raise InputError(f"{record.where}: output has no list of choices: write the log as Inspect does")
    with at(record.where):
        trajectories = trajectories_from_openai({"choices": [_choice(each, record) for each in choices]})
    problem = _problem(task, record)
    n_tokens = _tokens(output, record.where) if len(choices) == 1 else None
    for i, trajectory in enumerate(trajectories):
        verdict = _verdict(record.fields.get("scores")) if i == 0 else None
        yield counted(row(trajectory, problem, reading, record.where, correct=verdict), n_tokens)


def _choice(choice: Any, record: Record) -> dict[str, Any]:
    """Return a choice in the format of OpenAI."""
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise InputError(f"a choice has no message but is {shown(choice)}")
    content, thinking = _said(message.get("content"), record)
    return {
        "message": {"content": content, "reasoning_content": thinking},
        "logprobs": choice.get("logprobs"),
        "finish_reason": choice.get("stop_reason"),
    }


def _said(content: Any, record: Record) -> tuple[str, str]:
    """Return the text and the thinking of a message, whose content may be in parts."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    said = {"text": "", "reasoning": ""}
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("text", "reasoning"):
            said[kind] += _attached(text(part.get(kind), f"{record.where}: a {kind}"), record)
    return said["text"], said["reasoning"]


def _attached(said: str, record: Record) -> str:
    attachments = record.fields.get("attachments")
    if not said.startswith(_ATTACHMENT) or not isinstance(attachments, dict):
        return said
    return text(attachments.get(said.removeprefix(_ATTACHMENT), said), f"{record.where}: an attachment")


def _problem(task: str, record: Record) -> Problem:
    number = record.label_at("id")
    if number is None:
        raise InputError(f"{record.where}: id is missing: it says which question is answered")
    asked = record.fields.get("input")
    if isinstance(asked, list):
        turns = [turn for turn in asked if isinstance(turn, dict) and turn.get("role") == "user"]
        asked = turns[-1].get("content") if turns else None
    question, _ = _said(asked, record)
    targets = record.fields.get("target")
    # With several right answers there is no single one to compare with; the verdict still counts.
    several = isinstance(targets, list) and len(targets) != 1
    target = targets[0] if isinstance(targets, list) and not several else targets
    truth = None if several else Record(record.where, 1, {"target": target}).label_at("target")
    return Problem(question, f"{task}-{number}" if task else number, truth)


def _verdict(scores: Any) -> bool | None:
    for score in scores.values() if isinstance(scores, dict) else ():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, int | float) and value in (0, 1):
            return bool(value)
        if isinstance(value, str) and value in _VERDICTS:
            return _VERDICTS[value]
    return None


def _tokens(output: Any, where: str) -> int | None:
    usage = output.get("usage")
    return count(usage.get("output_tokens"), f"{where}: output_tokens") if isinstance(usage, dict) else None


FORMAT = Format("inspect", "logs of Inspect AI", _is_one, _read)
