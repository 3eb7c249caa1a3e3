"""Measures of whole pools, without draws, as lines of tables: one value per question.

They compare basic inference and SelfStepConf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from distrivote.evaluation.drawn import OneAnswer
from distrivote.evaluation.estimates import Sample, whole_pool_sample
from distrivote.evaluation.experiments.base import AVERAGE, Line, Setting, estimates_of
from distrivote.evaluation.experiments.tables import Measured
from distrivote.evaluation.pools import Flags, Floats, Ints, Pool, PoolSet
from distrivote.evaluation.studies import Study


class Way(NamedTuple):
    """A way to sample, by the paper's name."""

    name: str
    starred: bool


WAYS = (Way("BasicInference", False), Way("SelfStepConf", True))


class Whole(NamedTuple):
    """A measure of whole pools."""

    label: str
    value: Callable[[Pool], float]
    published: str = "-"
    """The paper's name of it in the comparison of settings; "-" if it has none."""


def share_right(pool: Pool) -> float:
    """Return pass@1 of a pool."""
    return float(pool.correct.mean())


def mean_of(column: Callable[[Pool], Ints | Floats | None]) -> Callable[[Pool], float]:
    """Return the mean of a column over a pool's trajectories, NaN where none has a value."""

    def value(pool: Pool) -> float:
        found = column(pool)
        there = np.empty(0) if found is None else found[~np.isnan(found)]
        return float(there.mean()) if len(there) else float("nan")

    return value


def _mean_confidence(pool: Pool) -> float:
    there = np.isfinite(pool.confidence)
    return float(pool.confidence[there].mean()) if there.any() else float("nan")


# The paper counts the steps of every splitter by empty lines.
LENGTHS: Mapping[str, Whole] = {
    "steps": Whole("Steps", mean_of(lambda pool: pool.n_steps)),
    "paragraphs": Whole("Steps by empty lines", mean_of(lambda pool: pool.n_paragraphs), "Steps Count"),
    "tokens": Whole("Tokens", mean_of(lambda pool: pool.n_tokens), "Tokens Count"),
    "confidence": Whole("Confidence", _mean_confidence, "Confidence"),
    "reflections": Whole("Reflections", mean_of(lambda pool: pool.n_reflections), "Reflections Count"),
    "seconds": Whole("Seconds", mean_of(lambda pool: pool.seconds)),
}


def whole_sample(each: PoolSet, value: Callable[[Pool], float]) -> Sample:
    """Return a value per question of a set, NaN where it is not defined."""
    names = tuple(pool.question for pool in each.pools)
    values = np.array([value(pool) for pool in each.pools], dtype=np.float64)
    return whole_pool_sample(each.benchmark, names, values)


def whole_measured(
    setting: Setting, study: Study, way: Way, label: str, value: Callable[[Pool], float]
) -> Measured | None:
    """Return a line of a value per question, NaN where it is not defined; None without such runs."""
    samples = {}
    for bench in study.benches:
        source = bench.which(way.starred)
        if source is not None:
            samples[bench.benchmark] = [whole_sample(setting.arm(source), value)]
    if not samples:
        return None
    if len(samples) == len(study.benches) > 1:
        samples[AVERAGE] = [sample for some in samples.values() for sample in some]
    return Measured(Line(label, OneAnswer(), way.starred, way.name), samples, estimates_of(setting, samples))


def sets_of(setting: Setting, study: Study, way: Way) -> Iterator[PoolSet]:
    """Yield the sets of a study that were sampled in one way."""
    for bench in study.benches:
        source = bench.which(way.starred)
        if source is not None:
            yield setting.arm(source)


class Voters(NamedTuple):
    """The trajectories of a pool that can vote by confidence: (1, n) each."""

    confidence: Floats
    correct: Flags
    members: Flags


def voters(pool: Pool, confidence: Floats | None = None) -> Voters:
    """Return a pool as a batch of one, for the measures of `metrics`."""
    values = pool.confidence if confidence is None else confidence
    members = (pool.classes >= 0) & np.isfinite(values)
    return Voters(np.where(members, values, 1.0)[None], pool.correct[None], members[None])


def no_ssc_note(setting: Setting, study: Study) -> list[str]:
    """Return a note on the benchmarks that have no run with SelfStepConf."""
    lacking = [bench.benchmark for bench in study.benches if bench.ssc is None]
    if not (lacking and setting.has_starred):
        return []
    return [
        f"{study.model}: no SelfStepConf run on {', '.join(lacking)}, so nothing is compared with it there"
    ]
