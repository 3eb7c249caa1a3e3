"""The tables of docs/results.md on kinds of answers: code, JSON and plain words, from stored runs with texts.

What is measured is in bench/humaneval.py, bench/json_votes.py and bench/short_votes.py.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "bench"))

from evidence import AUTO, DIS, ONE, SC, Evidence, of_summary
from vote_table import points, vote_table

import humaneval
import json_votes
import short_votes

Found = Mapping[str, Any]
"""What `stored_replies.summary` returns."""

VOTES = {"sc": "majority", "wsc": "weighted by confidence", "dis-gmm": "DIS-GMM", "auto": "auto"}


class Kind(NamedTuple):
    """What the page shows of votes on one kind of answer."""

    tables: Sequence[str]
    evidence: Evidence


def code(runs: Path, benchmark: Path) -> Kind:
    """Return what votes on programs gain."""
    found = humaneval.measured(benchmark, str(runs / "qwen2.5-coder-humaneval"))
    what = "Programs of Qwen2.5-Coder-1.5B for HumanEval, compared by what they do"
    names = {ONE: "single", SC: "behaviour_sc", DIS: "behaviour_dis-gmm", AUTO: "behaviour_auto"}
    return Kind(_code_tables(found), of_summary(what, "HumanEval", 12, found, names))


def notes(runs: Path) -> Kind:
    """Return what votes on JSON objects gain."""
    found = json_votes.measured(str(runs / "qwen2.5-coder-notes"))
    what = "Notes as JSON objects, whole objects right, Qwen2.5-Coder-1.5B"
    names = {ONE: "one reply", SC: "sc whole", DIS: "dis-gmm whole", AUTO: "auto whole"}
    whole = {way: f"{name}, object" for way, name in names.items()}
    return Kind(_json_tables(found), of_summary(what, "JSON notes", 16, found, whole))


def plain(runs: Path) -> Kind:
    """Return what votes on answers in plain words gain, beside those in boxes."""
    found = short_votes.measured(str(runs / "qwen2.5-coder-plain"), str(runs / "qwen2.5-coder-basic"))
    what = "GSM8K answered in plain words, Qwen2.5-Coder-1.5B"
    names = {ONE: "one reply", SC: "sc", DIS: "dis-gmm", AUTO: "auto"}
    short = {way: f"short, {name}" for way, name in names.items()}
    return Kind(_short_tables(found), of_summary(what, "GSM8K in words", 16, found, short))


def _code_tables(found: Found) -> list[str]:
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


def _json_tables(found: Found) -> list[str]:
    """Return the tables of votes on whole objects and field by field."""
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


def _short_tables(found: Found) -> list[str]:
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
