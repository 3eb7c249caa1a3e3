"""Reads runs and tables of sampled answers as pool sets.

Only the columns that the experiments need are read. Questions without known truth are left out, and a note
counts them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from distrivote.answers.equality import Same
from distrivote.errors import InputError, UnknownNameError
from distrivote.evaluation.pools import PoolSet, distinct
from distrivote.evaluation.run_pools import pool_set_of_run
from distrivote.evaluation.table_pools import pool_sets_of_table, with_lengths
from distrivote.nouns import verb
from distrivote.store.runs.run import Run
from distrivote.store.tables.source import Columns, is_run

READS = ("measures", "lengths", "steps", "traces", "top-mass")
"""What an experiment may need beyond answers and confidences."""


class Loaded(NamedTuple):
    """What can be evaluated, and what was left out."""

    pool_sets: tuple[PoolSet, ...]
    notes: tuple[str, ...]

    def joined(self, other: Loaded) -> Loaded:
        return Loaded((*self.pool_sets, *other.pool_sets), (*self.notes, *other.notes))


def load_pool_sets(
    paths: Sequence[str],
    *,
    columns: Columns | None = None,
    signal: str | None = None,
    reads: Collection[str] = ("measures", "lengths"),
    same: Same | None = None,
) -> Loaded:
    """Read runs, and tables as `distrivote vote` reads them.

    Args:
        paths: Folders of runs, or files of sampled answers.
        columns: The names of the columns of files; with `by`, each of its values is a model.
        signal: What votes use instead of the confidence, in runs and files: a measure, `length`, a column,
            or `auto` for a mix of all of them.
        reads: What else is needed, of `READS`: `measures` for all confidences, `lengths` for steps and
            tokens, `steps` for how sure each step was, `traces` for the steps of each question's first
            trajectories, `top-mass` for the probability of the k most probable tokens.
        same: When two answers are equal, and when one is right; None: that of a run, and math for files.

    Raises:
        InputError: If no question with known truth is left.
    """
    for what in reads:
        if what not in READS:
            raise UnknownNameError("thing to read", what, READS)
    sets: list[PoolSet] = []
    notes: list[str] = []
    empty: list[str] = []
    for path in paths:
        if is_run(path):
            run = Run.open(path, same, partial=columns is not None and columns.partial)
            if not len(run.table(("sample",))):
                empty.append(path)
                notes += [*run.notes, f"{path} holds no trajectories yet: it is left out"]
                continue
            found = [pool_set_of_run(run, signal, reads, notes, columns.convert if columns else None)]
        else:
            found = list(pool_sets_of_table(path, columns or Columns(), signal, same, notes))
            if "lengths" in reads:
                found = with_lengths(path, columns or Columns(), same, found)
        for one in found:
            if one.pools:
                sets.append(one)
            else:
                notes.append(f"{one.name} has no question whose right answer is known: it is left out")
    if len(empty) == len(paths) > 0:
        raise InputError(
            f"{', '.join(empty)} {verb(len(empty), 'hold')} no trajectories yet",
            hint="sample some with distrivote generate, or name another run",
        )
    if not sets:
        raise InputError(
            f"no right answers are known in {', '.join(paths)}: evaluate needs ground_truth or correct"
        )
    return Loaded(distinct(sets), tuple(notes))
