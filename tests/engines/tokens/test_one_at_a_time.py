"""Engines that make one call at a time, with models that do nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from distrivote.engines.base import Engine, SamplingParams
from distrivote.engines.llamacpp import engine as llamacpp
from distrivote.engines.tokens.one_at_a_time import OneAtATime
from distrivote.engines.transformers import engine as transformers
from distrivote.engines.vllm import engine as vllm
from distrivote.errors import DistrivoteError
from distrivote.problem import Message

QUESTION = (Message("user", "2 + 2?"),)


def test_a_call_begins_when_the_one_before_has_ended() -> None:
    calls = OneAtATime()
    calls.begin()
    for again in (calls.begin, calls.close):
        with pytest.raises(DistrivoteError, match="sampling already"):
            again()
    calls.end()
    calls.begin()
    calls.end()


def test_behind_the_close_nothing_begins() -> None:
    calls = OneAtATime()
    assert calls.close()
    assert not calls.close()
    with pytest.raises(DistrivoteError, match="the engine is closed: make a new one"):
        calls.begin()


class Model:
    """Counts how often it is closed."""

    name = "model"
    n_closed = 0

    def close(self) -> None:
        self.n_closed += 1


def embedded(monkeypatch: pytest.MonkeyPatch, model: Model) -> Engine:
    monkeypatch.setattr(llamacpp, "model_file", lambda *_: Path("model.gguf"))
    monkeypatch.setattr(llamacpp, "LlamaModel", lambda *_: model)
    return llamacpp.LlamaCppEngine("model.gguf")


def hugging_face(monkeypatch: pytest.MonkeyPatch, model: Model) -> Engine:
    monkeypatch.setattr(transformers, "TransformersModel", lambda *_: model)
    return transformers.TransformersEngine("model")


def offline(monkeypatch: pytest.MonkeyPatch, model: Model) -> Engine:
    config = SimpleNamespace(get_vocab_size=lambda: 0, max_model_len=99, max_logprobs=20)
    core = SimpleNamespace(shutdown=model.close)
    tokenizer = SimpleNamespace(get_vocab=dict, all_special_ids=[])
    llm: Any = SimpleNamespace(
        llm_engine=SimpleNamespace(model_config=config, engine_core=core), get_tokenizer=lambda: tokenizer
    )
    monkeypatch.setattr(vllm, "_arguments", dict)
    monkeypatch.setattr(vllm, "_loaded", lambda *_: llm)
    return vllm.VllmEngine("model")


@pytest.mark.parametrize("made", [embedded, hugging_face, offline])
def test_an_engine_is_closed_once_and_says_so(
    monkeypatch: pytest.MonkeyPatch, made: Callable[[pytest.MonkeyPatch, Model], Engine]
) -> None:
    model = Model()
    engine = made(monkeypatch, model)
    engine.close()
    engine.close()
    assert model.n_closed == 1
    with pytest.raises(DistrivoteError, match="the engine is closed"):
        next(engine.sample(QUESTION, 1, SamplingParams()))
