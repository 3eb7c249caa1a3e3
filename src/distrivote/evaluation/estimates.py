"""The uncertainty of a mean over questions: spread over repeats, bootstrap intervals, paired comparisons.

A `Sample` holds the values of one method on the questions of one benchmark. Means over several benchmarks are
means over all their questions, so that a benchmark's weight is its number of questions. The bootstrap
resamples questions within each benchmark, with the same random numbers for every method: two methods are
compared on the same questions and the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from distrivote.evaluation.draws import generator
from distrivote.evaluation.pools import Floats

N_RESAMPLES = 2000
LEVEL = 0.95
MIN_QUESTIONS = 6
"""With fewer questions no difference is called real: five differences of the same sign happen by chance in
one of 16 cases (sign test), which is more than 5%."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The values of one measure on the questions of one benchmark."""

    benchmark: str
    names: tuple[str, ...]
    """The questions."""

    questions: Floats
    """(n_questions,) Means over repeats, NaN if a question has no value."""

    repeats: Floats
    """(n_repeats,) Sums over the questions that have a value."""

    counts: Floats
    """(n_repeats,) The number of values."""


class Estimate(NamedTuple):
    """A mean over questions."""

    mean: float | None
    """None if no question has a value."""

    sd: float | None
    """Over repeats; None for a single one."""

    low: float | None
    high: float | None
    """The 95% interval by bootstrap over questions; None for a single question."""

    n_questions: int
    n_skipped: int
    """Questions without a value."""


class Comparison(NamedTuple):
    """The difference between two methods on the same questions."""

    difference: float
    low: float | None
    high: float | None
    n_questions: int
    real: bool
    """Whether the interval excludes 0 and there are enough questions."""


@lru_cache(maxsize=8)
def resamples(seed: int, benchmark: str, n: int) -> Floats:
    """Return (N_RESAMPLES, n) how often each question is drawn; the same in all calls."""
    rng = generator(seed, "bootstrap", benchmark)
    return rng.multinomial(n, np.full(n, 1.0 / n), size=N_RESAMPLES).astype(np.float64)


def _interval(strata: Sequence[tuple[str, Floats]], seed: int) -> tuple[float, float] | None:
    """Return the interval of the mean of all values, NaN left out; None for fewer than two values."""
    if sum(int(np.count_nonzero(~np.isnan(values))) for _, values in strata) < 2:
        return None
    totals, counts = np.zeros(N_RESAMPLES), np.zeros(N_RESAMPLES)
    for benchmark, values in strata:
        there = ~np.isnan(values)
        drawn = resamples(seed, benchmark, len(values))
        # einsum, unlike a matrix product, adds in the same order on any number of threads.
        totals += np.einsum("bq,q->b", drawn, np.where(there, values, 0.0))
        counts += np.einsum("bq,q->b", drawn, there.astype(np.float64))
    means = totals[counts > 0] / counts[counts > 0]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def estimate(samples: Sequence[Sample], seed: int) -> Estimate:
    """Return the mean over the questions of all samples, with its spread and interval."""
    values = np.concatenate([sample.questions for sample in samples])
    there = ~np.isnan(values)
    n = int(there.sum())
    if not n:
        return Estimate(None, None, None, None, 0, len(values))
    n_repeats = min(len(sample.repeats) for sample in samples)
    sums = np.sum([sample.repeats[:n_repeats] for sample in samples], axis=0)
    counts = np.sum([sample.counts[:n_repeats] for sample in samples], axis=0)
    repeats = sums[counts > 0] / counts[counts > 0]
    sd = float(repeats.std(ddof=1)) if len(repeats) > 1 else None
    low, high = _interval([(s.benchmark, s.questions) for s in samples], seed) or (None, None)
    return Estimate(float(values[there].mean()), sd, low, high, n, len(values) - n)


def compare(ours: Sequence[Sample], theirs: Sequence[Sample], seed: int) -> Comparison | None:
    """Return ours minus theirs, over the questions that both have; None if there are none.

    Samples are matched by benchmark, questions by name.
    """
    strata = _paired(ours, theirs)
    values = differences(ours, theirs)
    if not len(values):
        return None
    low, high = _interval(strata, seed) or (None, None)
    real = low is not None and high is not None and (low > 0 or high < 0) and len(values) >= MIN_QUESTIONS
    return Comparison(float(values.mean()), low, high, len(values), real)


def compare_by_pool(pairs: Sequence[tuple[Sample, Sample]], seed: int) -> Comparison | None:
    """Return the mean over pools of the first minus the second; every pool has the same weight.

    Pools of one benchmark have the same questions, which are resampled together: ten models on thirty
    questions are thirty questions and not three hundred.
    """
    means, resampled = [], np.zeros(N_RESAMPLES)
    questions: set[tuple[str, str]] = set()
    for ours, theirs in pairs:
        order = np.argsort(np.array(ours.names), kind="stable")
        values = _differences(ours, theirs)[order] if ours.names == theirs.names else np.empty(0)
        there = ~np.isnan(values)
        if not there.any():
            continue
        drawn = resamples(seed, ours.benchmark, len(values))
        counts = np.maximum(np.einsum("bq,q->b", drawn, there.astype(np.float64)), 1.0)
        resampled += np.einsum("bq,q->b", drawn, np.where(there, values, 0.0)) / counts
        means.append(float(values[there].mean()))
        questions |= {(ours.benchmark, ours.names[at]) for at in order[there]}
    if not means:
        return None
    if len(questions) < 2:
        return Comparison(float(np.mean(means)), None, None, len(questions), False)
    low, high = map(float, np.quantile(resampled / len(means), [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    real = (low > 0 or high < 0) and len(questions) >= MIN_QUESTIONS
    return Comparison(float(np.mean(means)), low, high, len(questions), real)


def differences(ours: Sequence[Sample], theirs: Sequence[Sample]) -> Floats:
    """Return ours minus theirs for each question that both have a value for."""
    values: Floats = np.concatenate([np.empty(0), *(found for _, found in _paired(ours, theirs))])
    there: Floats = values[~np.isnan(values)]
    return there


def _paired(ours: Sequence[Sample], theirs: Sequence[Sample]) -> list[tuple[str, Floats]]:
    others = {sample.benchmark: sample for sample in theirs}
    return [
        (sample.benchmark, _differences(sample, others[sample.benchmark]))
        for sample in ours
        if sample.benchmark in others
    ]


def _differences(ours: Sample, theirs: Sample) -> Floats:
    if ours.names == theirs.names:
        return ours.questions - theirs.questions
    places = {name: i for i, name in enumerate(theirs.names)}
    pairs = [(i, places[name]) for i, name in enumerate(ours.names) if name in places]
    here, there = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return ours.questions[here] - theirs.questions[there]


def whole_pool_sample(benchmark: str, names: tuple[str, ...], values: Floats) -> Sample:
    """Return the sample of a measure that needs no draws: one value per question."""
    there = ~np.isnan(values)
    return Sample(
        benchmark, names, values, np.array([values[there].sum()]), np.array([float(np.count_nonzero(there))])
    )
