"""The paper's numbers, and how they are found under other names."""

from __future__ import annotations

import csv
import math
from importlib.resources import files

import pytest

from distrivote.evaluation.experiments.registry import EXPERIMENTS
from distrivote.evaluation.paper.published import BENCHMARKS, CONTRADICTIONS, N_QUESTIONS, published
from distrivote.evaluation.paper.runs import SPREAD


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
        ("./models/Qwen3-14B/", "Qwen3-14B"),
        ("QWEN3-14B", "Qwen3-14B"),
        ("hub/models--Qwen--Qwen3-14B/snapshots/40c0698/", "Qwen3-14B"),
        ("models/Qwen3-14B-Q4_K_M.gguf", "Qwen3-14B"),
        ("models/DeepSeek-R1-Distill-Qwen-7B/", "DeepSeek-R1-7B"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama3.1-8B-Instruct"),
        ("Qwen3-14B-Base", None),
        ("Qwen3-14B/checkpoint-500", None),
        ("Qwen/Qwen3-4B-Thinking-2507", None),
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
        ("aime2025: questions.jsonl", "AIME2025"),
        ("aime2025: hf:MathArena/aime_2025", "AIME2025"),
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


def test_a_model_without_thinking_has_numbers_of_its_own() -> None:
    def pass1(thinking: bool | None, model: str = "./models/Qwen3-14B/") -> float | None:
        return published().find("pass_at_1", model, "BasicInference", "", "aime2025", "pass@1", thinking)

    assert (pass1(False), pass1(True), pass1(None)) == (21.09, 68.91, 68.91)
    assert published().find(
        "main_results", "Qwen3-14B", "Pass@1", "", "AIME2025", "voting_accuracy", False
    ) == pytest.approx(21.09)
    # A model that only thinks has none, one that never thinks has the same.
    assert published().model("DeepSeek-R1-8B", thinking=False) is None
    assert published().model("Llama3.1-8B-Instruct", thinking=False) == "Llama3.1-8B-Instruct"


# What the paper says twice, differently


def value(*key: str) -> float:
    """Return the number of a table, model, method, setting, benchmark and metric, as it is published."""
    text = files("distrivote.evaluation.paper").joinpath("published.csv").read_text("utf-8")
    names = ("table", "model", "method", "setting", "benchmark", "metric")
    (found,) = (
        float(row["value"])
        for row in csv.DictReader(text.splitlines())
        if tuple(row[name] for name in names) == key
    )
    return found


DEEPSEEK = "DeepSeek-R1-8B"
VOTING = "voting_accuracy"
WHOLE = "ssc=yes gmm=yes reject=yes hier=yes"
STARRED = (
    ("main_results", DEEPSEEK, "DIS-GMM*", "", "AIME2025", VOTING),
    ("component_ablation", DEEPSEEK, WHOLE, "", "AIME2025", VOTING),
)
CLAIMS = [
    ("main", STARRED, (86.64, 86.46)),
    ("components", STARRED, (86.64, 86.46)),
    (
        "budget",
        (STARRED[0], ("budget_ablation", DEEPSEEK, "DIS-GMM*", "budget=128", "AIME2025", VOTING)),
        (86.64, 86.46),
    ),
    (
        "alpha",
        (STARRED[0], ("sensitivity_alpha", DEEPSEEK, "", "alpha=0.8", "AIME2025", "DIS-GMM*")),
        (86.64, 86.46),
    ),
    (
        "delta",
        (STARRED[0], ("sensitivity_delta", DEEPSEEK, "", "delta=0.8", "AIME2025", "DIS-GMM*")),
        (86.64, 86.46),
    ),
    (
        "delta",
        (
            ("sensitivity_delta", DEEPSEEK, "", "delta=0.1", "HMMT2025", "Pass@1"),
            ("pass_at_1", DEEPSEEK, "BasicInference", "", "HMMT2025", "pass@1"),
        ),
        (58.96, 57.71),
    ),
    (
        "intervals",
        (
            ("sensitivity_intervals", DEEPSEEK, "DIS-GMM*", "intervals=10", "Avg.", VOTING),
            ("main_results", DEEPSEEK, "DIS-GMM*", "", "Avg.", VOTING),
        ),
        (77.62, 77.84),
    ),
    ("pass1", (("pass_at_1", "Qwen3-14B*", "SelfStepConf", "", "Avg.", "pass@1"),), (42.14,)),
]


@pytest.mark.parametrize(("experiment", "keys", "values"), CLAIMS)
def test_a_contradiction_is_in_the_published_numbers_and_in_the_notes(
    experiment: str, keys: tuple[tuple[str, ...], ...], values: tuple[float, ...]
) -> None:
    assert tuple(value(*key) for key in keys) == values
    notes = CONTRADICTIONS[experiment]
    assert any(all(f"{each:.2f}" in note for each in values) for note in notes)


def test_an_average_is_not_that_of_its_columns() -> None:
    columns = [value("pass_at_1", "Qwen3-14B*", "SelfStepConf", "", name, "pass@1") for name in BENCHMARKS]
    weights = [N_QUESTIONS[name] for name in BENCHMARKS]
    mean = sum(w * v for w, v in zip(weights, columns, strict=True)) / sum(weights)
    assert f"{mean:.2f}" == "43.06"
    assert any("42.14" in note and "43.06" in note for note in CONTRADICTIONS["pass1"])


def test_a_models_numbers_are_another_models_in_four_of_five_columns() -> None:
    small, large = (
        {name: value("pass_at_1", model, "SelfStepConf", "", name, "pass@1") for name in BENCHMARKS}
        for model in ("Qwen3-14B*", "Qwen3-32B*")
    )
    alike = {name: each for name, each in small.items() if each == large[name]}
    assert list(alike) == ["GPQA-D", "AIME2024", "AIME2025", "BRUMO2025"]
    (note,) = (note for note in CONTRADICTIONS["pass1"] if "Qwen3-32B*" in note)
    assert all(f"{name} {each:.2f}" in note for name, each in alike.items())


# The paper's spread


def least_deviation(mean: float, n_questions: int) -> float:
    """Return the least standard deviation of percentages of n questions whose mean is this, if rounded."""
    low, high = ((mean + half) * n_questions / 100 for half in (-0.005, 0.005))
    if math.floor(low) != math.floor(high):
        return 0.0  # all repeats may have had the same number of right answers
    shares = [steps - math.floor(steps) for steps in (low, high)]
    return 100 / n_questions * min(math.sqrt(share * (1 - share)) for share in shares)


def test_the_papers_spread_is_not_the_deviation_over_repeats() -> None:
    assert round(least_deviation(69.11, 30), 2) == 1.47
    assert "1.47" in SPREAD
    assert "0.23" in SPREAD
    text = files("distrivote.evaluation.paper").joinpath("published.csv").read_text("utf-8")
    rows = [
        row
        for row in csv.DictReader(text.splitlines())
        if row["table"] == "main_results" and N_QUESTIONS.get(row["benchmark"]) == 30
    ]
    impossible = [
        row for row in rows if least_deviation(float(row["value"]), 30) > float(row["spread"]) + 0.005
    ]
    # The rest have means that 30 questions can have, such as 93.33, or nearly.
    assert (len(impossible), len(rows)) == (66, 80)
