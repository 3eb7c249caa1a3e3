"""Fixed shares from 1% to 99%: which draws they are measured on, and which is called best."""

from __future__ import annotations

import pytest

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.base import Setting
from distrivote.evaluation.experiments.registry import experiments_named
from distrivote.evaluation.experiments.thresholds import TOPS
from distrivote.evaluation.studies import studies_of
from evaluation.made_pools import pool, pool_set, random_set


@pytest.mark.parametrize(("n", "budget", "drawn"), [(300, 128, 256), (256, 64, 256), (255, 128, 128)])
def test_draws_are_of_256_where_all_pools_have_as_many(n: int, budget: int, drawn: int) -> None:
    sets = (random_set(2, n),)
    setting = Setting(sets, studies_of(sets)[0], budget, 1, 0)
    (experiment,) = experiments_named(["top-threshold"])
    asks = list(experiment.asks(setting))
    assert {ask.budget for ask in asks} == {drawn}
    assert len(asks) == 2 * 99


def test_every_percent_is_a_row_and_a_point() -> None:
    (result,) = evaluate([random_set(3, 40)], ["top-threshold"], n_repeats=2).results
    shown = {str(row["method"]) for row in result.tables[1].rows}
    assert shown == {f"{vote}, top {top}%" for vote in ("weighted", "hierarchical") for top in range(1, 100)}
    points = [row["x"] for row in result.charts[0].rows if row["series"] == "weighted"]
    assert points == list(TOPS)
    assert "(40 trajectories, 2 repeats)" in result.tables[1].title


def test_the_best_share_of_a_benchmark_is_said_beside_the_half() -> None:
    # Of ten, the two surest are right and the eight others agree on a wrong answer. Every share that keeps
    # one or two is right, and the smallest of them is said; half keeps five, three of them wrong.
    made = [pool(f"q{i}", [1] * 8 + [0, 0], [1, 2, 3, 4, 5, 6, 7, 7.5, 8, 8.25]) for i in range(3)]
    (result,) = evaluate([pool_set(*made)], ["top-threshold"], n_repeats=1).results
    best = {row["vote"]: row for row in result.tables[0].rows}
    assert (best["weighted"]["best"], best["weighted"]["accuracy"]) == (1, 1.0)
    assert best["weighted"]["half"] == 0.0
