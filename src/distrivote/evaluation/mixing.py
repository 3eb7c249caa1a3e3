"""Pool sets with another signal as confidence: the length of trajectories, or a mix of all measures."""

from __future__ import annotations

import dataclasses

import numpy as np

from distrivote.confidence import LENGTH
from distrivote.errors import InputError
from distrivote.evaluation.pools import Floats, Pool, PoolSet
from distrivote.evaluation.scoring import confidence_of
from distrivote.voting.models import comparable
from distrivote.voting.signals import combine, fullest


def by_length(source: PoolSet) -> PoolSet:
    """Return the set with 1000 / the number of tokens as confidence: shorter is surer."""
    return _with(source, [_shortness(source.name, pool) for pool in source.pools])


def by_mix(source: PoolSet) -> tuple[PoolSet, dict[str, float]]:
    """Return the set with a mix of its measures as confidence, and the weight of each.

    The mix uses the measures that are missing for the fewest answers.
    """
    pools = source.pools
    if not pools:
        return source, {}
    names = dict.fromkeys(name for pool in pools for name in pool.measures)
    signals = {name: np.concatenate([confidence_of(pool, name) for pool in pools]) for name in names}
    if all(pool.n_tokens is not None for pool in pools):
        signals[LENGTH] = np.concatenate([_shortness(source.name, pool) for pool in pools])
    classes = np.concatenate([pool.classes for pool in pools])
    if not signals:
        raise InputError(
            f"{source.name} has no measure of confidence",
            hint="name a column with `signal`",
            argument="signal",
        )
    offsets = np.cumsum([0, *(pool.n_trajectories for pool in pools)])
    combined = combine(fullest(signals, classes), classes, offsets)
    return _with(source, np.split(combined.confidences, offsets[1:-1])), combined.weights


def _shortness(name: str, pool: Pool) -> Floats:
    if pool.n_tokens is None:
        raise InputError(f"question {pool.question} of {name} has no lengths: vote with another signal")
    lengths = pool.n_tokens.astype(np.float64)
    values = np.where(lengths > 0, 1000.0 / np.maximum(lengths, 1.0), np.nan)
    return comparable(values, pool.models, pool.classes) if pool.models else values


def _with(source: PoolSet, confidences: list[Floats]) -> PoolSet:
    pools = [
        dataclasses.replace(pool, confidence=values)
        for pool, values in zip(source.pools, confidences, strict=True)
    ]
    return dataclasses.replace(source, pools=tuple(pools))
