"""Generations of NeMo-Skills: `output-rs{seed}.jsonl`, one sample of every question per file.

The answer, and whether it is right, come from the file if it was evaluated. There are no log-probabilities,
so these rows have no confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distrivote.engines.responses import trajectories_from_openai
from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers.base import Format, ImportOptions, id_of_question
from distrivote.store.importers.records import Record, at, counted, first_fields, records, row, shown
from distrivote.store.runs.rows import Row

_NAME = re.compile(r"output(?:-rs(\d{1,9}))?(?:_chunk_\d++)?")
_EVALUATED = {"predicted_answer", "expected_answer", "symbolic_correct", "num_generated_tokens"}


def _is_one(path: Path, head: bytes) -> bool:
    there = first_fields(head)
    named = path.suffix == ".jsonl" and _NAME.fullmatch(path.stem) is not None
    return "generation" in there and (named or len(_EVALUATED & there) >= 2)


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    name = _NAME.fullmatch(path.stem)
    seed = int(name[1]) if name and name[1] else None
    for record in records(path, "generation"):
        if "generation" not in record.fields:
            raise InputError(f"{record.where} has no generation: a line of NeMo-Skills holds the reply there")
        with at(record.where):
            trajectory = trajectories_from_openai({"choices": [_choice(record)]})[0]
        told = (record.label_at("predicted_answer"),) if "predicted_answer" in record.fields else None
        made = row(
            trajectory,
            _problem(record),
            reading,
            record.where,
            told=told,
            correct=_verdict(record),
            seed=seed,
        )
        yield counted(made, record.count_at("num_generated_tokens"))


def _choice(record: Record) -> dict[str, Any]:
    message = {
        "content": record.fields["generation"],
        "reasoning_content": record.fields.get("reasoning_content"),
    }
    return {"message": message, "finish_reason": record.fields.get("finish_reason")}


def _problem(record: Record) -> Problem:
    question = record.text_at("problem") or record.text_at("question")
    made = id_of_question(question) if question else f"line-{record.number}"
    return Problem(question, record.label_at("id", "problem_id") or made, record.label_at("expected_answer"))


def _verdict(record: Record) -> bool | None:
    for name in ("symbolic_correct", "is_correct"):
        verdict = record.fields.get(name)
        if not isinstance(verdict, bool | None):
            raise InputError(f"{record.where}: {name} is {shown(verdict)}: true or false is needed there")
        if verdict is not None:
            return verdict
    return None


FORMAT = Format("nemo-skills", "generations of NeMo-Skills, without confidences", _is_one, _read)
