"""A stored run as the page shows it; read-only. docs/server-events.md has the JSON.

The run is opened again for each request, so a run that is still being sampled shows its current state.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from starlette.exceptions import HTTPException

from distrivote.errors import InputError
from distrivote.names import only_loaded
from distrivote.report.documents import stored_trajectory_document, tally_document
from distrivote.report.documents.fields import RunQuestion, RunRow, TrajectoryDocument
from distrivote.report.printouts import unmeasured_notes
from distrivote.steering import Controller
from distrivote.steering.choice import stored_controller
from distrivote.store.beliefs import learned_first
from distrivote.store.results.tables import long_table
from distrivote.store.results.votes import Results, Totals, hold_elections, scale_of_rows
from distrivote.store.runs.rows import Row, trajectory_of
from distrivote.store.runs.run import Run, known_tokens
from distrivote.store.runs.sources import check_ks
from distrivote.store.tables.questions import stream_questions
from distrivote.store.tables.source import Columns, open_table
from distrivote.voting.ballot import Answer, Ballot
from distrivote.voting.methods import parse_method
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.scales import Scale
from distrivote.voting.vote import vote

_SHOWN = 300
"""Characters of a question's text in the list of questions."""

_VOTE_COLUMNS = (
    "question_id",
    "sample",
    "answer",
    "answer_class",
    "correct",
    "ground_truth",
    "confidence",
    "k",
)
_STEP_COLUMNS = (
    *("n_tokens", "finish_reason", "server", "model", "step_ends", "step_confidences", "unfinished"),
    *("reflections", "reflection_lengths"),
)


