"""Seeded draws of trajectories without replacement, which stand for sampling a model again.

The draws of a question depend only on the seed, its id and the size of its pool: adding questions, methods or
runs does not change them. They are nested (the first 8 of a draw of 128 are the draw of 8), and every method
gets the same draws, so that two methods can be compared draw by draw.
"""

from __future__ import annotations

import hashlib

import numpy as np

from distrivote.errors import InputError
from distrivote.evaluation.pools import Ints, PoolSet
from distrivote.nouns import count


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return the random number generator for a seed and some names."""
    digest = hashlib.sha256("\x1f".join([str(seed), *names]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))


def draw(question: str, n_trajectories: int, budget: int, n_repeats: int, seed: int) -> Ints:
    """Return (n_repeats, budget) indices of trajectories, without duplicates in a row.

    >>> few, many = draw("q1", 10, 3, 2, seed=0), draw("q1", 10, 5, 2, seed=0)
    >>> bool((many[:, :3] == few).all())
    True
    """
    if budget > n_trajectories:
        raise InputError(
            f"question {question} has {count(n_trajectories, 'trajectory')} and the budget is {budget}:"
            " lower the budget, or leave that question out"
        )
    orders = np.tile(np.arange(n_trajectories), (n_repeats, 1))
    shuffled: Ints = generator(seed, question).permuted(orders, axis=1)[:, :budget]
    return shuffled


def check_budget(sets: tuple[PoolSet, ...], budget: int) -> None:
    """Raise InputError if a question has fewer trajectories than the budget, and say which."""
    if budget < 1:
        raise InputError(
            f"the budget is {budget}", hint="give a number of trajectories from 1", argument="budget"
        )
    for each in sets:
        for pool in each.pools:
            if pool.n_trajectories < budget:
                raise InputError(
                    f"question {pool.question} of {each.name} has {count(pool.n_trajectories, 'trajectory')}"
                    f" and the budget is {budget}",
                    hint=f"ask for `budget={each.smallest}` or less, or leave it out",
                    argument="budget",
                )
