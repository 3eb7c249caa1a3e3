"""A run -> DeepConf's trace layout, as JSON: a file for each question, which its tools read with json.load.

`confs` are written if the run stores token confidences; `step_confs` are those of the run. Token ids are not
stored in a run and so not written. `confidence` is our addition: the confidence that votes use.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pyarrow as pa

from distrivote.store.results.files import new_folder
from distrivote.store.runs.run import Run

_COLUMNS = (
    "question_id", "sample", "answer", "correct", "ground_truth", "confidence", "confidence_lowest_group",
    "n_tokens", "finish_reason", "step_confidences", "question", "text", "token_confidences",
)  # fmt: skip


def export_deepconf(run: Run, folder: str | os.PathLike[str]) -> int:
    """Write every question of a run into a new folder and return how many there are."""
    questions = run.questions()
    with new_folder(folder) as beside:
        for number, question in enumerate(questions):
            document = json.dumps(_document(run.table(_COLUMNS, question.id)), ensure_ascii=False)
            name = f"deepthink_offline_qid{_safe(question.id)}_rid{number}.json"
            (beside / name).write_text(document, encoding="utf-8")
    return len(questions)


def _safe(question_id: str) -> str:
    """Return an id as part of a file name; the number after it makes it unique."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", question_id)[:80]


def _document(table: pa.Table) -> dict[str, Any]:
    rows = table.to_pylist()
    return {
        "qid": rows[0]["question_id"],
        "run_id": 0,
        "mode": "offline",
        "question": rows[0]["question"],
        "ground_truth": rows[0]["ground_truth"],
        "total_traces_count": len(rows),
        "warmup_traces": [],
        "final_traces": [],
        "all_traces": [_trace(row) for row in rows],
        "config": {"window_size": 2048},
    }


def _trace(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "stop_reason": row["finish_reason"],
        "text": row["text"] or "",
        "num_tokens": row["n_tokens"],
        "confs": _rounded(row["token_confidences"]) or [],
        "min_conf": _rounded([row["confidence_lowest_group"]])[0],
        "step_confs": _rounded(row["step_confidences"]),
        "extracted_answer": row["answer"],
        "correctness": row["correct"],
        "confidence": row["confidence"],
    }


def _rounded(values: list[float | None] | None) -> list[float | None]:
    """Return numbers with three decimals, as in DeepConf, and None for missing ones."""
    return [None if value is None or value != value else round(value, 3) for value in values or ()]
