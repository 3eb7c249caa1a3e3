"""The paper's numbers, and how they are found under other names."""

from __future__ import annotations

import pytest

from distrivote.evaluation.experiments.registry import EXPERIMENTS
from distrivote.evaluation.published import CONTRADICTIONS, published


def test_all_of_the_papers_numbers_are_there() -> None:
    assert len(published()) == 4256


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "DeepSeek-R1-8B"),
        ("DeepSeek-R1-8B", "DeepSeek-R1-8B"),
        ("Qwen/Qwen3-14B", "Qwen3-14B"),
        ("Qwen3-14B (non-thinking)", "Qwen3-14B*"),
        ("Qwen3-14B*", "Qwen3-14B*"),
        ("smollm2-135m", None),
    ],
)
def test_models_are_known_by_their_usual_names(name: str, known: str | None) -> None:
    assert published().model(name) == known


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("hmmt_feb_2025", "HMMT2025"),
        ("HMMT 2025", "HMMT2025"),
        ("gpqa-diamond", "GPQA-D"),
        ("data/aime_2024", "AIME2024"),
        ("brumo2025_deepconf_64", "BRUMO2025"),
        ("gsm8k", None),
    ],
)
def test_benchmarks_are_known_by_their_usual_names(name: str, known: str | None) -> None:
    assert published().benchmark(name) == known


@pytest.mark.parametrize(
    ("model", "method", "value"),
    [
        ("DeepSeek-R1-8B", "MoB-Adaptive", 75.30),
        ("DeepSeek-R1-8B", "DIS-GMM*", 77.84),
        ("Qwen3-32B*", "MoB-Adaptive", None),
    ],
)
def test_main_results_are_one_table(model: str, method: str, value: float | None) -> None:
    found = published().find("main_results", model, method, "", "Avg.", "voting_accuracy")
    assert found is not None
    assert found != 75.30 if value is None else found == value


@pytest.mark.parametrize(("method", "value"), [("BasicInference", 0.165), ("SelfStepConf", 0.251)])
def test_the_density_differences_of_the_text_are_there(method: str, value: float) -> None:
    where = ("ssc_distribution", "DeepSeek-R1-8B", method, "", "HMMT2025", "Density difference")
    assert published().find(*where) == value


def test_what_the_paper_does_not_have_is_none() -> None:
    assert published().find("main_results", "Qwen3-8B", "SC", "", "gsm8k", "voting_accuracy") is None
    assert published().find("budget_ablation", "Qwen3-8B", "SC", "", "Avg.", "voting_accuracy") is None


def test_contradictions_belong_to_experiments() -> None:
    assert set(CONTRADICTIONS) <= {*EXPERIMENTS}
