"""The samples that lm-evaluation-harness logs: `samples_{task}_{date}.jsonl`.

The repeats of a document are in `resps[0]`. A task with several filters logs every document once for each;
only the lines of the first filter are used, otherwise every sample would vote twice. There are no
log-probabilities, so these rows have no confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.records import Record, first_fields, records, row
from distrivote.store.runs.rows import Row
from distrivote.trajectory import Trajectory

_NAME = re.compile(r"samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d.:+-]++)?")


def _is_one(path: Path, head: bytes) -> bool:
    there = first_fields(head)
    return {"doc_id", "doc"} <= there and (path.name.startswith("samples_") or "resps" in there)


def _read(path: Path, reading: ImportOptions) -> Iterator[Row]:
    name = _NAME.fullmatch(path.stem)
    prefix = f"{name[1]}-" if name else ""
    first: list[str | None] = []
    for record in records(path, "doc_id, target and resps"):
        filtered = record.label_at("filter")
        first = first or [filtered]
        if filtered != first[0]:
            continue
        number = record.label_at("doc_id")
        if number is None:
            raise InputError(f"{record.where}: doc_id is missing: it says which question is answered")
        problem = Problem(_question(record), prefix + number, _truth(record))
        for reply in _replies(record):
            yield row(Trajectory(reply), problem, reading, record.where)


def _replies(record: Record) -> list[str]:
    requests = record.list_at("resps")
    replies = requests[0] if requests else []
    if not isinstance(replies, list) or not all(isinstance(reply, str) for reply in replies):
        raise InputError(
            f"{record.where}: resps does not hold lists of texts: samples of tasks that generate text are"
            " needed, and those that compare log-likelihoods have none"
        )
    return replies


def _truth(record: Record) -> str | None:
    """Return the target; if it is a worked solution as in GSM8K, the part after its last ####."""
    target = record.label_at("target")
    return target if target is None else target.rpartition("####")[2].strip() or None


def _question(record: Record) -> str:
    doc = record.fields.get("doc")
    for name in ("question", "problem"):
        if isinstance(doc, dict) and isinstance(doc.get(name), str):
            return str(doc[name])
    arguments = record.fields.get("arguments")
    asked = arguments.get("gen_args_0") if isinstance(arguments, dict) else None
    prompt = asked.get("arg_0") if isinstance(asked, dict) else None
    return prompt if isinstance(prompt, str) else ""


FORMAT = Format("lm-eval", "samples of lm-evaluation-harness, without confidences", _is_one, _read)
