"""Trajectories and votes as JSON, for the page and for clients; docs/server-events.md describes them.

NaN becomes null. Places in a text are counted in UTF-16 units, as JavaScript does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from distrivote.confidence import step_confidences, token_confidence
from distrivote.report.printouts import tally_json
from distrivote.report.terminal.explanation import told
from distrivote.server.asking import Answered
from distrivote.server.errors import number
from distrivote.splitting import DelimiterSplitter, step_ends
from distrivote.steering import Controller
from distrivote.trajectory import Insertion, Interventions, Trajectory
from distrivote.voting.ballot import Ballot, Split, Tally


def trajectory_json(
    trajectory: Trajectory, answer: str | None, confidence: float, controller: Controller | None
) -> dict[str, Any]:
    """Return a trajectory with its steps, the line that they were held against, and its reflections."""
    record = _record(trajectory, controller)
    return {
        "index": trajectory.index,
        "answer": answer,
        "confidence": number(confidence),
        "n_tokens": trajectory.n_tokens,
        "finish_reason": trajectory.finish_reason,
        "server": trajectory.server,
        **steps_json(record, trajectory.tokens, controller),
        "text": trajectory.text,
    }


def _record(trajectory: Trajectory, controller: Controller | None) -> Interventions:
    """Return what the controller saw, or the steps that it would have seen."""
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


def steps_json(record: Interventions, tokens: Sequence[str], controller: Controller | None) -> dict[str, Any]:
    """Return steps and reflections; where they are in the text only if the tokens are known."""
    places = [0, *accumulate(map(_utf16, tokens))]
    known = bool(tokens) and (not record.step_ends or record.step_ends[-1] < len(places))
    line = () if controller is None or not record.step_ends else controller.line(record)
    return {
        "step_ends": list(record.step_ends),
        "step_confidences": [number(value) for value in record.step_confidences],
        "step_text_ends": [places[end] for end in record.step_ends] if known else [],
        "thresholds": [number(value) for value in line],
        "reflections": [
            _reflection_json(insertion, record.step_ends, places if known else None)
            for insertion in record.insertions
        ],
    }


def _reflection_json(
    insertion: Insertion, ends: Sequence[int], places: Sequence[int] | None
) -> dict[str, Any]:
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


def answers_of(ballot: Ballot) -> list[str | None]:
    """Return each trajectory's answer under the label of its class."""
    return [str(ballot.labels[given]) if given >= 0 else None for given in ballot.classes.tolist()]


def vote_json(tally: Tally, ballot: Ballot, indices: Sequence[int]) -> dict[str, Any]:
    """Return a vote as the page draws it; `indices` are the trajectories' numbers in ballot order."""
    likely, kept = _sides(tally, ballot)
    classes = {label: number for number, label in enumerate(ballot.labels)}
    kept_by_split = np.bincount(ballot.classes[likely], minlength=len(ballot.labels))
    return {
        "method": tally.method,
        "answer": None if tally.answer is None else str(tally.answer),
        "share": tally.share,
        "probability": tally.probability,
        "majority": None if tally.majority is None else str(tally.majority),
        "rejected": None if tally.rejected is None else str(tally.rejected),
        "negative_answer": None if tally.negative_answer is None else str(tally.negative_answer),
        "n_trajectories": len(ballot.classes),
        "n_answered": tally.n_cast,
        "n_unanswered": tally.n_unanswered,
        "n_unmeasured": tally.n_unmeasured,
        "fallback": tally.fallback,
        "n_kept": tally.n_kept,
        "answers": [
            {
                "answer": str(label),
                "all": tally.votes[label],
                "kept": int(kept_by_split[classes[label]]),
                "after_reject": tally.kept_votes[label],
                "score": number(score),
                "share": tally.share_of(label),
                "rejected": label == tally.rejected,
            }
            for label, score in tally.scores.items()
        ],
        "confidences": [
            {
                "index": indices[at],
                "answer": str(ballot.labels[given]),
                "confidence": confidence,
                "likely_right": None if tally.first_split is None else bool(likely[at]),
                "kept": bool(kept[at]),
            }
            for (at, given), confidence in zip(
                ((at, given) for at, given in enumerate(ballot.classes.tolist()) if given >= 0),
                tally.confidences.tolist(),
                strict=True,
            )
            if not math.isnan(confidence)
        ],
        "first_split": _split_json(tally.first_split),
        "split": _split_json(tally.split),
        "intervals_won": None if tally.intervals_won is None else list(tally.intervals_won),
        "notes": list(tally.notes),
        "explanation": told(tally).splitlines(),
    }


def _sides(tally: Tally, ballot: Ballot) -> tuple[np.ndarray, np.ndarray]:
    """Return who is above the first cut, if there is one, and who has a say in the final vote."""
    likely, kept = np.zeros((2, len(ballot.classes)), dtype=np.bool_)
    answered = ballot.classes >= 0
    kept[answered] = tally.kept
    split = tally.first_split
    if split is None:
        likely[answered] = True
    elif not split.n_negative:
        likely[answered] = ~np.isnan(tally.confidences)
    else:
        likely[answered] = tally.confidences > split.cut
    return likely, kept


def _split_json(split: Split | None) -> dict[str, Any] | None:
    if split is None:
        return None
    gaussians = []
    if split.weights is not None and split.means is not None and split.sds is not None:
        sides = zip(("likely wrong", "likely right"), split.weights, split.means, split.sds, strict=True)
        gaussians = [
            {"side": side, "weight": number(weight), "mean": number(mean), "sd": number(sd)}
            for side, weight, mean, sd in sides
        ]
    return {
        "cut": number(split.cut),
        "n_positive": split.n_positive,
        "n_negative": split.n_negative,
        "gaussians": gaussians,
    }


def outcome_json(
    answered: Answered, controller: Controller | None, return_trajectories: bool
) -> dict[str, Any]:
    """Return the `distrivote` object of a reply: what `ask --json` says of a vote, and what it took."""
    solution = answered.solution
    tally, ballot, best = solution.tally, solution.ballot, solution.best
    trajectories = None
    if return_trajectories:
        votes = zip(solution.trajectories, answers_of(ballot), ballot.confidences.tolist(), strict=True)
        trajectories = [trajectory_json(*vote, controller) for vote in votes]
    document = tally_json(tally, told(tally), solution.min_probability)
    return document | {
        "budget": solution.n_asked,
        "n_trajectories": len(solution.trajectories),
        "best": 0 if best is None else best.index,
        "n_tokens": answered.n_tokens,
        "n_tokens_saved": solution.n_tokens_saved,
        "n_reflections": solution.n_reflections,
        "seconds": round(answered.seconds, 3),
        "stopped": solution.stopped,
        "trajectories": trajectories,
    }
