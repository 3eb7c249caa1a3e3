"""Hypothesis strategies for pools: answers and confidences in the order of the trajectories.

An answer of None is no answer; its confidence may be NaN. Runs are derandomised, so that the same
code is tested with the same pools everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

LAW = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
FEW = settings(LAW, max_examples=20)
"""For checks that are slow or that a wider one covers already."""

MANY = settings(LAW, max_examples=250)
"""For laws that draw the method along with the pool."""

LABELS = "abcde"


class Pool(NamedTuple):
    answers: list[str | None]
    confidences: list[float]


def _pools(confidence: st.SearchStrategy[float], min_size: int = 1, max_size: int = 24):
    """Return pools of at least `min_size` answered trajectories, some others between them."""
    answered = st.tuples(st.sampled_from(LABELS), confidence)
    unanswered = st.tuples(st.none(), st.one_of(st.just(math.nan), confidence))
    rows = st.lists(st.one_of(answered, answered, answered, unanswered), max_size=max_size)
    first = st.lists(answered, min_size=min_size, max_size=min_size)
    return st.tuples(first, rows).map(lambda parts: _transpose(parts[0] + parts[1]))


def _transpose(rows: list[tuple[str | None, float]]) -> Pool:
    return Pool([answer for answer, _ in rows], [confidence for _, confidence in rows])


tied_pools = _pools(st.integers(1, 4).map(float))
"""Few different values that add up exactly: ties at every stage."""

decimal_pools = _pools(st.integers(1, 30).map(lambda tenths: tenths / 10))
"""Values that add up to the same number but for rounding: 0.1 + 0.2 against 0.3."""

plain_pools = _pools(st.floats(0.01, 100))
two_value_pools = st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)).flatmap(
    lambda values: _pools(st.sampled_from(values), min_size=2)
)
equal_pools = st.floats(0.01, 100).flatmap(lambda value: _pools(st.just(value)))
single_pools = _pools(st.floats(0.01, 100), max_size=0)
wide_pools = _pools(
    st.tuples(st.floats(1, 9.99), st.integers(-100, 98)).map(lambda p: p[0] * 10.0 ** p[1]),
    max_size=12,
)
"""Confidences from 1e-100 to 1e99 in one pool."""

unanswered_pools = st.lists(st.one_of(st.just(math.nan), st.floats(0.01, 100)), max_size=8).map(
    lambda confidences: Pool([None] * len(confidences), confidences)
)


def humped(rng: np.random.Generator, n: int, n_answers: int = 4, share_unanswered: float = 0.1) -> Pool:
    """Return a pool like those of a model: right answers surer than wrong ones, all different."""
    right = rng.random(n) < rng.uniform(0.2, 0.9)
    answers = np.where(right, 0, rng.integers(1, n_answers + 1, n))
    high, low = 14 + rng.uniform(-1, 2), 11 + rng.uniform(-1, 2)
    confidences = np.where(right, rng.normal(high, 0.9, n), rng.normal(low, 1.4, n))
    labels: list[str | None] = [f"answer {a}" for a in answers]
    for index in np.flatnonzero(rng.random(n) < share_unanswered):
        labels[index] = None
    return Pool(labels, [float(c) for c in np.maximum(confidences, 0.5)])


def packed(rows: list[np.ndarray], fill: float = math.inf) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows as one rectangle, filled up with `fill`, and their sizes."""
    sizes = np.array([len(row) for row in rows])
    values = np.full((len(rows), sizes.max()), fill)
    for index, row in enumerate(rows):
        values[index, : len(row)] = row
    return values, sizes


humped_pools = st.builds(
    lambda seed, n: humped(np.random.default_rng(seed), n),
    st.integers(0, 2**32),
    st.integers(1, 60),
)
"""Generic: confidences of the normal kind, no two of them equal."""

pools = st.one_of(
    tied_pools,
    decimal_pools,
    plain_pools,
    two_value_pools,
    equal_pools,
    single_pools,
    humped_pools,
    unanswered_pools,
)
"""Everything but the wide ranges."""

answered_pools = pools.filter(lambda pool: any(answer is not None for answer in pool.answers))
