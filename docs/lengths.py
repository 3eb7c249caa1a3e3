"""The table of docs/results.md on BoInf: whole trajectories sampled by others, length as the only signal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from vote_table import points, vote_table

from distrivote.evaluation.estimates import compare, whole_pool_sample
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.pools import Floats, PoolSet
from distrivote.evaluation.winners import METHODS, WHOLE_RUN, votes_of
from distrivote.store.tables.source import Columns

BUDGET = 32
N_REPEATS = 64
WAYS = (*METHODS, WHOLE_RUN)
HEADS = ("", "one sample", "SC", "DIS-GMM", "auto, one question", "auto, whole run")


def length_tables(sets: Sequence[PoolSet]) -> list[str]:
    """Return how often each vote is right for each model, and the differences over all of them."""
    names = tuple(pool.question for pool in sets[0].pools)
    assert all(tuple(pool.question for pool in each.pools) == names for each in sets)
    percents = [_percents(each) for each in sets]
    rows = [[each.model, *map(_mean, own)] for each, own in zip(sets, percents, strict=True)]
    # All models answer the same questions: these are drawn again, with all models together.
    one, sc, *others = np.mean(percents, axis=0)
    rows.append([f"all {len(sets)}", *map(_mean, (one, sc, *others))])
    differences = ["less SC, in points", "", ""]
    for own in others:
        to = compare(
            [whole_pool_sample("BoInf", names, own)], [whole_pool_sample("BoInf", names, sc)], seed=0
        )
        assert to is not None
        assert to.low is not None
        assert to.high is not None
        differences.append(points(to.difference, to.low, to.high))
    title = f"{BUDGET} samples, {N_REPEATS} draws of them, {len(names)} questions"
    return [vote_table(title, HEADS, [*rows, differences])]


def sets_of(path: str) -> list[PoolSet]:
    """Return the models of the file in the order of their names."""
    columns = Columns(answer="answer_key", by="model")
    loaded = load_pool_sets([path], columns=columns, reads=("lengths",)).pool_sets
    return sorted(loaded, key=lambda each: each.model)


def _percents(source: PoolSet) -> Floats:
    """Return (1 + n_ways, n_questions) how often one sample and each vote are right."""
    votes = votes_of(source, BUDGET, N_REPEATS, seed=0)
    ones = votes_of(source, 1, N_REPEATS, seed=0)
    return 100.0 * np.array([ones.right("sc").mean(1), *(votes.right(way).mean(1) for way in WAYS)])


def _mean(values: Floats) -> str:
    return f"{values.mean():.1f}%"
