"""Steps of single trajectories, and the probability of the top k, from a run on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distrivote.engines.base import SamplingParams
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.registry import experiments_named, reads_of
from distrivote.evaluation.loading import load_pool_sets
from distrivote.steering import SelfStepConf
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, Row
from distrivote.store.runs.writer import RunWriter


def write_run(
    path: Path,
    ssc: SelfStepConf | None,
    steps: list[float],
    reflections: list[int],
    unfinished: bool = False,
) -> str:
    manifest = Manifest.of("replay", "tiny", "math", "sums", SamplingParams(), ssc, budget=2)
    top = np.log(np.array([[0.9, 0.0999], [0.6, 0.2]], dtype=np.float32))
    with RunWriter(path, manifest, keep=Keep(top_logprobs=True)) as writer:
        for sample in range(2):
            writer.add(
                Row(
                    question_id="q1",
                    sample=sample,
                    answer="4",
                    ground_truth="4",
                    confidence=2.0 + sample,
                    step_ends=np.array([5 * (i + 1) for i in range(len(steps))], np.int32),
                    step_confidences=np.array(steps, np.float32),
                    reflections=np.array(reflections, np.int32),
                    unfinished=unfinished,
                    top_logprobs=top,
                )
            )
    return str(path)


def test_a_trace_shows_steps_threshold_and_reflections(tmp_path: Path) -> None:
    paths = [
        write_run(tmp_path / "plain", None, [10.0, 12.0], []),
        write_run(tmp_path / "steered", SelfStepConf(alpha=0.5), [10.0, 12.0, 8.0], [15]),
    ]
    loaded = load_pool_sets(paths, reads=reads_of(experiments_named(["trace"])))
    (result,) = evaluate(loaded.pool_sets, ["trace"], n_repeats=1).results
    assert [(row["steps"], row["tokens"], row["reflections"]) for row in result.tables[0].rows] == [
        (2, 10, 0),
        (3, 15, 1),
    ]
    (chart,) = result.charts
    tau = [row["confidence"] for row in chart.rows if row["series"] == "threshold of SelfStepConf"]
    assert tau == [10.0, 11.0, 11.0]
    assert [(rule.label, rule.at) for rule in chart.rules] == [("reflection", 15.0)]


def test_a_step_that_was_cut_short_does_not_move_the_threshold(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", SelfStepConf(alpha=0.5), [10.0, 12.0, 20.0], [], unfinished=True)
    loaded = load_pool_sets([path], reads=("traces",))
    (result,) = evaluate(loaded.pool_sets, ["trace"], n_repeats=1).results
    tau = [row["confidence"] for row in result.charts[0].rows if "threshold" in str(row["series"])]
    assert tau == [10.0, 11.0, 11.0]


def test_runs_with_different_alpha_show_the_course_of_the_threshold(tmp_path: Path) -> None:
    paths = [
        write_run(tmp_path / f"run{alpha}", SelfStepConf(alpha=alpha), [10.0, 12.0], [])
        for alpha in (0.5, 0.8)
    ]
    loaded = load_pool_sets(paths, reads=reads_of(experiments_named(["alpha"])))
    (result,) = evaluate(loaded.pool_sets, ["alpha"], n_repeats=1).results
    course = result.charts[-1]
    found = {row["series"]: row["confidence"] for row in course.rows if row["token"] == 10}
    assert found == {"alpha = 0.5": 11.0, "alpha = 0.8": pytest.approx(10.4)}
    assert [row["steps"] for row in result.tables[0].rows] == [2.0, 2.0]


def test_the_probability_of_the_top_k_is_summed(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", None, [10.0], [])
    loaded = load_pool_sets([path], reads=("top-mass",))
    (result,) = evaluate(loaded.pool_sets, ["top-k-mass"], n_repeats=1).results
    mean, above = (row["sums"] for row in result.tables[0].rows)
    assert mean == pytest.approx((0.9999 + 0.8) / 2, abs=1e-6)
    assert above == 0.5
