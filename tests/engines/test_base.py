"""What engines share: an engine of one's own, and the shipped ones with models that do nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from distrivote import solve
from distrivote.engines.base import BaseEngine, Engine, Job, Progress, SamplingParams, Watch
from distrivote.engines.llamacpp import engine as llamacpp
from distrivote.engines.transformers import engine as transformers
from distrivote.engines.vllm import engine as vllm
from distrivote.errors import DistrivoteError
from distrivote.problem import Message
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory

QUESTION = (Message("user", "2 + 2?"),)
PARAMS = SamplingParams()


class Mine(BaseEngine):
    """An engine of one's own."""

    name, model = "mine", "my-model"

    def sample_job(self, job: Job, _: Controller | None, watch: Watch | None) -> Iterator[Trajectory]:
        for n, index in enumerate(job.indices):
            if watch is not None:
                watch(Progress(n + 1, 0, 0))
            yield Trajectory(f"{job.messages[-1].content} {index}", index=index)


def test_an_engine_of_ones_own_is_one_method() -> None:
    with Mine() as engine:
        fits: Engine = engine
        assert [found.text for found in fits.sample(QUESTION, 2, PARAMS)] == ["2 + 2? 0", "2 + 2? 1"]
        assert [found.index for found in fits.sample(QUESTION, 2, PARAMS, indices=[4, 7])] == [4, 7]
        seen: list[Progress] = []
        jobs = [Job(QUESTION, PARAMS, [0, 1]), Job(QUESTION, PARAMS, [5])]
        found = [(job, found.index) for job, found in fits.sample_all(jobs, watch=seen.append)]
    assert found == [(0, 0), (0, 1), (1, 5)]
    assert [progress.n_tokens for progress in seen] == [1, 2, 3]


def test_an_engine_of_ones_own_solves_a_problem() -> None:
    class Four(BaseEngine):
        name, model = "four", "four"

        def sample_job(self, job: Job, *_: object) -> Iterator[Trajectory]:
            return (Trajectory("It is \\boxed{4}.", index=index) for index in job.indices)

    with Four() as engine:
        assert solve(engine, "2 + 2?", method="sc", budget=3).answer == "4"


def test_a_call_begins_when_the_one_before_has_ended() -> None:
    engine = Mine()
    first = engine.sample(QUESTION, 2, PARAMS)
    next(first)
    with pytest.raises(DistrivoteError, match="already sampling"):
        next(engine.sample(QUESTION, 1, PARAMS))
    with pytest.raises(DistrivoteError, match="already sampling"):
        engine.close()
    first.close()
    assert len(list(engine.sample(QUESTION, 1, PARAMS))) == 1


def test_calls_of_a_concurrent_engine_overlap() -> None:
    class Many(Mine):
        concurrent = True

    engine = Many()
    one, other = engine.sample(QUESTION, 2, PARAMS), engine.sample(QUESTION, 2, PARAMS)
    assert [next(one).index, next(other).index, next(one).index] == [0, 0, 1]


def test_after_with_nothing_begins() -> None:
    class Counted(Mine):
        n_released = 0

        def release(self) -> None:
            self.n_released += 1

    with Counted() as engine:
        pass
    engine.close()
    assert engine.n_released == 1
    with pytest.raises(DistrivoteError, match="the engine is closed: make a new one"):
        next(engine.sample(QUESTION, 1, PARAMS))
    with pytest.raises(DistrivoteError, match="the engine is closed: make a new one"):
        next(engine.sample_all([Job(QUESTION, PARAMS, [0])]))


def test_with_closes_the_engine_when_the_block_raises() -> None:
    engine = Mine()
    with pytest.raises(ZeroDivisionError), engine:
        raise ZeroDivisionError
    with pytest.raises(DistrivoteError, match="closed"):
        next(engine.sample(QUESTION, 1, PARAMS))


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
    vllm_config = SimpleNamespace(scheduler_config=SimpleNamespace(max_num_seqs=4))
    llm_engine = SimpleNamespace(model_config=config, engine_core=core, vllm_config=vllm_config)
    llm: Any = SimpleNamespace(llm_engine=llm_engine, get_tokenizer=lambda: tokenizer)
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
