"""Pools of the answers of a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from distrivote.answers.equality import Same
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError
from distrivote.evaluation.known_truth import UNKNOWN, known_pool, note_unknown
from distrivote.evaluation.pools import Pool, PoolSet
from distrivote.store.columns import CONFIDENCE, N_TOKENS
from distrivote.store.signal_columns import (
    AUTO,
    mixed_questions,
    weight_words,
    with_signal,
)
from distrivote.store.tables.classes import questions_of
from distrivote.store.tables.questions import QuestionCameBack, Questions, hold_questions, stream_questions
from distrivote.store.tables.source import Columns, open_table
from distrivote.store.tables.truth import Judge


def pool_sets_of_table(
    path: str, columns: Columns, signal: str | None, same: Same | None, notes: list[str]
) -> Iterator[PoolSet]:
    """Yield a set for each model of a file."""
    stem = Path(path).stem
    blocks = (
        _mixed(path, columns, same, notes) if signal == AUTO else _blocks(path, columns, signal, same, notes)
    )
    judge, n_unsure = Judge(same), 0
    sets: dict[str, list[Pool]] = {}
    counts: dict[str, list[int]] = {}
    for block in blocks:
        for index in range(len(block)):
            model = stem if block.by is None else str(block.by[index])
            pool, n_doubtful = _table_pool(block, index, judge)
            n_unsure += n_doubtful
            sets.setdefault(model, [])
            seen = counts.setdefault(model, [0, 0])
            seen[0] += pool is None
            seen[1] += 1
            if pool is not None:
                sets[model].append(pool)
    notes += [f"{stem}: {note}" for note in Remarks(n_unsure_grades=n_unsure).notes]
    for model, pools in sets.items():
        name = stem if model == stem else f"{stem}/{model}"
        note_unknown(notes, name, *counts[model])
        yield PoolSet(name, model, stem, tuple(pools))


def with_lengths(path: str, columns: Columns, same: Same | None, sets: Sequence[PoolSet]) -> list[PoolSet]:
    """Return the sets of a file with the lengths of their trajectories, where it has the column."""
    asked = dataclasses.replace(
        columns, confidence=columns.length, named=True, positive_for=None, convert=None
    )
    try:
        lengths = list(pool_sets_of_table(path, asked, None, same, []))
        if any((pool.confidence < 0).any() for one in lengths for pool in one.pools):
            raise InputError(
                f"{path} has lengths below 0 in its column {columns.length!r}",
                hint="name another with `length`",
                argument="length",
            )
    except InputError:  # no such column, or one that holds no lengths
        if columns.length != N_TOKENS:
            raise
        return list(sets)
    found = []
    for one, other in zip(sets, lengths, strict=True):
        pools = []
        for pool, length in zip(one.pools, other.pools, strict=True):
            tokens = np.nan_to_num(length.confidence)
            pools.append(dataclasses.replace(pool, n_tokens=np.rint(tokens).astype(np.int64)))
        found.append(dataclasses.replace(one, pools=tuple(pools)))
    return found


def _blocks(
    path: str, columns: Columns, signal: str | None, same: Same | None, notes: list[str]
) -> list[Questions]:
    with open_table(path, columns if signal is None else with_signal(columns, signal), same) as table:
        try:
            found = list(questions_of(table, stream_questions))
        except QuestionCameBack:
            found = list(questions_of(table, hold_questions))
    notes += [f"{Path(path).stem}: {note}" for note in table.notes]
    return found


def _mixed(path: str, columns: Columns, same: Same | None, notes: list[str]) -> list[Questions]:
    mixed = mixed_questions(path, columns, same)
    for model, weights in mixed.weights.items():
        name = Path(path).stem + (f"/{model}" if model else "")
        notes.append(f"{name} votes with a mix of signals: {weight_words(weights)}")
    return mixed.questions


def _table_pool(block: Questions, index: int, judge: Judge) -> tuple[Pool | None, int]:
    """Return a question's pool (None if the truth is unknown) and the number of uncertain gradings."""
    span = slice(int(block.offsets[index]), int(block.offsets[index + 1]))
    classes = block.classes[span]
    truth = np.full(len(classes), UNKNOWN, dtype=np.int8)
    if block.correct is not None:
        truth = block.correct[span].copy()
    right, n_unsure = (block.truths[index].as_py() if block.truths is not None else None), 0
    if right is not None:
        for number in np.unique(classes[(truth == UNKNOWN) & (classes >= 0)]).tolist():
            said = judge.verdict(block.labels[number].as_py(), right)
            mine = (truth == UNKNOWN) & (classes == number)
            truth[mine] = bool(said)
            n_unsure += int(mine.sum()) if said is None else 0
        truth[(truth == UNKNOWN) & (classes < 0)] = 0
    arrays = {"classes": classes, "truth": truth, CONFIDENCE: block.confidences[span]}
    return known_pool(str(block.ids[index]), arrays), n_unsure
