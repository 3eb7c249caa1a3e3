"""The tables of docs/results.md on kinds of answers: code, JSON and plain words, from stored runs with texts.

What is measured is in bench/humaneval.py, bench/json_votes.py and bench/short_votes.py.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "bench"))

from vote_table import points, vote_table

import humaneval
import json_votes
import short_votes

Found = Mapping[str, Any]
"""What `stored_replies.summary` returns."""

VOTES = {"sc": "majority", "wsc": "weighted by confidence", "dis-gmm": "DIS-GMM", "auto": "auto"}


def code_tables(runs: Path, benchmark: Path) -> list[str]:
    """Return the tables of votes on programs."""
    found = humaneval.measured(benchmark, str(runs / "qwen2.5-coder-humaneval"))
    rows = [("one sample", "single"), ("the surest of 12", "best_of_n")]
    rows += [(f"behaviour, {VOTES[method]}", f"behaviour_{method}") for method in humaneval.VOTES]
    lines = [
        [label, _share(found, name), "" if name == "single" else _difference(found, name, "single")]
        for label, name in rows
    ]
    lines.append(["any of the 12", _share(found, "any"), ""])
    return [
        vote_table(f"{found['n_questions']} problems", ["", "right", "less one sample, in points"], lines)
    ]


def json_tables(runs: Path) -> list[str]:
    """Return the tables of votes on JSON objects, whole and field by field."""
    found = json_votes.measured(str(runs / "qwen2.5-coder-notes"))
    lines = [["one reply", *(_share(found, f"one reply, {what}") for what in ("object", "fields"))]]
    for method in json_votes.METHODS:
        for way, label in (("whole", "whole objects"), ("by field", "field by field")):
            shares = [_share(found, f"{method} {way}, {what}") for what in ("object", "fields")]
            lines.append([f"{VOTES[method]}, {label}", *shares])
    lines.append(["any of the 16", _share(found, "any object"), ""])
    title = f"{found['n_questions']} notes, 16 replies each"
    pairs = [
        (f"{VOTES[method]}: field by field − whole", f"{method} by field", f"{method} whole")
        for method in json_votes.METHODS
    ]
    pairs += [
        (f"whole: {VOTES[method]} − majority", f"{method} whole", "sc whole")
        for method in ("dis-gmm", "auto")
    ]
    pairs += [("whole: majority − one reply", "sc whole", "one reply")]
    differences = [
        [
            label,
            *(_difference(found, f"{ours}, {what}", f"{theirs}, {what}") for what in ("object", "fields")),
        ]
        for label, ours, theirs in pairs
    ]
    return [
        vote_table(title, ["", "objects right", "fields right"], lines),
        vote_table("Differences in points, paired by note", ["", "objects", "fields"], differences),
    ]


def short_tables(runs: Path) -> list[str]:
    """Return the tables of votes on answers in plain words, beside those of answers in boxes."""
    found = short_votes.measured(str(runs / "qwen2.5-coder-plain"), str(runs / "qwen2.5-coder-basic"))
    rows = [("replies with an answer", "answered"), ("one reply right", "one reply")]
    rows += [(f"{VOTES[method]} right", method) for method in short_votes.METHODS]
    kinds = ("boxed", "marked", "short")
    lines = [
        [
            label,
            *(_share(found, f"{kind}, {name}") for kind in kinds),
            _difference(found, f"short, {name}", f"boxed, {name}"),
        ]
        for label, name in rows
    ]
    heads = [
        "",
        "boxed",
        "plain words, marked answers only",
        "plain words, `short`",
        "`short` − boxed, in points",
    ]
    return [vote_table(f"{found['n_questions']} questions, 16 replies each", heads, lines)]


def _share(found: Found, name: str) -> str:
    mean, low, high = found["percent"][name]
    return f"{mean}% ({low} to {high})"


def _difference(found: Found, ours: str, theirs: str) -> str:
    return points(*found["differences"][f"{ours} - {theirs}"])
