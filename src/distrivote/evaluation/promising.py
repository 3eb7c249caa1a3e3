"""A promise about errors from labelled runs: one vote per question, each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from distrivote.evaluation.draws import check_budget
from distrivote.evaluation.pools import Flags, Floats, PoolSet
from distrivote.evaluation.winners import draws_of
from distrivote.voting.methods import parse_method
from distrivote.voting.probability import Calibration
from distrivote.voting.promises import promise_of
from distrivote.voting.trust import Trust


def with_promise(
    sets: Sequence[PoolSet], calibration: Calibration, method: str, budget: int | None = None, seed: int = 0
) -> Calibration:
    """Return a calibration with the promise that labelled questions allow.

    They must be others than those that it was fitted on. `budget` is the number of trajectories that vote,
    drawn from those of each question; None for all of them.
    """
    pipeline = parse_method(method)
    answered, right = list[Flags](), list[Flags]()
    probability, sizes = list[Floats](), list[int]()
    if budget is not None:
        check_budget(tuple(sets), budget)
    for source in sets:
        sizes += [budget or pool.n_trajectories for pool in source.pools]
        for draws in draws_of(source, budget, 1, seed):
            winners = pipeline.decide(draws.electorate).winners
            chances = draws.electorate.probabilities(calibration, pipeline.trust or Trust())
            each, at = np.arange(len(winners)), np.maximum(winners, 0)
            answered.append(winners >= 0)
            probability.append(chances[each, at])
            right.append(draws.right[each, at] & (winners >= 0))
    found = promise_of(
        pipeline.name,
        sizes,
        np.concatenate(answered),
        np.concatenate(probability),
        np.concatenate(right),
    )
    return replace(calibration, promise=found)
