"""Benchmarks from the hub: what is asked of `datasets`, and what is said when it does not work.

Neither the package nor a network is needed: a stand-in has the one function that is called.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from distrivote.benchmarks import load
from distrivote.errors import DistrivoteError, InputError, MissingPackageError

ROWS: dict[str, list[dict[str, Any]]] = {
    "aime2024": [{"id": 60, "problem": "p", "solution": "s", "answer": "025"}],
    "aime2025": [{"problem_idx": 1, "problem": "p", "answer": 70, "problem_type": ["Algebra"]}],
    "hmmt2025": [{"problem_idx": 1, "problem": "p", "answer": "103", "problem_type": ["Algebra"]}],
    "brumo2025": [{"problem_idx": 1, "problem": "p", "answer": "2^{99}", "problem_type": ["Algebra"]}],
    "gsm8k": [{"question": "q", "answer": "so\n#### 3"}],
    "gpqa-diamond": [
        {"Question": "q", "Correct Answer": "r", "Record ID": "rec1"}
        | {f"Incorrect Answer {n}": f"w{n}" for n in (1, 2, 3)}
    ],
}
ASKED = {
    "aime2024": ("HuggingFaceH4/aime_2024", None, "train"),
    "aime2025": ("MathArena/aime_2025", None, "train"),
    "hmmt2025": ("MathArena/hmmt_feb_2025", None, "train"),
    "brumo2025": ("MathArena/brumo_2025", None, "train"),
    "gsm8k": ("openai/gsm8k", "main", "test"),
    "gpqa-diamond": ("Idavidrein/gpqa", "gpqa_diamond", "train"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_benchmark_is_fetched_from_its_home(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load_dataset(repository: str, config: str | None, split: str) -> list[dict[str, Any]]:
        asked.append((repository, config, split))
        return ROWS[name]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    benchmark = load(name)
    assert asked == [ASKED[name]]
    assert benchmark.source == f"hf:{ASKED[name][0]}"
    assert len(benchmark) == 1
    assert benchmark.problems[0].answer


def test_a_revision_is_asked_for_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def load_dataset(_: str, __: str | None, **options: Any) -> list[dict[str, Any]]:
        asked.append(options)
        return ROWS["gsm8k"]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert load("gsm8k@e53f048").source == "hf:openai/gsm8k@e53f048"
    assert asked == [{"split": "test", "revision": "e53f048"}]
    with pytest.raises(InputError, match="gsm8k@ names no revision: write gsm8k@REVISION"):
        load("gsm8k@")


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def load_dataset(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingPackageError, match=r"fetching aime2025 .* needs datasets.*'\.\[datasets\]'"):
        load("aime2025")


def test_without_a_network_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ConnectionError("Couldn't reach the Hub. (LocalEntryNotFound)\nTraceback: ..."))
    with pytest.raises(DistrivoteError) as caught:
        load("hmmt2025")
    assert str(caught.value) == (
        "hmmt2025 could not be fetched from https://huggingface.co/datasets/MathArena/hmmt_feb_2025"
        " (Couldn't reach the Hub): check the network, or give a local copy as hmmt2025=FILE"
    )
    failing(monkeypatch, TimeoutError())
    with pytest.raises(DistrivoteError, match=r"\(TimeoutError\)"):
        load("hmmt2025")


def test_a_gated_benchmark_says_how_to_get_access(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, RuntimeError("Dataset 'Idavidrein/gpqa' is a gated dataset on the Hub. Log in."))
    with pytest.raises(
        DistrivoteError, match=r"gated.*agree to its terms .*hf auth login.*gpqa-diamond=FILE"
    ):
        load("gpqa-diamond")


def test_an_empty_answer_of_the_hub_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=lambda *_, **__: []))
    with pytest.raises(DistrivoteError, match="hf:MathArena/aime_2025"):
        load("aime2025")
