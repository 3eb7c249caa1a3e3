"""The AUROC over the trajectories of all questions together, with an interval by bootstrap over questions.

With w_i the number of times that question i is drawn, P_ij the pairs of a right trajectory of i and a wrong
one of j in which the right one is surer (a tie is half), r_i right and v_j wrong ones, the AUROC of a
resample is sum w_i P_ij w_j / (sum w_i r_i) (sum w_j v_j): the pairs are counted once for all resamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distrivote.evaluation.estimates import LEVEL, MIN_QUESTIONS, resamples
from distrivote.evaluation.metrics import ratio
from distrivote.evaluation.pools import Floats, Pool


class PooledAuroc(NamedTuple):
    """The AUROC of one benchmark, or a mean of several."""

    value: float
    """NaN if all trajectories are right or all wrong."""

    resampled: Floats
    """(N_RESAMPLES,) NaN where a resample has only right or only wrong trajectories."""

    questions: tuple[str, ...]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval; None for a single question, or if nothing is known."""
        return _interval(self.resampled) if len(self.questions) > 1 else None

    def really_differs(self, other: PooledAuroc) -> bool:
        """Whether the interval of the difference excludes 0; False if the questions are few or differ."""
        if self.questions != other.questions or len(self.questions) < MIN_QUESTIONS:
            return False
        found = _interval(self.resampled - other.resampled)
        return found is not None and (found[0] > 0 or found[1] < 0)


def pooled_auroc(pools: Sequence[Pool], benchmark: str, seed: int) -> PooledAuroc:
    """Return the AUROC of a benchmark's trajectories that have an answer and a confidence."""
    right, wrong = [], []
    for pool in pools:
        there = (pool.classes >= 0) & np.isfinite(pool.confidence)
        right.append(np.sort(pool.confidence[there & pool.correct]))
        wrong.append(np.sort(pool.confidence[there & ~pool.correct]))
    pairs = _pairs(right, wrong)
    n_right, n_wrong = (np.array([len(some) for some in side], dtype=np.float64) for side in (right, wrong))
    # Integers and halves: the sums are exact in any order.
    drawn = resamples(seed, benchmark, len(pools))
    won = ((drawn @ pairs) * drawn).sum(axis=1)
    value = ratio(pairs.sum()[None], (n_right.sum() * n_wrong.sum())[None])
    resampled = ratio(won, (drawn @ n_right) * (drawn @ n_wrong))
    return PooledAuroc(float(value[0]), resampled, tuple(pool.question for pool in pools))


def mean_auroc(parts: Sequence[PooledAuroc]) -> PooledAuroc:
    """Return the mean of benchmarks, weighted by their numbers of questions."""
    sizes = [len(part.questions) for part in parts]
    return PooledAuroc(
        float(np.average([part.value for part in parts], weights=sizes)),
        np.average([part.resampled for part in parts], axis=0, weights=sizes),
        tuple(question for part in parts for question in part.questions),
    )


def _pairs(right: Sequence[Floats], wrong: Sequence[Floats]) -> Floats:
    """Return (n, n) how often a right trajectory of i is surer than a wrong one of j."""
    every = np.concatenate(right)
    starts = np.cumsum([0, *map(len, right)])
    pairs = np.zeros((len(right), len(wrong)))
    for j, values in enumerate(wrong):
        below = np.searchsorted(values, every, "left") + np.searchsorted(values, every, "right")
        sums = np.concatenate([[0], np.cumsum(below)])
        pairs[:, j] = (sums[starts[1:]] - sums[starts[:-1]]) / 2
    return pairs


def _interval(values: Floats) -> tuple[float, float] | None:
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
