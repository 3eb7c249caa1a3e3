"""Runs with different settings of SelfStepConf, compared by the settings in which they differ."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distrivote.evaluation.driver import evaluate
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
    table, lengths = result.tables
    assert [column.name for column in lengths.columns][:2] == ["alpha", "confidence"]
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


def test_the_largest_group_of_runs_that_are_alike_is_compared_and_the_others_are_named() -> None:
    windows = [steered(i, split="window 512", delta=delta) for i, delta in enumerate((0.7, 0.8, 0.9))]
    (result,) = evaluate([steered(7), steered(8, delta=0.9), *windows], ["delta"], n_repeats=2).results
    assert [row["delta"] for row in result.tables[0].rows] == [0.7, 0.8, 0.9]
    assert any("left out" in note and note.endswith("run-7, run-8") for note in result.notes)


def with_lengths(made: PoolSet, n_steps: int, n_paragraphs: int, n_reflections: int) -> PoolSet:
    counts = {"n_steps": n_steps, "n_paragraphs": n_paragraphs, "n_reflections": n_reflections}
    pools = [
        dataclasses.replace(pool, **{name: np.full(24, count) for name, count in counts.items()})
        for pool in made.pools
    ]
    return dataclasses.replace(made, pools=tuple(pools))


def test_steps_are_counted_both_ways_and_the_papers_stand_beside_those_by_empty_lines() -> None:
    sets = [
        with_lengths(steered(0), 5, 5, 1),
        with_lengths(steered(1, split="window 2048"), 2, 6, 0),
    ]
    (result,) = evaluate(sets, ["step-split"], n_repeats=2, against_paper=True).results
    lengths = result.tables[1]
    beside = [(column.label, column.paper) for column in lengths.columns]
    assert beside[:3] == [
        ("splitter", None),
        ("Steps", None),
        ("Steps by empty lines", "paragraphs_paper"),
    ]
    assert [(row["split"], row["steps"], row["paragraphs"]) for row in lengths.rows] == [
        ("\\n\\n", 5.0, 5.0),
        ("window of 2048", 2.0, 6.0),
    ]
    assert "steps_paper" not in lengths.rows[0]
    assert any("as_published" in note for note in result.notes)


def test_delta_draws_the_reflections_of_every_temperature_on_its_own() -> None:
    sets = [
        dataclasses.replace(
            with_lengths(steered(i, delta=delta, temperature=temperature), 5, 5, n), name=f"run-{i}"
        )
        for i, (delta, temperature, n) in enumerate(
            [(0.7, 0.0, 0), (0.9, 0.0, 3), (0.7, 0.6, 1), (0.9, 0.6, 2)]
        )
    ]
    (result,) = evaluate(sets, ["delta"], n_repeats=2, against_paper=True).results
    charts = {chart.name: chart for chart in result.charts}
    greedy = charts["DeepSeek-R1-8B-at-temperature-0-reflections"]
    assert [(row["delta"], row["value"]) for row in greedy.rows] == [(0.7, 0.0), (0.9, 3.0)]
    sampled = charts["DeepSeek-R1-8B-at-temperature-0.6-reflections"]
    assert [(row["delta"], row["value"]) for row in sampled.rows] == [(0.7, 1.0), (0.9, 2.0)]
    # The paper's accuracies are those of temperature 0.6.
    by_title = {table.title.split(":")[0]: table for table in result.tables[::2]}
    assert "pass1_paper" in by_title["DeepSeek-R1-8B at temperature 0.6"].rows[0]
    assert "pass1_paper" not in by_title["DeepSeek-R1-8B at temperature 0"].rows[0]
    assert not any("no run here has that" in note for note in result.notes)
    (alone,) = evaluate(sets[2:], ["delta"], n_repeats=2).results
    assert any("no run here has that" in note for note in alone.notes)


def test_windows_stand_in_the_order_of_their_length() -> None:
    sets = [steered(i, split=f"window {n}") for i, n in enumerate((1024, 256, 512))]
    (result,) = evaluate(sets, ["step-split"], n_repeats=2).results
    assert [row["split"] for row in result.tables[0].rows] == [f"window of {n}" for n in (256, 512, 1024)]
