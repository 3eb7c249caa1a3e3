"""What `vote` prints: a table for people, tab-separated lines for pipes, JSON for programs.

A printout collects results, in a temporary file if there may be many, and prints all of them at the end, so
that incomplete output is never printed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from typing import Any, BinaryIO, Protocol

from rich.console import Console

from distrivote.nouns import count, verb
from distrivote.report.documents import summary_document
from distrivote.report.documents.fields import TallyDocument, VoteRow
from distrivote.report.terminal.votes import Score, summary, vote_table
from distrivote.store.results.tables import (
    by_name,
    json_lines,
    long_table,
    tab_header,
    tab_lines,
    wide_table,
)
from distrivote.store.results.votes import MAJORITY, Results, Totals
from distrivote.voting.caveats import MIN_POOL, in_majority_only

MOST_ROWS = 40


class Printout(Protocol):
    """Collects results, and prints them at the end."""

    def add(self, results: Results) -> None: ...
    def finish(self, totals: Totals) -> None: ...
    def close(self) -> None: ...


class TablePrintout:
    """The first questions as a table, and the summary below."""

    def __init__(self, console: Console, by: str | None) -> None:
        self.console, self.by = console, by
        self.rows: list[VoteRow] = []

    def add(self, results: Results) -> None:
        left = MOST_ROWS * len(results.methods) - len(self.rows)
        if left:
            self.rows += long_table(results, self.by).slice(0, left).to_pylist()

    def finish(self, totals: Totals) -> None:
        by = None if self.by is None else by_name(self.by)
        self.console.print()
        self.console.print(vote_table(self.rows, totals.methods, self.console.width, totals.n_questions, by))
        self.console.print()
        print_summary(self.console, totals)

    def close(self) -> None:
        pass


class TabPrintout:
    """A line per question under a header."""

    def __init__(self, stdout: BinaryIO, by: str | None) -> None:
        self.stdout, self.by = stdout, by
        self.spool = tempfile.TemporaryFile(prefix="distrivote-")  # noqa: SIM115
        self.started = False

    def add(self, results: Results) -> None:
        table = wide_table(results, self.by)
        if not self.started:
            self.spool.write(tab_header(table.column_names))
        self.started = True
        self.spool.write(tab_lines(table))

    def finish(self, totals: Totals) -> None:  # noqa: ARG002
        _copy(self.spool, self.stdout)

    def close(self) -> None:
        self.spool.close()


class JsonPrintout:
    """One document: methods, a row per question and method, summary."""

    def __init__(self, stdout: BinaryIO, by: str | None) -> None:
        self.stdout, self.by = stdout, by
        self.spool = tempfile.TemporaryFile(prefix="distrivote-")  # noqa: SIM115
        self.started = False
        self.explanations: list[TallyDocument] = []

    def add(self, results: Results) -> None:
        rows = json_lines(long_table(results, self.by), before=",\n    ", after="")
        if not self.started:
            head = f'{{\n  "methods": {_json(list(results.methods))},\n  "questions": ['
            self.spool.write(head.encode())
            rows = rows[1:]  # no comma before the first
        self.started = True
        self.spool.write(rows)

    def finish(self, totals: Totals) -> None:
        self.spool.write(b"\n  ],\n")
        if self.explanations:
            self.spool.write(f'  "explanations": {_json(self.explanations)},\n'.encode())
        self.spool.write(f'  "summary": {_json(summary_document(totals))}\n}}\n'.encode())
        _copy(self.spool, self.stdout)

    def close(self) -> None:
        self.spool.close()


def _copy(spool: Any, stdout: BinaryIO) -> None:
    spool.seek(0)
    shutil.copyfileobj(spool, stdout, 1 << 20)
    stdout.flush()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def print_summary(console: Console, totals: Totals) -> None:
    """Print the accuracies, if the truth is known, and the counts."""
    scores = [
        Score(_shown_name(name), a.n_right, a.n_known, a.interval)
        for name, a in totals.accuracy.items()
        if a.n_known
    ]
    console.print(
        summary(
            *(scores, totals.n_questions, totals.n_trajectories, totals.n_unanswered, totals.n_unmeasured),
            console.width,
        )
    )


def _shown_name(method: str) -> str:
    return "majority" if method == MAJORITY else method


def notes_of(totals: Totals, lacks: str | None = None) -> list[str]:
    """Return caveats about the pools, a line each.

    `lacks` is the name of the column of the confidence, if the file does not have it.
    """
    notes = unmeasured_notes(totals, lacks)
    of = f"of {count(totals.n_questions, 'question')}"
    if totals.n_small:
        have = verb(totals.n_small, "have")
        notes.append(
            f"{totals.n_small:,} {of} {have} fewer than {MIN_POOL} answers:"
            " a split by confidence is mostly noise there"
        )
    if totals.n_overruling:
        go = verb(totals.n_overruling, "go")
        notes.append(
            f"{totals.n_overruling:,} {of} with fewer than {MIN_POOL} answers {go} against a clear majority:"
            " confidence is weak evidence there"
        )
    if totals.n_one_hump:
        have = verb(totals.n_one_hump, "have")
        notes.append(
            f"{totals.n_one_hump:,} {of} hardly {have} two humps of confidence: the split says little there"
        )
    if totals.n_doubtful:
        were = f"{count(totals.n_doubtful, 'winner')} {verb(totals.n_doubtful, 'were')}"
        notes.append(f"{were} equal to the right answer one way and not another: doubtful, and so wrong")
    if totals.bar.no_probability is not None:
        notes.append(totals.bar.no_probability)
    elif totals.n_uncalibrated and totals.bar.min_probability:
        have = verb(totals.n_uncalibrated, "have")
        fitted = totals.bar.calibration
        notes.append(
            f"{totals.n_uncalibrated:,} {of} {have} fewer than {fitted.fewest:,} or more than {fitted.most:,}"
            " answers, on which probabilities were not fitted: take them as a guess there"
        )
    for name in totals.methods:
        n = totals.n_withheld.get(name, 0)
        if n:
            was = verb(n, "were")
            notes.append(f"{n:,} {of} {was} withheld ({name}): the answer is less probable than asked for")
    return notes


def unmeasured_notes(totals: Totals, lacks: str | None = None) -> list[str]:
    """Return how answers without a confidence were counted, a line each."""
    n_answers = totals.n_trajectories - totals.n_unanswered
    if totals.n_unmeasured and totals.n_unmeasured == n_answers:
        methods = [name for name in totals.methods if name != MAJORITY]
        why = "" if lacks is None else f": there is no column {lacks!r} (`confidence` names another)"
        return [f"no answer has a confidence, so majority voting decides, not {' or '.join(methods)}{why}"]
    notes = []
    if totals.n_unmeasured:
        notes.append(in_majority_only(totals.n_unmeasured, n_answers))
    if totals.n_fallbacks:
        have = verb(totals.n_fallbacks, "have")
        notes.append(
            f"{totals.n_fallbacks:,} of {count(totals.n_questions, 'question')} {have} no confidence at all:"
            " majority voting decides there"
        )
    return notes
