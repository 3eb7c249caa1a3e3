"""Which engine opens for what a user names; models are not loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import distrivote
from distrivote.engines import choice
from distrivote.engines.choice import EngineChoice
from distrivote.errors import InputError, UnknownNameError


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[EngineChoice]:
    """What was to be opened."""
    found: list[EngineChoice] = []

    def record(wanted: EngineChoice, **_: object) -> Any:
        found.append(wanted)

    monkeypatch.setattr(choice, "open_engine", record)
    return found


@pytest.mark.parametrize(
    "url", ["http://localhost:8000/v1", "https://api.example.com", "localhost:8000", "10.0.0.1:8000/v1"]
)
def test_a_url_opens_a_server(opened: list[EngineChoice], url: str) -> None:
    distrivote.open(url, model="m", api_key="secret", n_parallel=3)
    assert opened == [EngineChoice("openai", "m", (url,), "secret", {"n_parallel": 3})]


@pytest.mark.parametrize("name", ["hf:org/repo/model.gguf", "smollm2-135m", "nowhere/model.gguf"])
def test_a_model_file_opens_the_embedded_engine(opened: list[EngineChoice], name: str) -> None:
    distrivote.open(name, n_slots=4)
    assert opened == [EngineChoice("embedded", name, options={"n_slots": 4})]


def test_a_path_may_be_a_path(opened: list[EngineChoice], tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"GGUF")
    distrivote.open(tmp_path / "model")
    assert opened == [EngineChoice("embedded", str(tmp_path / "model"))]


def test_nothing_opens_the_built_in_model(opened: list[EngineChoice]) -> None:
    distrivote.open()
    assert opened == [EngineChoice("embedded", None)]


def test_a_name_of_the_hub_needs_an_engine(opened: list[EngineChoice], tmp_path: Path) -> None:
    for name in ("Qwen/Qwen3-0.6B", str(tmp_path)):
        with pytest.raises(InputError, match="engine='vllm' or engine='transformers'"):
            distrivote.open(name)
    distrivote.open("Qwen/Qwen3-0.6B", engine="vllm", dtype="bfloat16")
    assert opened == [EngineChoice("vllm", "Qwen/Qwen3-0.6B", options={"dtype": "bfloat16"})]


def test_what_can_not_be_a_model_is_one_sentence() -> None:
    with pytest.raises(InputError, match="'smollm' is not a model: give the URL of a server"):
        distrivote.open("smollm")


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="n_slots"):
        distrivote.open(n_slot=4)
    with pytest.raises(UnknownNameError, match="n_parallel"):
        distrivote.open("http://localhost:1", paralel=3)
    with pytest.raises(UnknownNameError, match="embedded"):
        distrivote.open(engine="embeded")


def test_open_gives_an_engine_that_with_closes() -> None:
    with distrivote.open("http://localhost:1", model="m") as engine:
        assert (engine.name, engine.model) == ("openai", "m")
    with pytest.raises(distrivote.DistrivoteError, match="closed"):
        next(engine.sample((), 1, distrivote.SamplingParams()))
