"""A question and its replies in each record: `{"prompt": ..., "responses": [...]}`.

The prompt is a text or a list of chat messages, a reply a text or an object with its text and, where known,
the log-probabilities of its tokens. OpenAI's object, with the tokens, gives every measure. Numbers alone have
no texts of tokens, so that only their mean counts: as `logprob`, and as the confidence, the geometric mean
probability.

A table with one reply per row, its text and its log-probabilities, is read in the same way.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from distrivote.engines.responses import trajectories_from_openai
from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.columns import ANSWER, CORRECT, GROUND_TRUTH, TEXTS
from distrivote.store.importers.base import Format, ImportOptions, id_of_question
from distrivote.store.importers.records import (
    Record,
    at,
    counted,
    first_fields,
    mean,
    number,
    parsed,
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
_IDS = ("question_id", "id", "problem_id", "unique_id")
_PARQUET = b"PAR1"
_BATCH_ROWS = 256


def _is_one(path: Path, head: bytes) -> bool:
    fields = fields_of(path, head)
    if fields.isdisjoint((*_PROMPTS, *_IDS)):
        return False
    if not fields.isdisjoint(_REPLIES):
        return True
    # With answers it is a plain table, such as a part of a run.
    return ANSWER not in fields and not (fields.isdisjoint(TEXTS) or fields.isdisjoint(_LOGPROBS))


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    for record in records_of(path, "prompt and responses", _BATCH_ROWS):
        name = next((each for each in _REPLIES if each in record.fields), None)
        if name is None and reading.text is None and not {*TEXTS}.intersection(record.fields):
            name = _REPLIES[0]
        if name is None:
            yield _single(record, reading)
            continue
        problem = _problem(record, _TRUTHS)
        for index, given in enumerate(record.list_at(name)):
            where = f"{record.where}, {name} {index}"
            reply, logprobs = _reply(given, where)
            yield with_logprobs(row(reply, problem, reading, where), logprobs)


def fields_of(path: Path, head: bytes) -> frozenset[str]:
    """Return the fields of the first object of a file of JSON, or the columns of a Parquet file."""
    if not head.startswith(_PARQUET):
        return first_fields(head)
    try:
        return frozenset(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return frozenset()  # the reader of tables raises the error


def records_of(
    path: Path, fields: str, n_rows: int, is_read: Callable[[str], bool] = lambda _: True
) -> Iterator[Record]:
    """Yield the records of a file of JSON, or the rows of a Parquet file.

    Args:
        fields: What a record needs, for messages.
        n_rows: The number of rows of a Parquet file that are held at once.
        is_read: Whether a column is read, by its path, such as `tokens.ranks.list.element`.
    """
    if not _is_parquet(path):
        yield from records(path, fields)
        return
    number = 0
    try:
        file = pq.ParquetFile(path)
        columns = [each.path for each in map(file.schema.column, range(len(file.schema.names)))]
        for batch in file.iter_batches(n_rows, columns=list(filter(is_read, columns))):
            for values in batch.to_pylist():
                number += 1
                yield Record(f"{path}, row {number}", number, values)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read as a Parquet file ({error}): write it again") from error


def _is_parquet(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_PARQUET)) == _PARQUET
    except OSError:
        return False  # whoever reads it raises the error


def _single(record: Record, reading: ImportOptions) -> Row:
    """Return the row of a record that is one reply; an `answer` there is what the reply says."""
    reply, logprobs = _reply(record.fields, record.where, reading.text)
    correct = record.fields.get(CORRECT)
    problem = _problem(record, (GROUND_TRUTH, *_TRUTHS[2:]))
    made = row(reply, problem, reading, record.where, correct=correct if isinstance(correct, bool) else None)
    if reading.extract is None and ANSWER in record.fields:
        answer = record.label_at(ANSWER)
        made = dataclasses.replace(made, answer=answer, answer_class=-1 if answer is None else None)
    return with_logprobs(made, logprobs)


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


def _reply(given: object, where: str, column: str | None = None) -> tuple[Trajectory, list[float] | None]:
    """Return a reply, and the log-probabilities of its tokens if these have no texts."""
    if not isinstance(given, dict):
        return Trajectory(text(given, where)), None
    names = (*TEXTS, "content") if column is None else (column,)
    name = next((each for each in names if each in given), None)
    if name is None:
        raise InputError(f"{where} has no text (none of {', '.join(names)}): a reply needs one")
    said = text(given[name], f"{where}: {name}")
    field = next((each for each in _LOGPROBS if given.get(each) is not None), None)
    if field is None:
        return Trajectory(said), None
    value = given[field]
    if isinstance(value, str):  # as files of other tools write it into a column of texts
        value = parsed(value.encode("utf-8", "replace"), f"{where}: {field}")
    entries = value.get("content") if isinstance(value, dict) else value
    if (
        isinstance(entries, list)
        and entries
        and all(isinstance(each, dict) and "token" in each for each in entries)
    ):
        choice = {"message": {"content": said}, "logprobs": {"content": entries}}
        with at(where):
            (found,) = trajectories_from_openai({"choices": [choice]})
        return found, None
    return Trajectory(said), logprobs_of(value, f"{where}: {field}")


def _problem(record: Record, truths: Sequence[str]) -> Problem:
    name = next((each for each in _PROMPTS if record.fields.get(each) is not None), None)
    prompt = "" if name is None else _prompt(record.fields[name], f"{record.where}: {name}")
    named = record.label_at(*_IDS)
    if named is None and not prompt:
        raise InputError(f"{record.where} has no prompt and no id: one has to say which question it is")
    return Problem(prompt, named or id_of_question(prompt), record.label_at(*truths))


def _prompt(value: Any, where: str) -> str:
    """Return a prompt; of chat messages the last that the user wrote."""
    if not isinstance(value, list):
        return text(value, where)
    said = [each.get("content") for each in value if isinstance(each, dict) and each.get("role") == "user"]
    if not said:
        raise InputError(f"{where} has no message of the user: give the question as text")
    return text(said[-1], f"{where}, the last message of the user")


FORMAT = Format("responses", "a prompt and the list of its responses in each record", _is_one, _read)
