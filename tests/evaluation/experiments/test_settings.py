"""Runs with different settings of SelfStepConf, compared by the settings in which they differ."""

from __future__ import annotations

import dataclasses

import pytest

from distrivote.evaluation.evaluate import evaluate
from distrivote.evaluation.pools import PoolSet
from evaluation.made_pools import random_set


def steered(seed: int, **settings: float | str) -> PoolSet:
    made = random_set(4, 24, seed=seed, model="DeepSeek-R1-8B", benchmark="HMMT2025", ssc=True)
    usual: dict[str, float | str] = {
        "alpha": 0.8,
        "delta": 0.8,
        "reflection": "wait",
        "split": "delimiter \\n\\n",
    }
    return dataclasses.replace(made, name=f"run-{seed}", settings=usual | settings)


def test_runs_that_differ_in_alpha_alone_are_compared() -> None:
    sets = [steered(0), steered(1, alpha=0.5), steered(2, alpha=0.5, delta=0.5), steered(3, alpha=0.9)]
    (result,) = evaluate(sets, ["alpha"], n_repeats=2, against_paper=True).results
    (table,) = result.tables
    assert [row["alpha"] for row in table.rows] == [0.5, 0.8, 0.9]
    pass1 = float(sum(pool.correct.mean() for pool in sets[1].pools) / 4)
    assert table.rows[0]["pass1"] == pytest.approx(pass1)
    # The paper's pass@1 for alpha = 0.5 on HMMT 2025.
    assert table.rows[0]["pass1_paper"] is not None
    assert 0.5 < float(table.rows[0]["pass1_paper"]) < 0.7
    assert len(result.charts[0].rows) == 9


def test_alpha_and_delta_together_make_a_heatmap() -> None:
    sets = [
        steered(i, alpha=a, delta=d)
        for i, (a, d) in enumerate([(0.5, 0.5), (0.5, 0.8), (0.8, 0.5), (0.8, 0.8)])
    ]
    (result,) = evaluate(sets, ["alpha-delta"], n_repeats=2).results
    assert len(result.tables[0].rows) == 4
    assert [chart.kind for chart in result.charts] == ["heatmap"]


@pytest.mark.parametrize(
    ("experiment", "setting", "values"),
    [
        ("delta", "delta", (0.7, 0.8)),
        ("step-split", "split", ("delimiter \\n\\n", "window 512", "entropy 0.672 200")),
        ("reflection-token", "reflection", ("wait", "Hmm")),
    ],
)
def test_published_numbers_are_found_for(
    experiment: str, setting: str, values: tuple[float | str, ...]
) -> None:
    sets = [steered(i, **{setting: value}) for i, value in enumerate(values)]
    (result,) = evaluate(sets, [experiment], n_repeats=2, against_paper=True).results
    assert len(result.tables[0].rows) == len(values)
    assert all(row["pass1_paper"] is not None for row in result.tables[0].rows)


def test_a_single_run_is_not_compared_with_itself() -> None:
    (result,) = evaluate([steered(0)], ["alpha"], n_repeats=2).results
    assert not result.tables
    assert "differ in alpha alone, and there is only one" in result.notes[0]
