"""How many replies in plain words get an answer, and how often votes on them are right, on a stored run.

    python bench/short_votes.py [RUN] [BOXED_RUN] [--samples N]

RUN has texts and token confidences; its questions were put plainly and have short answers. BOXED_RUN has
the same questions put with a template that says where the answer goes; texts are not needed. "marked" is
what a run itself has as answers, read by the rules that need a mark.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from distrivote.answers.short import folded, short
from distrivote.store import Run
from stored_replies import METHODS, Question, questions_of, summary, winner

RUN, BOXED = "examples/runs/qwen2.5-coder-plain", "examples/runs/qwen2.5-coder-basic"


def shares_of(question: Question) -> dict[str, float]:
    """Return the shares of what is right on one question, by name."""
    goal = folded(question.right or "")
    # What a reply had not finished to say is no answer.
    found = [None if reply.is_cut else short(reply.text) for reply in question.replies]
    keys = [None if each is None else folded(each.answer) for each in found]
    confidences = [
        reply.confidence(None if each is None else each.end)
        for reply, each in zip(question.replies, found, strict=True)
    ]
    whole = [key for reply, key in zip(question.replies, keys, strict=True) if not reply.is_cut]
    shares = {
        "ended": float(np.mean([not reply.is_cut for reply in question.replies])),
        "short, answered": _answered(keys),
        "short, answered of ended": _answered(whole) if whole else np.nan,
    }
    return shares | {f"short, {name}": share for name, share in _votes(keys, confidences, goal).items()}


def boxed_shares(path: str, n_samples: int | None, name: str) -> dict[str, dict[str, float]]:
    """Return the same by question for the answers that a run itself has."""
    rows: dict[str, list[dict[str, Any]]] = {}
    columns = ("question_id", "sample", "answer_class", "correct", "confidence")
    for row in Run.open(path).table(columns).to_pylist():
        rows.setdefault(row["question_id"], []).append(row)
    shares = {}
    for question, own in rows.items():
        own = sorted(own, key=lambda row: row["sample"])[:n_samples]
        keys = [None if row["answer_class"] < 0 else row["answer_class"] for row in own]
        goal = next((row["answer_class"] for row in own if row["correct"]), -1)
        confidences = [np.nan if row["confidence"] is None else row["confidence"] for row in own]
        shares[question] = {f"{name}, answered": _answered(keys)} | {
            f"{name}, {what}": share for what, share in _votes(keys, confidences, goal).items()
        }
    return shares


def _answered(keys: Sequence[Hashable | None]) -> float:
    return float(np.mean([key is not None for key in keys]))


def _votes(keys: Sequence[Hashable | None], confidences: Sequence[float], goal: Hashable) -> dict[str, float]:
    shares = {"one reply": float(np.mean([key == goal for key in keys]))}
    for method in METHODS:
        elected = winner(keys, confidences, method)
        shares[method] = float(elected is not None and keys[elected] == goal)
    return shares


def measured(run: str, boxed: str | None, n_samples: int | None = None) -> dict[str, Any]:
    """Return what is answered and right on a run, with intervals and paired differences."""
    questions = questions_of(run, n_samples)
    rows = {question.id: shares_of(question) for question in questions}
    others = [boxed_shares(run, n_samples, "marked")]
    if boxed is not None:
        others.append(boxed_shares(boxed, n_samples, "boxed"))
    for other in others:
        rows = {name: row | other[name] for name, row in rows.items() if name in other}
    names = list(rows)
    shares = {what: [rows[name][what] for name in names] for what in rows[names[0]]}
    ways = ("answered", "one reply", *METHODS)
    kinds = ("marked",) if boxed is None else ("marked", "boxed")
    against = [(f"short, {way}", f"{kind}, {way}") for kind in kinds for way in ways]
    against += [(f"short, {method}", "short, sc") for method in METHODS if method != "sc"]
    return summary(shares, names, against)


def main() -> None:
    """Print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default=RUN)
    parser.add_argument("boxed", nargs="?", help=f"such as {BOXED}")
    parser.add_argument("--samples", type=int, help="only the first N replies of each question")
    arguments = parser.parse_args()
    print(json.dumps(measured(arguments.run, arguments.boxed, arguments.samples), indent=1))


if __name__ == "__main__":
    main()
