"""Step traces for simulated pools: how sure a trajectory is on its way to its confidence.

length of a step   the same for all, so that long trajectories have many
level              of a trajectory's steps: correlated with its own confidence within the question
step               its level and noise, independent from step to step
length             wrong trajectories are longer by a factor, as they are in BoInf and in our own runs
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from distrivote.evaluation.pools import Floats, Pool, PoolSet, Steps
from distrivote.simulation.model import TOKEN_SIGMA


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """How steps follow from trajectories. Spreads are in standard deviations of a question's confidences."""

    n_tokens: float = 8000.0
    """The median length of a right trajectory."""

    wrong_length: float = 1.3
    """How many times longer a wrong one is."""

    step_tokens: int = 400
    correlation: float = 0.7
    """Of a trajectory's level with its confidence."""

    noise: float = 2.0
    """The spread of steps around their trajectory's level."""


def with_steps(source: PoolSet, model: StepModel, rng: np.random.Generator) -> PoolSet:
    """Return a set with lengths and steps.

    >>> from distrivote.simulation.model import Simulation, simulate
    >>> pools = with_steps(simulate(Simulation(), 2, 8, np.random.default_rng(0)), StepModel(),
    ...                    np.random.default_rng(0)).pools
    >>> [int(steps.ends[-1]) for steps in pools[0].steps] == pools[0].n_tokens.tolist()
    True
    """
    return replace(source, pools=tuple(_pool(pool, model, rng) for pool in source.pools))


def _pool(pool: Pool, model: StepModel, rng: np.random.Generator) -> Pool:
    lengths = rng.lognormal(np.log(model.n_tokens), TOKEN_SIGMA, pool.n_trajectories)
    lengths *= np.where(pool.correct, 1.0, model.wrong_length)
    n_tokens = np.maximum(np.rint(lengths), 2).astype(np.int64)
    known = pool.confidence[~np.isnan(pool.confidence)]
    mean, spread = (float(known.mean()), float(known.std())) if len(known) else (10.0, 1.0)
    own = np.nan_to_num((pool.confidence - mean) / (spread or 1.0))
    rest = np.sqrt(1 - model.correlation**2)
    levels: Floats = model.correlation * own + rest * rng.standard_normal(pool.n_trajectories)
    found = []
    for n, level in zip(n_tokens.tolist(), levels.tolist(), strict=True):
        ends = np.append(np.arange(model.step_tokens, n, model.step_tokens), n)
        values = mean + spread * (level + model.noise * rng.standard_normal(len(ends)))
        found.append(Steps.of(ends, np.maximum(values, 0.01)))
    return replace(pool, n_tokens=n_tokens, steps=tuple(found))
