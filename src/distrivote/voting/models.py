"""Several models in one pool: their confidences made comparable, and what the votes of each are worth.

A confidence becomes the normal score of its rank among those of its own model in the pool, as exp(STEP * z):
what a number means depends on the model. This is ours and not the paper's.

What a model is worth is learned from many questions without labels, in the manner of Dawid and Skene. In each
question a model's consensus is the answer that the other models support most: the sum of weight * share of
their votes. How often a model agrees with it estimates its accuracy p, and

    weight = log(p / (1 - p)) - log(chance that wrong votes of two models agree)

at least 0, divided by the mean of all models, in `ROUNDS` rounds that begin with equal weights. n questions
move it n / (n + HOLD) of the way from 1; fewer than `FEWEST` do not. One model always has the weight 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distrivote.nouns import count
from distrivote.voting.kernels.evidence import rank_scores
from distrivote.voting.kernels.pools import FloatArray, IntArray
from distrivote.voting.lessons import FEWEST
from distrivote.voting.scales import STEP

ROUNDS = 10
HOLD = 8.0
"""Equal weights count as this many questions, as in `lessons`."""

_LEAST_CHANCE = 1e-3
"""Below this the chance that two wrong votes agree is not believed."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What a run says about its models."""

    weights: Mapping[str, float]
    """Of each model's votes; their mean is 1. A model that is not named has 1."""

    accuracies: Mapping[str, float]
    """How often each agrees with the consensus of the others."""

    n_questions: int = 0

    def of(self, models: Sequence[str]) -> FloatArray:
        """Return the weight of each trajectory, given its model; their mean in the pool is 1."""
        given = np.array([self.weights.get(model, 1.0) for model in models], dtype=np.float64)
        mean = float(given.mean()) if len(given) else 1.0
        if mean <= 0 or np.ptp(given) == 0:
            return np.ones(len(given))
        return given / mean


EQUAL = Worth({}, {})
"""For a single question."""


def comparable(confidences: FloatArray, models: Sequence[str], classes: IntArray) -> FloatArray:
    """Return the confidences of one pool by their rank within their model; unchanged for a single model.

    Args:
        confidences: (n_trajectories,) NaN where missing; they stay missing.
        models: The model of each trajectory.
        classes: (n_trajectories,) -1 for no answer: those take no part.
    """
    names = np.array(models, dtype=object)
    distinct = dict.fromkeys(models)
    return confidences if len(distinct) < 2 else _by_rank(confidences, names, classes, list(distinct))


def _by_rank(confidences: FloatArray, names: Any, classes: IntArray, distinct: Sequence[str]) -> FloatArray:
    found = np.full(len(confidences), np.nan)
    for name in distinct:
        mine = np.flatnonzero((names == name) & ~np.isnan(confidences) & (classes >= 0))
        if not len(mine):
            continue
        order = np.argsort(confidences[mine], kind="stable")
        ranked = confidences[mine][order][None]
        found[mine[order]] = np.exp(STEP * rank_scores(ranked, np.array([len(mine)]))[0])
    return found


def among_models(
    classes: IntArray, confidences: FloatArray, offsets: IntArray, models: Sequence[str], worth: Worth
) -> tuple[FloatArray, FloatArray]:
    """Return the comparable confidences and the weights of all trajectories, for pools in flat arrays.

    A pool with a single model is measured in the same way as the others.
    """
    values, weights = np.full(len(classes), np.nan), np.ones(len(classes))
    names = np.array(models, dtype=object)
    for low, high in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        mine = names[low:high]
        distinct = list(dict.fromkeys(mine))
        values[low:high] = _by_rank(confidences[low:high], mine, classes[low:high], distinct)
        weights[low:high] = worth.of(mine.tolist())
    return values, weights


