"""Several runs of the same questions -> one: of different models, or parts of one.

Runs with the same settings are parts of one run, such as shards: their trajectories keep their numbers, and
of two rows for one sample the first counts. The trajectories of other runs get the numbers after them. A
column says which model a trajectory is of, if there are several.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equivalence import same_answer
from distrivote.errors import InputError
from distrivote.store.columns import (
    ANSWER_CLASS,
    CORRECT,
    GROUND_TRUTH,
    MODEL,
    QUESTION,
    QUESTION_ID,
    SAMPLE,
)
from distrivote.store.results.files import new_folder
from distrivote.store.runs.compaction import MAX_RAW
from distrivote.store.runs.folder import Place
from distrivote.store.runs.manifest import Manifest, differences
from distrivote.store.runs.parts import FOLDER, first_of_each, write_part
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA

IMPORT, MERGE = "import", "merge"
_SHOWN = 60
_ALONE = ("engine", "model", "template", "benchmark", "sampling", "same", "seed")
_OPEN = ("ssc", "stop_when", "system", "answer", "request")
"""Settings that a merged run leaves open where its runs differ."""


class Merged(NamedTuple):
    """What was merged."""

    n_questions: int
    n_trajectories: int
    models: tuple[str, ...]
    """Empty if all are of one model."""

    n_doubled: int
    """Rows that were left out because an earlier run has the same sample by the same settings."""

    notes: tuple[str, ...]


def merge_runs(paths: Sequence[Place], folder: str, *, partial: bool = False) -> Merged:
    """Write the trajectories of several runs into a new run; raise InputError for different questions."""
    runs = [Run.open(path, partial=partial) for path in paths]
    if len(runs) < 2:
        raise InputError("there is one run to merge", hint="name two or more")
    twice = next((run.path for n, run in enumerate(runs) if run.path in [one.path for one in runs[:n]]), None)
    if twice is not None:
        raise InputError(f"{twice} is named twice", hint="name each run once")
    known: dict[str, _Question] = {}
    for run in runs:
        _check_questions(run, runs[0], known)
    names = [_model(run) for run in runs]
    stored = [_models_stored(run) for run in runs]
    distinct = dict.fromkeys(name for run, mine in zip(names, stored, strict=True) for name in mine or [run])
    several = len(distinct) > 1
    notes = [f"{run.folder.name}: {note}" for run in runs for note in run.notes]
    notes += _nameless(runs) if several else []
    notes += [
        f"{run.folder.name}: its columns of scores are left out ({', '.join(run.score_names)}): score the"
        " merged run"
        for run in runs
        if run.score_names
    ]
    manifest, groups = _manifest(runs, tuple(distinct)), _groups(runs)
    taken: dict[str, set[int]] = {}
    n_rows = n_doubled = budget = 0
    with new_folder(folder) as beside:
        (beside / FOLDER).mkdir()
        writer, number = secrets.token_hex(6), 0
        offsets: list[dict[str, int]] = []
        for run, group, name in zip(runs, groups, names, strict=True):
            if group == len(offsets):  # a new group: its numbers come after those of all before
                offsets.append({question: max(seen) + 1 for question, seen in taken.items()})
            table, n_left_out = _numbered(_rows(run), offsets[group], taken)
            n_doubled += n_left_out
            table = _with_model(table, name if several else None)
            for part in _slices(table):
                write_part(beside, writer, number, part)
                number += 1
            n_rows += len(table)
        budget = max((max(seen) + 1 for seen in taken.values()), default=0)
        dataclasses.replace(manifest, budget=max(budget, manifest.budget)).save(beside)
    models = tuple(distinct) if several else ()
    return Merged(len(known), n_rows, models, n_doubled, tuple(dict.fromkeys(notes)))


class _Question(NamedTuple):
    text: str | None
    truth: str | None
    run: str


def _check_questions(run: Run, first: Run, known: dict[str, _Question]) -> None:
    """Add the questions of a run to the known ones; raise InputError if they are others."""
    table = run.table((QUESTION_ID, QUESTION, GROUND_TRUTH))
    groups = table.group_by(QUESTION_ID, use_threads=False)
    rows = groups.aggregate([(QUESTION, "max"), (GROUND_TRUTH, "max")]).to_pylist()
    n_shared = 0
    for row in rows:
        mine = _Question(row[f"{QUESTION}_max"], row[f"{GROUND_TRUTH}_max"], run.folder.name)
        other = known.setdefault(row[QUESTION_ID], mine)
        n_shared += other is not mine
        for ours, theirs, same in (
            (mine.text, other.text, str.__eq__),
            (mine.truth, other.truth, same_answer),
        ):
            if ours is not None and theirs is not None and not same(ours, theirs):
                raise InputError(
                    f"{run.path} and {other.run} have different questions {row[QUESTION_ID]!r}:"
                    f" {_short(ours)} and {_short(theirs)}",
                    hint="merge runs of the same questions",
                )
    benchmarks = [each.manifest.benchmark for each in (run, first)]
    if run is not first and not n_shared and len(set(benchmarks)) > 1:
        raise InputError(
            f"{run.path} and {first.path} have no question in common ({' and '.join(benchmarks)})",
            hint="merge runs of the same questions",
        )


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _model(run: Run) -> str:
    return run.manifest.model or run.folder.name


def _models_stored(run: Run) -> list[str]:
    models: list[str] = run.table((MODEL,))[MODEL].drop_null().unique().to_pylist()
    return models


def _nameless(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        if not run.manifest.model:
            yield f"{run.folder.name} has no model's name, so it counts as a model of its own"


def _groups(runs: Sequence[Run]) -> list[int]:
    """Return a number for each run; those of the same settings have the same."""
    groups: list[int] = []
    heads: list[Manifest] = []
    for run in runs:
        manifest = run.manifest
        sampled = manifest.engine not in (IMPORT, MERGE)
        like = (i for i, head in enumerate(heads) if sampled and not any(differences(head, manifest)))
        group = next(like, len(heads))
        if group == len(heads):
            heads.append(manifest)
        groups.append(group)
    return groups


def _manifest(runs: Sequence[Run], models: Sequence[str]) -> Manifest:
    """Return the settings that the runs share, and which each has."""
    manifests = [run.manifest for run in runs]
    first = manifests[0]
    rules = {run.manifest.compared_by: run.path for run in runs}
    if len(rules) > 1:
        (rule, one), (other, two), *_ = rules.items()
        raise InputError(
            f"{one} compares answers by {rule} and {two} by {other}",
            hint=f"compact one of them with `same={rule}`",
        )
    limits = [each.limit for each in manifests]
    limit = None if None in limits else max(n for n in limits if n is not None)
    if len(set(_groups(runs))) == 1:
        return dataclasses.replace(
            first, budget=max(each.budget for each in manifests), limit=limit, grader=None
        )

    def shared(name: str, otherwise: Any) -> Any:
        values = [getattr(each, name) for each in manifests]
        return values[0] if all(value == values[0] for value in values) else otherwise

    keys = reduce(set.__and__, ({*each.sampling} for each in manifests))
    sampling = {
        key: first.sampling[key]
        for key in first.sampling
        if key in keys and all(each.sampling[key] == first.sampling[key] for each in manifests)
    }
    origins = {name: origin for each in manifests for name, origin in (each.origins or {}).items()}
    return Manifest(
        engine=MERGE,
        model=",".join(models),
        template=shared("template", ""),
        benchmark=" + ".join(dict.fromkeys(each.benchmark for each in manifests)),
        sampling=sampling,
        budget=0,
        limit=limit,
        seed=shared("seed", 0),
        same=next(iter(rules)),
        **{name: shared(name, None) for name in _OPEN},
        origins=origins or None,
        merged={f"{number} {run.folder.name}": _settings(run.manifest) for number, run in enumerate(runs, 1)},
    )


def _settings(manifest: Manifest) -> dict[str, Any]:
    kept = {name: getattr(manifest, name) for name in (*_ALONE, *_OPEN, "budget", "limit")}
    return {name: value for name, value in kept.items() if value is not None}


def _rows(run: Run) -> pa.Table:
    """Return everything that a run stores; answers are compared again among all runs.

    Whether an answer is right is kept only where a file said so.
    """
    said = run.manifest.engine == IMPORT
    names = [name for name in SCHEMA.names if name != ANSWER_CLASS and (said or name != CORRECT)]
    table = run.table(names)
    columns = [
        table[field.name] if field.name in names else pa.nulls(len(table), field.type) for field in SCHEMA
    ]
    return pa.table(columns, schema=SCHEMA)


def _numbered(table: pa.Table, offsets: dict[str, int], taken: dict[str, set[int]]) -> tuple[pa.Table, int]:
    """Return the rows with their new numbers, without those that are there already."""
    questions, samples = table[QUESTION_ID].to_pylist(), table[SAMPLE].to_pylist()
    numbers = [offsets.get(name, 0) + sample for name, sample in zip(questions, samples, strict=True)]
    new = []
    for row, (name, number) in enumerate(zip(questions, numbers, strict=True)):
        seen = taken.setdefault(name, set())
        if number not in seen:
            seen.add(number)
            new.append(row)
    table = table.set_column(
        table.schema.get_field_index(SAMPLE), SCHEMA.field(SAMPLE), pa.array(numbers, pa.int32())
    )
    return (table if len(new) == len(table) else table.take(pa.array(new, pa.int64()))), len(table) - len(new)


def _with_model(table: pa.Table, name: str | None) -> pa.Table:
    if name is None:
        return table
    models = pc.fill_null(table[MODEL], name)
    return table.set_column(table.schema.get_field_index(MODEL), SCHEMA.field(MODEL), models)


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows in parts that fit into memory."""
    n = max(1, int(len(table) * MAX_RAW / max(1, table.nbytes)))
    order = first_of_each(table) if len(table) else np.empty(0, np.int64)
    table = table.take(pa.array(order))
    for start in range(0, len(table), n):
        yield table.slice(start, n).combine_chunks()
