"""Pools of the trajectories of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.confidence import DEFAULT_K, DEFAULT_MEASURE, LENGTH
from distrivote.errors import UnknownNameError
from distrivote.evaluation.conditions import CONDITIONS
from distrivote.evaluation.known_truth import UNKNOWN, known_pool, note_unknown
from distrivote.evaluation.mixing import by_length, by_mix
from distrivote.evaluation.pools import Floats, Pool, PoolSet, Steps, Trace
from distrivote.nouns import count
from distrivote.steering.choice import is_selfstepconf
from distrivote.store.columns import (
    ANSWER_CLASS,
    CONFIDENCE,
    FINISH_REASON,
    GROUND_TRUTH,
    MODEL,
    N_TOKENS,
    QUESTION_ID,
)
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.models import models_of, together_note
from distrivote.store.runs.parts import question_starts
from distrivote.store.runs.rows import n_ended
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import MEASURES
from distrivote.store.runs.sources import SOURCE, SOURCED, check_ks, check_sources
from distrivote.store.signal_columns import (
    AUTO,
    weight_words,
)
from distrivote.voting.models import among_models, worth_of_pools
from distrivote.voting.scales import Convert, made_positive

_MOST_TRACES = 16
"""Trajectories of a question whose steps are read: one of them with reflections is enough."""


def pool_set_of_run(
    run: Run,
    signal: str | None,
    reads: Collection[str],
    notes: list[str],
    convert: Convert | None = None,
) -> PoolSet:
    """Return the set of a run that votes with a signal."""
    own = {column: name for name, column in reversed(MEASURES.items())}
    signal = DEFAULT_MEASURE if signal is None else own.get(signal, signal)
    if signal in MEASURES or signal in run.score_names:
        return _of_run(run, signal, reads, notes, convert)
    if signal not in (AUTO, LENGTH, N_TOKENS):
        known = [*MEASURES, LENGTH, AUTO, *run.score_names]
        raise UnknownNameError("signal", signal, known, argument="signal")
    found = _of_run(run, DEFAULT_MEASURE, {*reads, "measures"}, notes)
    if signal != AUTO:
        return by_length(found)
    mixed, weights = by_mix(found)
    notes.append(f"{found.name} votes with a mix of signals: {weight_words(weights)}")
    return mixed


def _of_run(
    run: Run, measure: str, reads: Collection[str], notes: list[str], convert: Convert | None = None
) -> PoolSet:
    name, column = run.folder.name, MEASURES.get(measure, measure)
    wanted = [QUESTION_ID, ANSWER_CLASS, "correct", "k", "n_tokens", column, SOURCE, MODEL]
    wanted += [GROUND_TRUTH]
    if "measures" in reads:
        wanted += [each for each in (*MEASURES.values(), *run.score_names) if each not in wanted]
    if "lengths" in reads:
        wanted += ["step_ends", "reflections", "text", "seconds"]
    if "steps" in reads:
        wanted.append(FINISH_REASON)
    table = run.table(list(dict.fromkeys(wanted))).combine_chunks()
    notes += [f"{name}: {note}" for note in run.notes]
    if "steps" in reads and (n := n_ended(table)):
        notes.append(
            f"{name}: {n:,} of {count(len(table), 'trajectory')} were ended early: their lengths are"
            " not whole and they have no vote, so what a rule would save is not that of a full run"
        )
    models = models_of(table)
    alike = (QUESTION_ID, MODEL)  # what is compared with each other
    check_ks(table, name, alike, advice="evaluate them apart")
    if column in SOURCED:
        check_sources(table, name, alike)
    starts = question_starts(table)
    arrays = _run_arrays(table, column, reads)
    offsets = np.array([*starts, len(table)])
    for each in {*run.score_names}.intersection(table.column_names):
        values, note = made_positive(
            arrays["classes"], _floats(table, each), offsets, convert if each == column else None
        )
        if each == column:
            arrays[CONFIDENCE] = values
            notes += [f"{name}: {note}"] if note else []
        if "measures" in reads:
            arrays[f"measure {each}"] = values
    if len(models) > 1:
        notes.append(f"{name}: {together_note(models)}")
        arrays |= _among_models(arrays, offsets, table[MODEL].to_pylist())
    pools, n_unknown = [], 0
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        span = slice(start, end)
        question = table[QUESTION_ID][start].as_py()
        pool = known_pool(question, {key: values[span] for key, values in arrays.items()})
        n_unknown += pool is None
        truth = table[GROUND_TRUTH][start].as_py()
        pools += [dataclasses.replace(pool, truth=truth)] if pool is not None else []
    note_unknown(notes, name, n_unknown, len(starts))
    if "steps" in reads:
        pools = [_with_steps(run, pool) for pool in pools]
    if "top-mass" in reads:
        pools = [_with_top_mass(run, pool) for pool in pools]
    found = _run_set(name, run.graded_manifest, tuple(pools))
    return dataclasses.replace(found, traces=_traces(run)) if "traces" in reads else found


def _among_models(arrays: Mapping[str, Any], offsets: Any, models: Sequence[str]) -> dict[str, Any]:
    """Return the confidences by their rank within their model, and what the votes are worth."""
    classes = arrays["classes"]
    names = np.array(models, dtype=object)
    spans = list(pairwise(offsets.tolist()))
    worth = worth_of_pools([(classes[low:high], names[low:high]) for low, high in spans])
    found: dict[str, Any] = {"models": names}
    for key in arrays:
        if key == CONFIDENCE or key.startswith("measure "):
            found[key], found["weights"] = among_models(classes, arrays[key], offsets, models, worth)
    return found


def _traces(run: Run) -> tuple[Trace, ...]:
    table = run.table([QUESTION_ID, "sample", "step_ends", "step_confidences", "reflections", "unfinished"])
    first = table.filter(pc.less(table["sample"], _MOST_TRACES))
    return tuple(
        Trace(
            row[QUESTION_ID],
            row["sample"],
            np.array(row["step_ends"], dtype=np.int64),
            np.array(row["step_confidences"], dtype=np.float64),
            np.array(row["reflections"] or [], dtype=np.int64),
            bool(row["unfinished"]),
        )
        for row in first.to_pylist()
        if row["step_ends"] and row["step_confidences"]
    )


def _with_steps(run: Run, pool: Pool) -> Pool:
    """Return the pool with the steps of its trajectories, if all of them were recorded."""
    table = run.table(["step_ends", "step_confidences", "token_confidences"], pool.question)
    found = []
    for row in table.to_pylist():
        if not row["step_ends"] or row["step_confidences"] is None:
            return pool
        ends = np.array(row["step_ends"], dtype=np.int64)
        tokens = row["token_confidences"]
        known = None if tokens is None or len(tokens) != ends[-1] else np.array(tokens, dtype=np.float64)
        found.append(Steps.of(ends, np.array(row["step_confidences"], dtype=np.float64), known))
    return dataclasses.replace(pool, steps=tuple(found))


def _with_top_mass(run: Run, pool: Pool) -> Pool:
    """Return the pool with the probabilities of the most probable tokens; they are read by question."""
    column = run.table(["top_logprobs"], pool.question)["top_logprobs"]
    if column.null_count == len(column):
        return pool
    means, shares = [], []
    for tokens in column:
        masses = [np.exp(entries.values.to_numpy()).sum() for entries in tokens.values or ()]
        means.append(float(np.nanmean(masses)) if masses else np.nan)
        shares.append(float(np.mean(np.array(masses) > 0.99)) if masses else np.nan)
    return dataclasses.replace(pool, top_mass=np.array(means), top_mass_99=np.array(shares))


def _floats(table: pa.Table, column: str) -> Floats:
    return np.asarray(table[column].to_numpy(), dtype=np.float64)


def _run_arrays(table: pa.Table, confidence: str, reads: Collection[str]) -> dict[str, Any]:
    def floats(column: str) -> Floats:
        return _floats(table, column)

    arrays = {
        "classes": table[ANSWER_CLASS].fill_null(-1).to_numpy().astype(np.int64),
        "truth": table["correct"].cast(pa.int8()).fill_null(UNKNOWN).to_numpy(),
        CONFIDENCE: floats(confidence),
    }
    for name, column in MEASURES.items() if "measures" in reads else ():
        if name != "perplexity":  # the same number as logprob, the geometric mean probability
            arrays[f"measure {name}"] = floats(column)
    if table["n_tokens"].null_count < len(table):
        arrays["n_tokens"] = table["n_tokens"].fill_null(0).to_numpy().astype(np.int64)
    if "lengths" in reads:
        if table["step_ends"].null_count < len(table):
            # An unfinished step at the end of the text counts as a step.
            whole = pc.fill_null(pc.list_value_length(table["step_ends"]), 0).to_numpy()
            arrays["n_steps"] = whole.astype(np.int64)
        if table["text"].null_count < len(table):
            gaps = pc.count_substring_regex(pc.utf8_trim_whitespace(table["text"]), "\\n\\n+")
            arrays["n_paragraphs"] = pc.fill_null(gaps, -1).to_numpy().astype(np.int64) + 1
        if table["reflections"].null_count < len(table):
            counted = pc.fill_null(pc.list_value_length(table["reflections"]), 0)
            arrays["n_reflections"] = counted.to_numpy().astype(np.int64)
        if table["seconds"].null_count < len(table):
            arrays["seconds"] = floats("seconds")
    return arrays


def _run_set(name: str, manifest: Manifest, pools: tuple[Pool, ...]) -> PoolSet:
    ssc = manifest.ssc
    conditions = _conditions(manifest)
    settings = {
        (f"controller_{key}" if key in conditions else key): value
        for key, value in _settings(ssc or {}).items()
    } | conditions
    model = manifest.model or "unknown model"
    steered = is_selfstepconf(ssc)
    if ssc is not None and not steered:
        model = f"{model} ({ssc.get('kind')})"
    return PoolSet(name, model, manifest.benchmark, pools, steered, settings)


def _conditions(manifest: Manifest) -> dict[str, float | int | str | bool | None]:
    """Return the conditions of a run; None for those that its manifest does not have."""
    told: dict[str, Any] = {
        **{name: getattr(manifest, name, None) for name in CONDITIONS},
        **{name: value for name, value in manifest.sampling.items() if name in CONDITIONS},
    }
    if isinstance(n := manifest.sampling.get("n_logprobs"), int):
        told["k"] = min(n, DEFAULT_K)
    if manifest.grader is not None:
        told["grader"] = f"{manifest.grader['same']} {manifest.grader['version']}"
    return {name: _plainly(value) for name, value in told.items()}


def _plainly(value: Any) -> float | int | str | bool | None:
    """Return a setting as one plain value; empty texts and lists are None."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(repr, value)) or None
    return value if isinstance(value, (bool, int, float)) else (str(value or "") or None)


def _settings(ssc: Mapping[str, Any]) -> dict[str, float | int | str | bool | None]:
    """Return a controller's settings; the splitter in words, such as `window 512`."""
    plain = {key: value for key, value in ssc.items() if not isinstance(value, (Mapping, list))}
    plain.pop("kind", None)
    split = ssc.get("split")
    if isinstance(split, Mapping):
        values = ["exact" if value is True else str(value) for value in split.values() if value is not False]
        kind = str(split.get("kind", "")).removesuffix("Splitter").lower()
        plain["split"] = " ".join([kind, *(value.replace("\n", "\\n") for value in values[1:])])
        plain["exact_token"] = bool(split.get("exact_token", False))
    return plain