def note_on(classes: IntArray, models: Sequence[str], worth: Worth) -> str:
    """Return who votes in a pool, in a sentence."""
    names = np.array(models, dtype=object)
    each = []
    for name in dict.fromkeys(models):
        n = int(np.count_nonzero((names == name) & (classes >= 0)))
        weight = f", weight {worth.weights[name]:.2f}" if name in worth.weights else ""
        each.append(f"{name} ({count(n, 'answer')}{weight})")
    how = "" if worth.weights else ", with equal weights"
    return f"{len(each)} models vote together{how}: {', '.join(each)}"


def shares_of(classes: IntArray, models: IntArray, n_models: int) -> FloatArray:
    """(n_models, n_answers) The share of each model's trajectories that gave each answer."""
    answered = classes >= 0
    _, ids = np.unique(classes[answered], return_inverse=True)
    n_answers = int(ids.max(initial=-1)) + 1
    keys = models[answered] * n_answers + ids
    counts = np.bincount(keys, minlength=n_models * n_answers).reshape(n_models, n_answers)
    totals = np.bincount(models, minlength=n_models)[:, None]
    shares: FloatArray = counts / np.maximum(totals, 1)
    return shares


def worth_of_pools(pools: Sequence[tuple[IntArray, Any]]) -> Worth:
    """Return what models are worth, from the classes and the models of the trajectories of each question.

    >>> pools = [(np.array([0, 0, 1]), ["a", "b", "c"])] * 16
    >>> worth_of_pools(pools).accuracies["a"] > worth_of_pools(pools).accuracies["c"]
    True
    """
    names = list(dict.fromkeys(name for _, models in pools for name in models))
    if len(names) < 2:
        return EQUAL
    numbers = {name: number for number, name in enumerate(names)}
    tables = [
        shares_of(classes, np.array([numbers[name] for name in models], dtype=np.int64), len(names))
        for classes, models in pools
    ]
    return worth_of(tables, names)


def worth_of(questions: Sequence[FloatArray], names: Sequence[str]) -> Worth:
    """Return what models are worth, from the shares of their votes in each question (`shares_of`)."""
    telling = [shares for shares in questions if np.count_nonzero(shares.sum(axis=1) > 0) > 1]
    n, equal = len(telling), dict.fromkeys(names, 1.0)
    if len(names) < 2 or n < FEWEST:
        return Worth(equal, {}, n)
    weights = np.ones(len(names))
    for _ in range(ROUNDS):
        accuracies, collisions = _agreement(telling, weights)
        raw = np.maximum(np.log(accuracies / (1.0 - accuracies)) - np.log(collisions), 0.0)
        if not raw.any():
            return Worth(equal, dict(zip(names, accuracies.tolist(), strict=True)), n)
        weights = raw / raw.mean()
    weights = 1.0 + (weights - 1.0) * n / (n + HOLD)

    def named(values: FloatArray) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    return Worth(named(weights), named(accuracies), n)


def _agreement(questions: Sequence[FloatArray], weights: FloatArray) -> tuple[FloatArray, float]:
    """Return how often each model agrees with the others, and how often two wrong votes agree."""
    agreed, asked = np.zeros(len(weights)), np.zeros(len(weights))
    same = pairs = 0.0
    for shares in questions:
        weighted = weights[:, None] * shares
        total = weighted.sum(axis=0)
        others = total - weighted
        best = others.max(axis=1, keepdims=True)
        consensus = (others >= best - 1e-9) & (best > 1e-9)
        there = (shares.sum(axis=1) > 0) & consensus.any(axis=1)
        agreed += there * (shares * consensus).sum(axis=1) / np.maximum(consensus.sum(axis=1), 1)
        asked += there
        wrong = np.where(total >= total.max() - 1e-9, 0.0, shares)
        each = wrong.sum(axis=1)
        same += float((wrong.sum(axis=0) ** 2).sum() - (wrong**2).sum())
        pairs += float(each.sum() ** 2 - (each**2).sum())
    accuracies = (agreed + 0.5) / (asked + 1.0)
    return accuracies, min(max(same / pairs, _LEAST_CHANCE), 1.0) if pairs > 1e-12 else 1.0
