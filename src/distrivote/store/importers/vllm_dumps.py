"""vLLM's `RequestOutput`, dumped as JSON or JSON Lines with its fields and those of its samples.

Outputs of the same prompt are answers to the same question. JSON turns token ids, which are the keys of the
log-probabilities, into strings; here they become numbers again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distrivote.engines.responses import trajectories_from_vllm
from distrivote.errors import InputError
from distrivote.nouns import count, verb
from distrivote.problem import Problem
from distrivote.store.importers.base import Format, ImportOptions, id_of_question
from distrivote.store.importers.records import LeftOutWarning, Record, at, first_fields, records, row, shown
from distrivote.store.runs.rows import Row


def _is_one(_path: Path, head: bytes) -> bool:
    there = first_fields(head)
    asked = bool({"request_id", "prompt", "prompt_token_ids"} & there)
    # After a long prompt the outputs are not within the head.
    cut = {"request_id", "prompt"} <= there and bool({"prompt_token_ids", "prompt_logprobs"} & there)
    return cut or (asked and bool({"outputs.text", "outputs.token_ids"} & there))


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    n_records = n_empty = 0
    for record in records(path, "prompt and outputs"):
        n_records += 1
        n_empty += record.fields.get("outputs") == []
        samples = [_with_numbers(sample, record.where) for sample in record.list_at("outputs")]
        problem = _problem(record)
        with at(record.where):
            trajectories = trajectories_from_vllm({"outputs": samples})
        for trajectory in trajectories:
            yield row(trajectory, problem, reading, record.where)
    if n_empty:
        warnings.warn(
            f"{path}: {n_empty} of {count(n_records, 'request')} had no outputs and"
            f" {verb(n_empty, 'are')} left out",
            LeftOutWarning,
            stacklevel=2,
        )


def _problem(record: Record) -> Problem:
    truth = record.label_at("ground_truth")
    prompt = record.text_at("prompt")
    if prompt:
        return Problem(prompt, id_of_question(prompt), truth)
    token_ids = record.fields.get("prompt_token_ids")
    if isinstance(token_ids, list) and token_ids and all(isinstance(each, int) for each in token_ids):
        return Problem("", id_of_question(json.dumps(token_ids)), truth)
    request = record.label_at("request_id")
    if request is None:
        raise InputError(
            f"{record.where} has no prompt, no prompt_token_ids and no request_id: one of them has to say"
            " which question it answers"
        )
    return Problem("", request, truth)


def _with_numbers(sample: Any, where: str) -> dict[str, Any]:
    """Return a sample whose log-probabilities have numbers as keys."""
    if not isinstance(sample, dict):
        raise InputError(f"{where}: outputs holds {shown(sample)}: a list of objects is needed")
    rows = sample.get("logprobs")
    token_ids = sample.get("token_ids") or []
    if rows is None:
        return sample
    if not isinstance(rows, list) or not isinstance(token_ids, list):
        raise InputError(f"{where}: token_ids and logprobs are not lists: write both as vLLM gives them")
    try:
        numbered = [{int(key): entry for key, entry in given.items()} for given in rows]
    except (AttributeError, ValueError):
        raise InputError(
            f"{where}: logprobs is not a list of objects whose fields are token ids: write them as vLLM"
            " gives them, or leave them out"
        ) from None
    return {**sample, "logprobs": numbered, "token_ids": token_ids}


FORMAT = Format("vllm", "vLLM's RequestOutput as JSON", _is_one, _read)
