"""Lengths and times of trajectories, basic inference beside SelfStepConf."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.pools import PoolSet
from evaluation.made_pools import few_surer_right, pool_set, surest_wrong


def timed(made: PoolSet, *seconds: float) -> PoolSet:
    """Return the set with the mean seconds of each question; NaN: half of its trajectories have none."""
    pools = []
    for pool, mean in zip(made.pools, seconds, strict=True):
        values = np.full(8, mean)
        values[::2] = np.nan
        pools.append(dataclasses.replace(pool, seconds=values, n_tokens=np.arange(8)))
    return dataclasses.replace(made, pools=tuple(pools))


QUESTIONS = (few_surer_right("a"), surest_wrong("b"))


def test_length_shows_the_mean_seconds_of_a_trajectory_where_they_are_known() -> None:
    sets = [pool_set(*QUESTIONS), timed(pool_set(*QUESTIONS, ssc=True), 2.0, 4.0)]
    (result,) = evaluate(sets, ["length"], n_repeats=1).results
    (table,) = result.tables
    assert [column.label for column in table.columns] == ["Sampling", "Tokens", "Confidence", "Seconds"]
    basic, steered = table.rows
    assert (basic["method"], basic["seconds"], basic["tokens"]) == ("BasicInference", None, None)
    assert (steered["method"], steered["seconds"], steered["tokens"]) == ("SelfStepConf", 3.0, 3.5)
    assert (steered["seconds_low"], steered["seconds_high"]) == (2.0, 4.0)
    assert "model: these runs do not record steps, steps by empty lines, reflections" in result.notes


def test_length_has_a_row_for_each_benchmark_and_for_their_average() -> None:
    sets = [
        timed(pool_set(*QUESTIONS, benchmark="x"), 1.0, 1.0),
        timed(pool_set(QUESTIONS[0], benchmark="y"), 4.0),
    ]
    (result,) = evaluate(sets, ["length"], n_repeats=1).results
    rows = [(row["benchmark"], row["seconds"]) for row in result.tables[0].rows]
    assert rows == [("x", 1.0), ("y", 4.0), ("Avg.", 2.0)]


def test_runs_without_times_say_so() -> None:
    (result,) = evaluate([pool_set(*QUESTIONS)], ["length"], n_repeats=1).results
    assert any(note.endswith("reflections, seconds") for note in result.notes)
    assert result.tables[0].rows[0]["confidence"] == pytest.approx(
        np.mean([pool.confidence.mean() for pool in QUESTIONS])
    )
