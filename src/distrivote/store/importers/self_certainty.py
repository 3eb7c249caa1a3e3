"""Outputs of the Self-Certainty project with their `confidence_list`.

A file is a list of questions, each with its outputs. The confidences are self-certainties over the whole
vocabulary; they are the confidence of a row and its self-certainty. Files without confidences are read too.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers.base import Format, ImportOptions, id_of_question
from distrivote.store.importers.records import Record, first_fields, number, records, row, text
from distrivote.store.runs.rows import Row
from distrivote.trajectory import Trajectory


def _is_one(_path: Path, head: bytes) -> bool:
    return {"model_input", "output"} <= first_fields(head)


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    for record in records(path, "model_input, output and confidence_list"):
        outputs = record.list_at("output")
        confidences = _confidences(record, len(outputs))
        problem = _problem(record)
        for i, output in enumerate(outputs):
            place = f"{record.where}, output {i}"
            made = row(Trajectory(text(output, place)), problem, reading, place)
            value = confidences[i]
            whole = None if math.isnan(value) else True
            yield dataclasses.replace(made, confidence=value, self_certainty=value, whole_distribution=whole)


def _problem(record: Record) -> Problem:
    prompt = record.text_at("model_input")
    named = record.label_at("id", "session_id")
    if named is None and not prompt:
        raise InputError(f"{record.where} has no model_input and no id: one has to say which question it is")
    return Problem(prompt, named or id_of_question(prompt), record.label_at("answer"))


def _confidences(record: Record, n: int) -> list[float]:
    if record.fields.get("confidence_list") is None:
        return [float("nan")] * n
    values = record.list_at("confidence_list")
    if len(values) != n:
        raise InputError(
            f"{record.where} has {n} outputs but {len(values)} confidences: one for each is needed"
        )
    return [number(value, f"{record.where}, output {i}: confidence_list") for i, value in enumerate(values)]


FORMAT = Format("self-certainty", "outputs of Self-Certainty with their confidence_list", _is_one, _read)
