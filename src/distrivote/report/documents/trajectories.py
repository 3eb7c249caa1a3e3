"""A trajectory as a document: its steps, what they were compared with, and its reflections.

Positions in a text count UTF-16 units, as in JavaScript.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, TypedDict

from distrivote.confidence import step_confidences, token_confidence
from distrivote.report.documents.fields import ReflectionDocument, TrajectoryDocument
from distrivote.report.documents.tallies import number
from distrivote.splitting import DelimiterSplitter, step_ends
from distrivote.steering import Controller
from distrivote.trajectory import Insertion, Interventions, Trajectory


def trajectory_document(
    trajectory: Trajectory, answer: str | None, confidence: float, controller: Controller | None
) -> TrajectoryDocument:
    """Return a trajectory as it was sampled, watched by the controller."""
    return {
        "index": trajectory.index,
        "answer": answer,
        "confidence": number(confidence),
        "correct": None,
        "n_tokens": trajectory.n_tokens,
        "finish_reason": trajectory.finish_reason,
        "server": trajectory.server,
        "model": trajectory.model,
        **_steps(_record(trajectory, controller), trajectory.tokens, controller),
        "text": trajectory.text,
    }


def stored_trajectory_document(
    row: Mapping[str, Any], tokens: Sequence[str], controller: Controller | None
) -> TrajectoryDocument:
    """Return a trajectory from the columns of a run; `tokens` may be unknown."""
    starts = row["reflections"]
    lengths = row["reflection_lengths"] or [0] * len(starts or ())
    record = Interventions(
        tuple(map(Insertion, starts or (), lengths)),
        tuple(row["step_ends"] or ()),
        tuple(row["step_confidences"] or ()),
        bool(row["unfinished"]),
    )
    confidence = row["confidence"]
    return {
        "index": row["sample"],
        "answer": row["answer"],
        "confidence": None if confidence is None else number(confidence),
        "correct": row["correct"],
        "n_tokens": row["n_tokens"],
        "finish_reason": row["finish_reason"],
        "server": row["server"],
        "model": row["model"],
        **_steps(record, tokens, None if starts is None else controller),
        "text": row.get("text"),
    }


def _record(trajectory: Trajectory, controller: Controller | None) -> Interventions:
    """Return the controller's record, or the steps that it would have had."""
    record = trajectory.interventions
    if record is not None and record.step_ends and record.step_ends[-1] == trajectory.n_tokens:
        return record
    splitter = None if controller is None else controller.split
    if splitter is None or splitter.uses_entropy:
        splitter = DelimiterSplitter()
    ends = step_ends(trajectory.tokens, splitter)
    confidences = step_confidences(token_confidence(trajectory.top_logprobs).values, ends)
    insertions = () if record is None else record.insertions
    return Interventions(insertions, tuple(ends.tolist()), tuple(confidences.tolist()))


class _Steps(TypedDict):
    step_ends: list[int]
    step_confidences: list[float | None]
    step_text_ends: list[int]
    thresholds: list[float | None]
    reflections: list[ReflectionDocument]


def _steps(record: Interventions, tokens: Sequence[str], controller: Controller | None) -> _Steps:
    """Return steps and reflections, with their positions in the text if the tokens are known."""
    places = [0, *accumulate(map(_utf16, tokens))]
    known = bool(tokens) and (not record.step_ends or record.step_ends[-1] < len(places))
    line = () if controller is None or not record.step_ends else controller.line(record)
    return {
        "step_ends": list(record.step_ends),
        "step_confidences": [number(value) for value in record.step_confidences],
        "step_text_ends": [places[end] for end in record.step_ends] if known else [],
        "thresholds": [number(value) for value in line],
        "reflections": [
            _reflection(insertion, record.step_ends, places if known else None)
            for insertion in record.insertions
        ],
    }


def _reflection(
    insertion: Insertion, ends: Sequence[int], places: Sequence[int] | None
) -> ReflectionDocument:
    start, end = insertion.start, insertion.start + insertion.n_tokens
    if places is not None:
        start, end = min(start, len(places) - 1), min(end, len(places) - 1)
    return {
        "token": insertion.start,
        "n_tokens": insertion.n_tokens,
        "step": sum(step_end <= insertion.start for step_end in ends),
        "text_start": None if places is None else places[start],
        "text_end": None if places is None else places[end],
    }


def _utf16(text: str) -> int:
    return len(text) if text.isascii() else sum(1 + (ord(char) > 0xFFFF) for char in text)
