"""How often JSON objects are right on a stored run: single replies, votes on whole objects and on fields.

    python bench/json_votes.py [RUN] [--samples N]

RUN has texts and token confidences, and its right answers are JSON objects (`distrivote generate notes`). A
field is a key of the right answer; an object is right if all its fields are and it has no others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from distrivote.answers.structured.confidences import value_confidences
from distrivote.answers.structured.fields import Composed, compose
from distrivote.answers.structured.find import find_json
from distrivote.answers.structured.parse import Document, document, loaded
from distrivote.answers.structured.same import value_key
from distrivote.answers.structured.slots import Elect, Verdicts
from distrivote.trajectory import Floats
from distrivote.voting.probability import Calibration
from distrivote.voting.vote import elect
from stored_replies import METHODS, Question, Reply, questions_of, summary, winner

RUN = "examples/runs/qwen2.5-coder-notes"


def vote_by(method: str) -> Elect:
    """Return a method as the vote on fields."""

    def hold(classes: Any, confidences: Floats) -> Verdicts:
        n, width = classes.shape
        offsets = np.arange(n + 1) * width
        return elect(classes.ravel(), confidences.ravel(), offsets, [method], calibration=Calibration())[
            method
        ]

    return hold


def fields_right(value: Any, right: dict[str, Any]) -> float:
    """Return the share of the right object's fields that a value has."""
    if not isinstance(value, dict):
        return 0.0
    return float(
        np.mean([key in value and value_key(value[key]) == value_key(own) for key, own in right.items()])
    )


def documents_of(replies: Sequence[Reply]) -> list[Document | None]:
    """Return the JSON of each reply, None for a reply without."""
    found = [(reply.text, find_json(reply.text)) for reply in replies]
    return [
        None if each.extraction is None else document(text, each.start, each.extraction.end)
        for text, each in found
    ]


def field_vote(
    replies: Sequence[Reply], documents: Sequence[Document | None], method: str, whole: int
) -> Composed:
    """Return the object that the votes on fields make."""
    confidences = [
        None if each is None else value_confidences(reply.trajectory, each.places, tokens=reply.tokens)
        for reply, each in zip(replies, documents, strict=True)
    ]
    return compose(documents, confidences, vote_by(method), whole)


def shares_of(question: Question) -> dict[str, float]:
    """Return the shares of what is right on one question, by name."""
    right = loaded(question.right or "")
    documents = documents_of(question.replies)
    ends = [find_json(reply.text).extraction for reply in question.replies]
    confidences = [
        reply.confidence(None if end is None else end.end)
        for reply, end in zip(question.replies, ends, strict=True)
    ]
    values = [None if each is None else each.value for each in documents]
    keys = [None if each is None else value_key(each.value) for each in documents]
    goal = value_key(right)
    shares = {
        "JSON": float(np.mean([each is not None for each in documents])),
        "any object": float(goal in keys),
        "one reply, object": float(np.mean([key == goal for key in keys])),
        "one reply, fields": float(np.mean([fields_right(value, right) for value in values])),
    }
    for method in METHODS:
        whole = winner(keys, confidences, method)
        voted = None if whole is None else values[whole]
        composed = None if whole is None else field_vote(question.replies, documents, method, whole)
        made = None if composed is None else composed.value
        for name, value in (("whole", voted), ("by field", made)):
            shares[f"{method} {name}, object"] = float(value_key(value) == goal)
            shares[f"{method} {name}, fields"] = fields_right(value, right)
        shares[f"{method} by field, nobody said it"] = float(composed is not None and not composed.is_whole)
    return shares


AGAINST = tuple(
    pair
    for what in ("object", "fields")
    for pair in (
        *((f"{method} by field, {what}", f"{method} whole, {what}") for method in METHODS),
        (f"dis-gmm whole, {what}", f"sc whole, {what}"),
        (f"auto whole, {what}", f"sc whole, {what}"),
        (f"auto by field, {what}", f"sc whole, {what}"),
        (f"sc whole, {what}", f"one reply, {what}"),
    )
)


def measured(run: str, n_samples: int | None = None) -> dict[str, Any]:
    """Return what is right on a run, with intervals and paired differences."""
    questions = questions_of(run, n_samples)
    rows = [shares_of(question) for question in questions]
    shares = {name: [row[name] for row in rows] for name in rows[0]}
    return summary(shares, [question.id for question in questions], AGAINST)


def main() -> None:
    """Print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default=RUN)
    parser.add_argument("--samples", type=int, help="only the first N replies of each question")
    arguments = parser.parse_args()
    print(json.dumps(measured(arguments.run, arguments.samples), indent=1))


if __name__ == "__main__":
    main()
