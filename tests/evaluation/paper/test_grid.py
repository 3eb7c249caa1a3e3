"""The paper's grid as data: its size, its models, its sweeps, and smaller versions of it."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.errors import InputError, UnknownNameError
from distrivote.evaluation.experiments.registry import EXPERIMENTS
from distrivote.evaluation.experiments.setting_words import published_word
from distrivote.evaluation.paper.grid import (
    BENCHMARKS,
    FEWEST,
    GRID,
    SWEEPS,
    Share,
    scaled,
    stages_named,
)
from distrivote.evaluation.paper.lengths import expected_length
from distrivote.evaluation.paper.model_settings import model_settings
from distrivote.evaluation.paper.published import published
from distrivote.evaluation.run_pools import _settings
from distrivote.splitting import splitter
from distrivote.steering import SelfStepConf
from distrivote.store.runs.manifest import settings_of


def rows(table: str) -> list[dict[str, str]]:
    text = files("distrivote.evaluation.paper").joinpath("published.csv").read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines()) if row["table"] == table]


def test_the_grid_has_162816_trajectories_an_arm() -> None:
    assert sum(BENCHMARKS.values()) * GRID.budget == 162_816
    assert [(arm.name, arm.ssc) for arm in GRID.arms] == [("plain", False), ("ssc", True)]
    assert tuple(BENCHMARKS) == GRID.benchmarks
    named = {published().benchmark(name) for name in BENCHMARKS}
    assert named == {row["benchmark"] for row in rows("main_results")} - {"Avg."}


@pytest.mark.parametrize(
    ("model", "thinking", "expected"),
    [
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", None, ("DeepSeek-R1-8B", 65_536, 0.6, None)),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", None, ("DeepSeek-R1-7B", 65_536, 0.6, None)),
        ("Qwen/Qwen3-0.6B", None, ("Qwen3-0.6B", 32_768, 0.6, True)),
        ("Qwen/Qwen3-14B", False, ("Qwen3-14B", 32_768, 0.7, False)),
        ("Qwen3-14B-NonThinking", None, ("Qwen3-14B", 32_768, 0.7, False)),
        ("meta-llama/Llama-3.1-8B-Instruct", None, ("Llama3.1-8B-Instruct", 32_768, 0.6, None)),
        ("smollm2-135m", None, (None, None, 0.6, None)),
        ("smollm2-135m", True, (None, None, 0.6, True)),
    ],
)
def test_a_model_has_the_papers_settings(
    model: str, thinking: bool | None, expected: tuple[object, ...]
) -> None:
    found = model_settings(model, thinking)
    assert (found.name, found.max_tokens, found.temperature, found.thinking) == expected
    assert found.top_p == 0.95
    assert (found.system is not None) == str(found.name).startswith("DeepSeek")


def test_every_model_of_the_paper_has_settings() -> None:
    names = {row["model"] for table in ("main_results", "pass_at_1") for row in rows(table)}
    assert {model_settings(name).name for name in names} == {name.removesuffix("*") for name in names}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_has_what_its_experiments_need(name: str) -> None:
    for stage in SWEEPS[name]:
        assert set(stage.experiments) <= set(EXPERIMENTS)
        assert len({arm.name for arm in stage.arms}) == len(stage.arms)


@pytest.mark.parametrize(
    ("sweep", "table", "names"),
    [
        ("alpha-delta", "sensitivity_alpha_delta", ("alpha", "delta")),
        ("alpha", "sensitivity_alpha", ("alpha",)),
        ("delta", "sensitivity_delta", ("delta",)),
        ("step-split", "step_split", ("split",)),
        ("reflection-token", "reflection_token", ("reflection",)),
    ],
)
def test_a_sweep_goes_over_the_papers_values_on_its_benchmarks(
    sweep: str, table: str, names: tuple[str, ...]
) -> None:
    stage = SWEEPS[sweep][0]
    assert {row["setting"] for row in rows(table)} == {
        " ".join(f"{'token' if name == 'reflection' else name}={said(arm.changes, name)}" for name in names)
        for arm in stage.arms
    }
    in_paper = {row["benchmark"] for row in rows(table)} - {"Avg."}
    assert {published().benchmark(name) for name in stage.benchmarks} == in_paper


def said(changes: object, name: str) -> str:
    """Return a setting as the paper writes it, the long way: through a controller and its manifest."""
    assert isinstance(changes, dict)
    made = {key: splitter(value) if key == "split" else value for key, value in changes.items()}
    return published_word(_settings(settings_of(SelfStepConf(**made)))[name])


def test_the_budgets_of_the_sweeps_are_the_papers() -> None:
    budgets = {stage.name: stage.budget for name in SWEEPS for stage in SWEEPS[name]}
    assert budgets == {
        "alpha-delta": 128,
        "alpha": 128,
        "delta": 128,
        "step-split": 64,
        "reflection-token": 64,
        "alpha-temperature-0": 1,
        "delta-temperature-0": 1,
        "temperature-0": 1,
    }


def test_stages_come_by_name_and_without_one_it_is_the_grid() -> None:
    assert stages_named(()) == (GRID,)
    assert [stage.name for stage in stages_named(("delta", "step-split", "delta"))] == [
        "delta",
        "delta-temperature-0",
        "step-split",
    ]
    with pytest.raises(UnknownNameError, match="unknown sweep 'gamma'"):
        stages_named(("gamma",))


def test_a_scaled_grid_has_fewer_trajectories_and_then_fewer_questions() -> None:
    assert scaled(198, 512, 1.0) == Share(198, 512)
    assert scaled(198, 512, 0.05) == Share(198, 26)
    assert scaled(30, 512, 1 / 32) == Share(30, 16)
    assert scaled(30, 512, 0.01) == Share(10, 16)  # 30 * 5.12 / 16 = 9.6
    assert scaled(30, 512, 0.0001) == Share(1, 16)
    assert scaled(30, 1, 0.1) == Share(3, 1)
    for wrong in (0.0, -1.0, 1.1, float("nan")):
        with pytest.raises(InputError, match="above 0, up to 1"):
            scaled(30, 512, wrong)


@given(st.integers(1, 200), st.integers(1, 600), st.floats(1e-6, 1), st.floats(1e-6, 1))
def test_a_larger_scale_only_adds(n: int, budget: int, one: float, other: float) -> None:
    small, large = (scaled(n, budget, scale) for scale in sorted((one, other)))
    assert small.n_questions <= large.n_questions <= n
    assert min(FEWEST, budget) <= small.budget <= large.budget <= budget
    assert small.budget == min(FEWEST, budget) or small.n_questions == n


@pytest.mark.parametrize(
    ("model", "benchmark", "ssc", "max_tokens", "n_tokens", "source"),
    [
        ("Qwen3-8B", "hmmt2025", False, 32_768, 22_114.77, "published for Qwen3-8B at temperature 0"),
        ("Qwen3-8B", "gpqa-diamond=x.csv", True, 32_768, 5_243.37, "published for Qwen3-8B"),
        ("Qwen3-8B", "hmmt2025", False, 8_192, 8_192, "published for Qwen3-8B"),
        ("Qwen3-32B", "aime2024", True, 32_768, 19_586.87, "assumed, as published for Qwen3-8B"),
        ("Qwen3-8B*", "aime2024", True, 32_768, 4_096, "4,096 tokens assumed"),
        ("Qwen3-8B", "gsm8k", True, 32_768, 16_384, "half of the 32,768 tokens at most, an assumption"),
        ("smollm2-135m", "aime2024", True, 256, 128, "half of the 256 tokens at most, an assumption"),
    ],
)
def test_a_length_says_what_it_rests_on(
    model: str, benchmark: str, ssc: bool, max_tokens: int, n_tokens: float, source: str
) -> None:
    found = expected_length(model_settings(model), benchmark, ssc, max_tokens)
    assert found.n_tokens == n_tokens
    assert found.source.startswith(source)