def run_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the facts of a run: model, settings and counts."""
    run = Run.open(path)
    manifest, questions = run.manifest, run.questions()
    return {
        "name": run.folder.name,
        "engine": manifest.engine,
        "model": manifest.model,
        "benchmark": manifest.benchmark,
        "template": manifest.template,
        "system": manifest.system,
        "budget": manifest.budget,
        "seed": manifest.seed,
        "sampling": dict(manifest.sampling),
        "ssc": None if manifest.ssc is None else dict(manifest.ssc),
        "n_questions": len(questions),
        "n_trajectories": sum(question.n_trajectories for question in questions),
        "n_tokens": known_tokens(questions),
        "notes": list(run.notes),
    }


def _method(name: str) -> Pipeline:
    with only_loaded():  # the name came in a request
        return parse_method(name)


def questions_json(path: str | os.PathLike[str], method: str) -> dict[str, Any]:
    """Return every question with its vote by the method and by majority."""
    pipeline = _method(method)
    method, facts = pipeline.name, _facts(Run.open(path))
    rows: list[RunRow] = []
    notes: list[str] = []
    if facts:
        columns = Columns() if pipeline.reads_confidence else Columns(confidence=None)
        columns = replace(columns, positive_for=method if pipeline.needs_positive else None)
        totals = Totals((method,))
        with open_table(str(path), columns) as table:
            scale = Scale.POSITIVE if pipeline.needs_positive else scale_of_rows(table.batches())
            for results in hold_elections(stream_questions(table.batches()), (method,), scale=scale):
                totals.add(results)
                rows += _rows(results, facts)
            notes = [*table.notes, *unmeasured_notes(totals)]
    known = [row for row in rows if row["correct"] is not None]
    return {
        "method": method,
        "n_known": len(known),
        "n_right": sum(bool(row["correct"]) for row in known),
        "n_majority_right": sum(bool(row["majority_correct"]) for row in known),
        "questions": rows,
        "notes": notes,
    }


def _facts(run: Run) -> dict[str, dict[str, Any]]:
    """Return, by question id, the facts that do not depend on the method."""
    table = run.table(("question_id", "answer_class", "correct", "n_tokens", "ground_truth", "question"))
    classes = table["answer_class"]
    answered = pc.greater_equal(classes, 0)
    table = table.append_column("class", pc.if_else(answered, classes, pa.scalar(None, pa.int32())))
    groups = table.group_by("question_id", use_threads=False).aggregate(
        [
            *(("class", "count_distinct"), ("correct", "sum")),
            *(("n_tokens", "sum"), ("ground_truth", "max"), ("question", "max")),
        ]
    )
    return {row["question_id"]: row for row in groups.to_pylist()}


def _rows(results: Results, facts: dict[str, dict[str, Any]]) -> list[RunRow]:
    rows: list[RunRow] = []
    for row, n_trajectories in zip(
        long_table(results, None).to_pylist(), results.n_trajectories.tolist(), strict=True
    ):
        fact = facts.get(str(row["question_id"]), {})
        text = fact.get("question_max")
        more = {
            "ground_truth": fact.get("ground_truth_max"),
            "question": None if text is None else text[:_SHOWN],
            "n_trajectories": n_trajectories,
            "n_answers": fact.get("class_count_distinct"),
            "n_right": fact.get("correct_sum"),
            "n_tokens": fact.get("n_tokens_sum"),
        }
        rows.append(cast("RunRow", row | more))
    return rows


def question_json(
    path: str | os.PathLike[str], question_id: str, method: str, calibration: Calibration | None = None
) -> RunQuestion:
    """Return the vote on one question and its trajectories, without texts."""
    pipeline = _method(method)
    run = Run.open(path)
    table = run.table((*_VOTE_COLUMNS, *_STEP_COLUMNS, "question"), question_id)
    if not len(table):
        raise HTTPException(404, f"the run has no question {question_id[:200]!r}")
    if pipeline.reads_confidence:
        check_ks(table, run.folder.name)
    rows = table.to_pylist()
    answers = _answers(rows)
    ballot = Ballot.of(answers, [row["confidence"] for row in rows])
    tally = vote(ballot, method=_believing(path, pipeline), calibration=calibration)
    controller = stored_controller(run.manifest.ssc)
    indices = [row["sample"] for row in rows]
    return {
        **tally_document(tally, ballot, indices),
        "question_id": question_id,
        "question": rows[0]["question"],
        "ground_truth": next((row["ground_truth"] for row in rows if row["ground_truth"] is not None), None),
        "correct": _right(rows, answers, tally.answer),
        "majority_correct": _right(rows, answers, tally.majority),
        "best": None if tally.best is None else indices[tally.best],
        "ssc": _threshold(controller),
        "trajectories": [stored_trajectory_document(row, (), controller) for row in rows],
    }


def _believing(path: str | os.PathLike[str], pipeline: Pipeline) -> Pipeline:
    """Return the method with the trust learned from all questions of the run, as in their list."""
    if pipeline.trust is None:
        return pipeline
    with open_table(str(path), Columns()) as table:
        _, beliefs = learned_first(stream_questions(table.batches()))
    return pipeline.believing(beliefs.get(""))


def _answers(rows: list[dict[str, Any]]) -> list[str | None]:
    """Return each row's answer as the label of its class."""
    labels: dict[int, str] = {}
    return [
        labels.setdefault(row["answer_class"], row["answer"]) if row["answer_class"] >= 0 else None
        for row in rows
    ]


def sample_json(path: str | os.PathLike[str], question_id: str, sample: int) -> TrajectoryDocument:
    """Return one trajectory with its text."""
    run = Run.open(path)
    try:
        stored: Row = run.row(question_id, sample)
    except InputError:
        raise HTTPException(
            404, f"the run has no sample {sample} of question {question_id[:200]!r}"
        ) from None
    row: dict[str, Any] = {name: getattr(stored, name) for name in Row.__dataclass_fields__}
    lists = {name: value.tolist() for name, value in row.items() if isinstance(value, np.ndarray)}
    tokens = trajectory_of(stored).tokens
    return stored_trajectory_document(row | lists, tokens, stored_controller(run.manifest.ssc))


def _right(rows: list[dict[str, Any]], answers: list[str | None], winner: Answer | None) -> bool | None:
    """Return whether an answer is right, by the majority of the rows that gave it."""
    told = [
        row["correct"]
        for row, answer in zip(rows, answers, strict=True)
        if row["correct"] is not None and (winner is None or answer == winner)
    ]
    if winner is None:
        return False if told else None
    return 2 * sum(told) > len(told) if told else None


def _threshold(controller: Controller | None) -> dict[str, float] | None:
    """Return the two settings that determine a threshold, None if there is no threshold."""
    settings = {} if controller is None else controller.settings()
    return {name: float(settings[name]) for name in ("alpha", "delta")} if settings else None
