"""Many measures on many draws of many questions, with shared work done once.

Requests (`Ask`) are grouped by pool set, budget and measure of confidence; the draws of some questions at a
time make a batch, and all measures use the same batch: splits, and splits without a rejected answer, are
computed once per draw. Batches depend only on the questions and are joined in order, so that any number of
workers gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import NamedTuple, TypeAlias

import numpy as np

from distrivote.evaluation.drawn import DrawMeasure, Drawn, drawn
from distrivote.evaluation.draws import check_budget, draw
from distrivote.evaluation.estimates import Sample
from distrivote.evaluation.pools import Floats, Pool, PoolSet
from distrivote.voting.scales import check_confidences

BATCH = 2**17
"""Trajectories in one batch, as in voting: smaller ones cost calls, larger ones memory access."""

_TOGETHER = 48
"""Measures that share the results of a batch; then these are discarded, to limit memory."""

EVALUATION = "an evaluation"
"""The name, in errors, of what needs positive confidences: some of the compared methods do."""

_WORTH_WORKERS = 4e7
"""Trajectories times measures; less work is done before worker processes have started."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A measurement on every draw of a pool set."""

    source: int
    """Which pool set."""

    budget: int
    measure: DrawMeasure
    confidence: str | None = None
    """The name of another measure of confidence than the pool's own."""

    questions: frozenset[str] | None = None
    """Only these questions: those that two arms share."""


Scores: TypeAlias = Mapping[Ask, Mapping[str, Sample]]
"""The values of each measure by name; those that need missing confidences are absent."""


class _Batch(NamedTuple):
    """Some questions, and what is measured on them."""

    pools: tuple[Pool, ...]
    asks: tuple[Ask, ...]
    n_repeats: int
    seed: int


def score(
    sets: Sequence[PoolSet],
    asks: Iterable[Ask],
    *,
    n_repeats: int,
    seed: int,
    n_workers: int = 1,
    watch: Callable[[float], None] | None = None,
) -> Scores:
    """Measure all requests.

    Args:
        watch: Called from time to time with the share of the work that is done, 0 to 1.
        n_workers: Processes; numbers are the same for all.
    """
    groups: dict[tuple[int, int, str | None, frozenset[str] | None], list[Ask]] = {}
    for ask in dict.fromkeys(asks):
        if not ask.measure.needs_confidence or has_confidence(sets[ask.source], ask.confidence):
            groups.setdefault((ask.source, ask.budget, ask.confidence, ask.questions), []).append(ask)
    batches = []
    for (source, budget, _, questions), some in groups.items():
        check_budget((sets[source],), budget)
        some.sort(key=lambda ask: ask.measure.group)
        for pools in _cut(sets[source].only(questions).pools, budget * n_repeats):
            batches.append(_Batch(pools, tuple(some), n_repeats, seed))
    found: dict[Ask, list[Floats]] = {ask: [] for some in groups.values() for ask in some}
    work = sum(_work(batch) for batch in batches)
    done = 0.0
    workers = n_workers if work > _WORTH_WORKERS else 1
    for batch, arrays in zip(batches, _measured(batches, workers), strict=True):
        for ask, values in zip(batch.asks, arrays, strict=True):
            found[ask].append(values)
        done += _work(batch)
        if watch is not None:
            watch(done / work)
    return {ask: _samples(sets[ask.source], ask, parts) for ask, parts in found.items()}


def has_confidence(pools: PoolSet, confidence: str | None = None) -> bool:
    """Whether any answer of the set has a confidence."""
    return any(
        bool((np.isfinite(confidence_of(pool, confidence)) & (pool.classes >= 0)).any())
        for pool in pools.pools
    )


def confidence_of(pool: Pool, confidence: str | None = None) -> Floats:
    """Return the confidence that votes use; all NaN if there is none with this name."""
    if confidence is None:
        return pool.confidence
    missing = np.full(pool.n_trajectories, np.nan)
    return np.asarray(pool.measures.get(confidence, missing), dtype=np.float64)


def _cut(pools: Sequence[Pool], per_question: int) -> Iterator[tuple[Pool, ...]]:
    at_once = max(1, BATCH // per_question)
    for start in range(0, len(pools), at_once):
        yield tuple(pools[start : start + at_once])


def _work(batch: _Batch) -> float:
    return len(batch.pools) * batch.n_repeats * batch.asks[0].budget * len(batch.asks)


def _measured(batches: Sequence[_Batch], n_workers: int) -> Iterator[list[Floats]]:
    if n_workers <= 1 or len(batches) <= 1:
        yield from map(measure_batch, batches)
        return
    # A new interpreter: a fork of a process with threads, such as Arrow's, may hang.
    with ProcessPoolExecutor(n_workers, mp_context=get_context("spawn")) as workers:
        yield from workers.map(measure_batch, batches)


def measure_batch(batch: _Batch) -> list[Floats]:
    """Return (n_values, n_questions, n_repeats) for each ask."""
    first = batch.asks[0]
    draws = draw_pools(batch.pools, first.budget, batch.n_repeats, batch.seed, confidence=first.confidence)
    arrays = []
    for index, ask in enumerate(batch.asks):
        if index % _TOGETHER == 0:
            draws = draws.again()
        values = ask.measure.of(draws)
        arrays.append(values.reshape(len(ask.measure.values), len(batch.pools), batch.n_repeats))
    return arrays


def draw_pools(
    pools: Sequence[Pool],
    budget: int,
    n_repeats: int,
    seed: int,
    *,
    confidence: str | None = None,
) -> Drawn:
    """Return the draws of some questions, one after the other."""
    columns = []
    for pool in pools:
        which = draw(pool.question, pool.n_trajectories, budget, n_repeats, seed)
        classes, values = pool.classes, confidence_of(pool, confidence)
        right = pool.right_classes[np.maximum(classes, 0)] if (classes >= 0).any() else classes >= 0
        check_confidences(values, f"confidence {{}} of question {pool.question}".format, EVALUATION)
        weights = np.ones(len(classes)) if pool.weights is None else pool.weights
        columns.append((classes[which], values[which], pool.correct[which], right[which], weights[which]))
    *arrays, weighed = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    several = any(pool.weights is not None for pool in pools)
    ids, confidences, correct, rights = arrays
    return drawn(ids, confidences, correct, rights, weighed if several else None)


def _samples(source: PoolSet, ask: Ask, parts: Sequence[Floats]) -> dict[str, Sample]:
    names = tuple(pool.question for pool in source.only(ask.questions).pools)
    whole = np.concatenate(parts, axis=1)
    samples = {}
    for name, values in zip(ask.measure.values, whole, strict=True):
        there = ~np.isnan(values)
        filled = np.where(there, values, 0.0)
        n = there.sum(axis=1)
        questions = np.where(n > 0, filled.sum(axis=1) / np.maximum(n, 1), np.nan)
        samples[name] = Sample(
            source.benchmark, names, questions, filled.sum(axis=0), there.sum(axis=0).astype(np.float64)
        )
    return samples
