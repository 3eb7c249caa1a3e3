"""Jobs whose prompt is longer than the model reads, with models that only count words."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from distrivote.engines.base import Engine, Job, SamplingParams
from distrivote.engines.llamacpp import engine as llamacpp
from distrivote.engines.vllm import engine as vllm
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.trajectory import Trajectory

N_CONTEXT = 20


def job(n_words: int) -> Job:
    return Job([Message("user", "word " * n_words)], SamplingParams(), [0, 1])


def embedded(monkeypatch: pytest.MonkeyPatch) -> Engine:
    model = SimpleNamespace(
        n_ctx_train=N_CONTEXT,
        chat_prompt=lambda messages, _: messages[-1].content,
        tokenize=lambda text, special: text.split(),  # noqa: ARG005
    )

    class Sampling(llamacpp.LlamaCppEngine):
        def _sized_context(self, *_: object) -> Any:
            raise AssertionError("a prompt that is too long must not get so far")

        def sample(self, messages: Sequence[Message], n: int, *args: Any, **more: Any) -> Any:
            if len(messages[-1].content.split()) >= N_CONTEXT:
                return super().sample(messages, n, *args, **more)
            return self._said(more["indices"])

        def _said(self, indices: Sequence[int]) -> Generator[Trajectory]:
            for index in indices:
                yield Trajectory("4", index=index)

    monkeypatch.setattr(llamacpp, "model_file", lambda *_: Path("model"))
    monkeypatch.setattr(llamacpp, "LlamaModel", lambda *_: model)
    return Sampling("model")


def offline(monkeypatch: pytest.MonkeyPatch) -> Engine:
    config = SimpleNamespace(get_vocab_size=lambda: 0, max_model_len=N_CONTEXT, max_logprobs=20)
    renderer = SimpleNamespace(render_cmpl=lambda prompts: prompts)
    tokenizer = SimpleNamespace(get_vocab=dict, all_special_ids=[])
    scheduler = SimpleNamespace(scheduler_config=SimpleNamespace(max_num_seqs=8))
    inside = SimpleNamespace(
        model_config=config, vllm_config=scheduler, renderer=renderer, add_request=lambda *_: None
    )
    llm = SimpleNamespace(llm_engine=inside, get_tokenizer=lambda: tokenizer)

    class Sampling(vllm.VllmEngine):
        def _prompt(self, messages: Sequence[Message], _: bool | None) -> list[int]:
            return [0] * len(messages[-1].content.split())

        def _step(self, live: dict[str, Any]) -> tuple[int, list[Any]]:
            reply = live.pop(next(iter(live)))
            said = Trajectory("4", index=int(reply.index))
            ended = SimpleNamespace(job=reply.job, steering=None, trajectory=lambda *_: said, n_reflections=0)
            return 1, [ended]

    monkeypatch.setattr(vllm, "_arguments", dict)
    monkeypatch.setattr(vllm, "_loaded", lambda *_: llm)
    monkeypatch.setattr(vllm, "_sampling", lambda *_: None)
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "vllm.exceptions", SimpleNamespace(VLLMClientError=ValueError))  # type: ignore[arg-type]
    return Sampling("model")


@pytest.mark.parametrize("made", [embedded, offline])
def test_the_others_are_sampled_and_the_error_comes_last(monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    engine: Engine = made(monkeypatch)
    samples = engine.sample_all([job(3), job(N_CONTEXT), job(4), job(99)])
    found = [next(samples) for _ in range(4)]
    assert [(job, trajectory.index) for job, trajectory in found] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    with pytest.raises(InputError, match="2 of 4 questions were not sampled: the prompt 'word word") as error:
        next(samples)
    assert "has 20 tokens, and model reads 20 at most: shorten it" in str(error.value)
    assert len(list(engine.sample_all([job(3)]))) == 2


@pytest.mark.parametrize("made", [embedded, offline])
def test_one_alone_is_refused_as_it_is(monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    engine: Engine = made(monkeypatch)
    for samples in (
        engine.sample_all([job(99)]),
        engine.sample(job(99).messages, 1, SamplingParams(), indices=[0]),
    ):
        with pytest.raises(InputError, match=r"^the prompt 'word word .*…' has 99 tokens"):
            list(samples)
