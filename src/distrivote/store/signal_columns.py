"""Which measure of confidence a vote uses, by name; and several measures of a file combined into one.

A signal is a measure of `schema.MEASURES`, by its name or its column's name, `length` (the number of tokens:
shorter is more confident), any other column of a file, or one that a scorer added to a run.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from distrivote.answers.equality import Same
from distrivote.confidence import LENGTH, measure_named
from distrivote.errors import InputError
from distrivote.store.columns import N_TOKENS
from distrivote.store.runs.schema import MEASURES
from distrivote.store.tables.classes import questions_of
from distrivote.store.tables.faults import json_object
from distrivote.store.tables.questions import Questions, hold_questions
from distrivote.store.tables.source import STDIN, AnswerTable, Columns, open_table
from distrivote.voting.models import EQUAL, among_models
from distrivote.voting.scales import made_positive
from distrivote.voting.signals import combine, fullest

AUTO = "auto"


def with_signal(columns: Columns, name: str) -> Columns:
    """Return the columns with the confidence that the signal names."""
    if name in (LENGTH, N_TOKENS, columns.length):
        return replace(columns, confidence=columns.length, per_length=True, named=True, positive_for="length")
    return replace(columns, confidence=MEASURES.get(name, name), named=True)


def measure_of(signal: str) -> str:
    """Return the measure that a signal names, for trajectories."""
    if signal == AUTO:
        raise InputError(
            "the signal auto weighs the signals of many questions",
            hint="name one, such as logprob",
            argument="signal",
        )
    own = {column: name for name, column in reversed(MEASURES.items())} | {N_TOKENS: LENGTH}
    return measure_named(own.get(signal, signal)).name


class Mixed(NamedTuple):
    """All questions of a file, with a mix of its signals as confidence."""

    questions: list[Questions]
    weights: dict[str, dict[str, float]]
    """The weight of each signal, for each value of `by`; "" without `by`."""

    notes: tuple[str, ...] = ()
    """Caveats, a sentence each."""


def mixed_questions(path: str, columns: Columns, same: Same | None = None) -> Mixed:
    """Read every signal of a file and combine them into one; all rows are held in memory.

    Each value of `by` counts as one model, with its own weights. A signal that is missing for more answers
    than another is left out.
    """
    if path == STDIN:
        raise InputError(
            "the signal auto reads the file several times",
            hint="name a file, not standard input",
            argument="signal",
        )
    found: dict[str, list[Questions]] = {}
    tables: dict[str, AnswerTable] = {}
    refusals: list[InputError] = []
    names, added = _names_there(path, columns)
    columns = replace(columns, positive_for="a mix of signals")
    for name in names:
        # Scores from outside may be any numbers.
        read = replace(columns, positive_for=None) if name in added else columns
        with open_table(path, with_signal(read, name), same) as table:
            try:
                found[name], tables[name] = list(questions_of(table, hold_questions)), table
            except InputError as error:
                refusals.append(error)
    if not found:
        known = ", ".join(_known(columns))
        nothing = InputError(
            f"{path} has no column of a signal (none of {known})",
            hint="name one with `signal`",
            argument="signal",
        )
        raise refusals[0] if refusals else nothing
    blocks = list(next(iter(found.values())))
    weights: dict[str, dict[str, float]] = {}
    classes = np.concatenate([block.classes for block in blocks])
    every = {name: np.concatenate([block.confidences for block in some]) for name, some in found.items()}
    sizes = np.concatenate([np.diff(block.offsets) for block in blocks])
    pools = np.concatenate([[0], np.cumsum(sizes)])
    for name in added & {*every}:
        every[name] = made_positive(classes, every[name], pools)[0]
    if all(block.models is not None for block in blocks):
        models = [name for block in blocks if block.models is not None for name in block.models]
        every = {name: among_models(classes, some, pools, models, EQUAL)[0] for name, some in every.items()}
    values = fullest(every, classes)
    notes = tuple(tables[next(iter(values))].notes)
    of = np.concatenate([_models(block) for block in blocks])
    mixed = np.empty(len(classes))
    for model in dict.fromkeys(of.tolist()):
        mine = np.repeat(of == model, sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes[of == model])])
        combined = combine({name: some[mine] for name, some in values.items()}, classes[mine], offsets)
        mixed[mine] = combined.confidences
        weights[model] = combined.weights
    ends = np.cumsum([0, *(len(block.classes) for block in blocks)]).tolist()
    parts = [
        replace(block, confidences=mixed[a:b]) for block, a, b in zip(blocks, ends, ends[1:], strict=False)
    ]
    return Mixed(parts, weights, notes)


def _known(columns: Columns) -> list[str]:
    own = [] if columns.confidence is None else [columns.confidence]
    return list(dict.fromkeys([*own, *MEASURES.values(), columns.length]))


def _names_there(path: str, columns: Columns) -> tuple[Sequence[str], set[str]]:
    """Return the signals of a file, and which of them scorers have added to a run."""
    with open_table(path, replace(columns, confidence=None)) as table:
        next(iter(table.batches()), None)  # raises the error of a file that can't be read
        there = column_names(table)
        known = _known(columns)
        added = [name for name in there if name not in known] if table.kind == "run" else []
    return [name for name in (*known, *added) if name in there], set(added)


def column_names(table: AnswerTable) -> Sequence[str]:
    """Return the columns of a table that may hold values; for text files from the first line."""
    if table.kind == "run":
        from distrivote.store.runs.run import Run

        run = Run.open(table.name, partial=table.columns.partial)
        stored = run.table([*dict.fromkeys(MEASURES.values()), N_TOKENS, *run.score_names])
        return [name for name in stored.column_names if stored[name].null_count < len(stored)]
    if table.kind == "parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(table.path).names)
    with open(table.path, "rb") as file:
        first = next((line for line in file if line.strip()), b"")
    text = first.decode("utf-8-sig", errors="replace")
    if table.kind == "jsonl":
        return list(json_object(text, lambda: f"{table.name}, line 1", "question_id, answer and confidence"))
    delimiter = max(",\t;", key=text.count)
    return [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]


def _models(block: Questions) -> np.ndarray:
    if block.by is None:
        return np.full(len(block), "", dtype=object)
    return np.array([str(value) for value in block.by.to_pylist()], dtype=object)


def weight_words(weights: dict[str, float]) -> str:
    """Return a mix in words, the heaviest first; equal ones, but for rounding, by name."""
    shown = sorted(weights.items(), key=lambda item: (-round(item[1], 9), item[0]))
    heavy = [f"{name} {weight:.0%}" for name, weight in shown if weight >= 0.005]
    return ", ".join(heavy) if heavy else "none: no signal tells right from wrong here, so votes alone count"
