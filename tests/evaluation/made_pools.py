"""Hand-made pools whose tables can be worked out on paper, and random ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distrivote.evaluation.pools import Pool, PoolSet


def pool(
    question: str, classes: Sequence[int], confidence: Sequence[float], right: Sequence[int] = (0,)
) -> Pool:
    """Return a pool in which the classes in `right` are right."""
    ids = np.array(classes, dtype=np.int64)
    return Pool(question, ids, np.isin(ids, right) & (ids >= 0), np.array(confidence, dtype=np.float64))


def pool_set(
    *pools: Pool, model: str = "model", benchmark: str = "made", ssc: bool = False, **settings: float
) -> PoolSet:
    return PoolSet(f"{model}-{benchmark}{'-ssc' if ssc else ''}", model, benchmark, pools, ssc, settings)


def few_surer_right(question: str) -> Pool:
    """The majority is wrong (5 to 3), the sum of confidences and everything surer is right."""
    return pool(question, [1, 1, 1, 1, 1, 0, 0, 0], [1.0, 1.1, 1.2, 1.3, 1.4, 9.0, 9.1, 9.2])


def surest_wrong(question: str) -> Pool:
    """The majority is right (6 to 2), the surest one is wrong."""
    return pool(question, [0, 0, 0, 0, 0, 0, 1, 1], [5.0, 5.1, 5.2, 5.3, 5.4, 5.5, 1.0, 9.0])


def random_set(n_questions: int, n: int = 40, seed: int = 0, **kwargs: object) -> PoolSet:
    rng = np.random.default_rng(seed)
    pools = []
    for i in range(n_questions):
        right = rng.random(n) < rng.uniform(0.2, 0.8)
        classes = np.where(right, 0, rng.integers(1, 6, n))
        classes[rng.random(n) < 0.05] = -1
        confidence = np.maximum(rng.normal(10, 1, n) + 2.0 * right, 0.1)
        pools.append(Pool(f"q{i}", classes, right & (classes >= 0), confidence))
    return PoolSet(
        str(kwargs.get("name", "random")),
        str(kwargs.get("model", "model")),
        str(kwargs.get("benchmark", "made")),
        tuple(pools),
        bool(kwargs.get("ssc", False)),
    )
