"""Arms with different questions are compared on those that both have, in every table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.registry import EXPERIMENTS
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.results import Report, Result
from evaluation.made_pools import random_set

N = 12
ARM_EXPERIMENTS = [
    name
    for name in EXPERIMENTS
    if name not in ("trust", "calibration", "risk-coverage", "stopping", "leaderboard")
]  # those five are about each run by itself


def with_lengths(made: PoolSet) -> PoolSet:
    pools = [
        dataclasses.replace(
            pool,
            n_tokens=np.arange(pool.n_trajectories) + i,
            measures={"mean": pool.confidence, "tail": pool.confidence + 1},
            top_mass=np.full(pool.n_trajectories, 0.9 + i / 1000),
            top_mass_99=np.full(pool.n_trajectories, 0.5 + i / 1000),
        )
        for i, pool in enumerate(made.pools)
    ]
    return dataclasses.replace(made, pools=tuple(pools))


PLAIN = with_lengths(random_set(N, 24, seed=0, name="plain"))
STEERED = with_lengths(random_set(N, 24, seed=1, name="steered", ssc=True))
COMMON = frozenset(f"q{i}" for i in range(4, 9))


def evaluated(plain: PoolSet, steered: PoolSet, *experiments: str) -> Report:
    return evaluate([plain, steered], experiments, n_repeats=3)


def plain_rows(result: Result) -> list[list[dict[str, object]]]:
    return [[dict(row) for row in table.rows] for table in result.tables]


@pytest.mark.parametrize("experiment", ARM_EXPERIMENTS)
def test_tables_are_those_of_the_common_questions(experiment: str) -> None:
    first = frozenset(f"q{i}" for i in range(9))
    last = frozenset(f"q{i}" for i in range(4, N))
    (found,) = evaluated(PLAIN.only(first), STEERED.only(last), experiment).results
    (expected,) = evaluated(PLAIN.only(COMMON), STEERED.only(COMMON), experiment).results
    assert plain_rows(found) == plain_rows(expected)
    assert [chart.rows for chart in found.charts] == [chart.rows for chart in expected.charts]


def test_the_number_of_common_questions_is_shown() -> None:
    first = frozenset(f"q{i}" for i in range(9))
    last = frozenset(f"q{i}" for i in range(4, N))
    report = evaluated(PLAIN.only(first), STEERED.only(last), "main", "components", "length")
    assert (
        "model on made: the arms are compared on the 5 questions that both have, of 9 of plain and 8 of"
        " steered" in report.notes
    )
    for result in report.results:
        assert result.tables[0].title.endswith("; on the 5 questions of made that both arms have")
    differences = report.results[0].tables[1]
    assert {row["n_questions"] for row in differences.rows} == {5}
    same = evaluated(PLAIN, STEERED, "main")
    assert not any("both have" in note for note in same.notes)
    assert "both arms" not in same.results[0].tables[0].title


def steered(name: str, alpha: float, benchmark: str, *questions: int) -> PoolSet:
    made = random_set(N, 24, seed=len(name), name=name, ssc=True, benchmark=benchmark)
    only = made.only(frozenset(f"q{i}" for i in questions) if questions else None)
    return dataclasses.replace(only, settings={"alpha": alpha, "delta": 0.8})


def test_settings_are_compared_on_the_benchmarks_and_questions_that_all_runs_have() -> None:
    sets = [
        steered("low", 0.5, "x", 0, 1, 2, 3),
        steered("high", 0.8, "x", 2, 3, 4),
        steered("other", 0.8, "y"),
    ]
    (result,) = evaluate(sets, ["alpha"], n_repeats=3).results
    only = [sets[0].only(frozenset({"q2", "q3"})), sets[1].only(frozenset({"q2", "q3"}))]
    (expected,) = evaluate(only, ["alpha"], n_repeats=3).results
    assert plain_rows(result) == plain_rows(expected)
    assert "(x, 2 common questions, 24 trajectories, 3 repeats)" in result.tables[0].title
    assert "model: these runs are compared on the 2 questions that all 2 have" in result.notes


def test_settings_without_a_common_question_are_not_compared() -> None:
    sets = [steered("low", 0.5, "x"), steered("high", 0.8, "y")]
    (result,) = evaluate(sets, ["alpha"], n_repeats=3).results
    assert not result.tables
    assert "there is no question that all of them have" in result.notes[0]
