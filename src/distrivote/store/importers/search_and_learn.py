"""Completions of Hugging Face's search-and-learn, scored by a process reward model.

The scores are those of a reward model, not of the model that wrote the completion. These files have nothing
else to vote with, so the score of the whole completion becomes its confidence: `agg_scores`, or if that is
missing the score of its last step, as in search-and-learn itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers.base import Format, ImportOptions, id_of_question
from distrivote.store.importers.records import (
    Record,
    count,
    counted,
    first_fields,
    number,
    records,
    row,
    text,
)
from distrivote.store.runs.rows import Row
from distrivote.trajectory import Trajectory


def _is_one(_path: Path, head: bytes) -> bool:
    there = first_fields(head)
    return "completions" in there and bool({"problem", "scores", "agg_scores"} & there)


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    for record in records(path, "problem, completions and scores"):
        completions = record.list_at("completions")
        scores = _scores(record, len(completions))
        counts = _each(record, "completion_tokens", len(completions))
        problem = _problem(record)
        for i, completion in enumerate(completions):
            place = f"{record.where}, completion {i}"
            made = row(Trajectory(text(completion, place)), problem, reading, place)
            n_tokens = count(counts[i], f"{place}: completion_tokens")
            yield dataclasses.replace(counted(made, n_tokens), confidence=scores[i])


def _problem(record: Record) -> Problem:
    question = record.text_at("problem")
    made = id_of_question(question) if question else f"line-{record.number}"
    return Problem(question, record.label_at("unique_id", "id") or made, record.label_at("answer"))


def _scores(record: Record, n: int) -> list[float]:
    if record.fields.get("agg_scores") is not None:
        return [
            number(score, f"{record.where}, completion {i}: agg_scores")
            for i, score in enumerate(_each(record, "agg_scores", n))
        ]
    scores = []
    for i, steps in enumerate(_each(record, "scores", n)):
        last = steps[-1] if isinstance(steps, list) and steps else None if steps == [] else steps
        scores.append(number(last, f"{record.where}, completion {i}: scores"))
    return scores


def _each(record: Record, name: str, n: int) -> list[Any]:
    """Return a field that holds one value per completion, None for each if it is missing."""
    if record.fields.get(name) is None:
        return [None] * n
    values = record.list_at(name)
    if len(values) != n:
        raise InputError(
            f"{record.where} has {n} completions but {len(values)} {name}: one for each is needed"
        )
    return values


FORMAT = Format(
    "search-and-learn", "search-and-learn, its reward model's scores as confidences", _is_one, _read
)
