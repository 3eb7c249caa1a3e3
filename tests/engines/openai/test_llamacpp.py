"""The OpenAI engine against a real server: llama.cpp's own, with the built-in model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

import httpx2 as httpx
import pytest

from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.errors import EngineError
from distrivote.problem import Problem
from distrivote.splitting import WindowSplitter
from distrivote.steering import BudgetForcing, SelfStepConf
from engines.contract import EngineContract
from engines.llamacpp_server import llamacpp_server, n_busy

pytestmark = pytest.mark.model

QUESTION = Problem("Tom has 5 apples and buys 7 more. How many has he?", template="worked").messages()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with llamacpp_server() as url:
        yield url


@pytest.fixture(scope="module")
def engine(server: str) -> Iterator[OpenAIEngine]:
    engine = OpenAIEngine(server, n_parallel=4)
    yield engine
    engine.close()


class TestContract(EngineContract):
    question = QUESTION
    deterministic = False
    reproduces_alone = False  # four slots share a batch, and its size tips close choices
    can_inject_exactly = False

    @pytest.fixture
    def short_lived(self, server: str) -> OpenAIEngine:
        return OpenAIEngine(server)


def test_its_only_model_is_found(engine: OpenAIEngine) -> None:
    assert engine.model.endswith(".gguf")


def test_a_reflection_is_continued_from_the_prefix(engine: OpenAIEngine, server: str) -> None:
    controller = SelfStepConf(delta=10.0, reflection="Wait, 5 + 7 is", split=WindowSplitter(4))
    params = SamplingParams(temperature=0.0, max_tokens=24)
    found = next(iter(list(engine.sample(QUESTION, 1, params, controller))))
    record = found.interventions
    assert record is not None
    assert record.n_reflections
    start = record.insertions[0].start
    assert found.tokens[start] == controller.reflection
    whole = "".join(found.tokens[: start + 1])
    # What followed is what the model says behind that very text.
    prompt = httpx.post(f"{server}/apply-template", json={"messages": [m._asdict() for m in QUESTION]}).json()
    body = {"prompt": prompt["prompt"] + whole, "max_tokens": 1, "temperature": 0.0}
    said = httpx.post(f"{server}/v1/completions", json=body, timeout=60).json()["choices"][0]["text"]
    assert found.tokens[start + 1] == said


def test_another_controller_works_by_continuation_too(engine: OpenAIEngine) -> None:
    controller = BudgetForcing(min_tokens=12, text=" Hold on", end_of_thinking=".")
    params = SamplingParams(temperature=0.0, max_tokens=32)
    found = next(iter(list(engine.sample(QUESTION, 1, params, controller))))
    assert found.interventions is not None
    assert found.interventions.n_reflections == 1
    assert " Hold on" in found.tokens


def test_completions_continue_as_well(server: str) -> None:
    engine = OpenAIEngine(server, endpoint="completions", n_parallel=4)
    controller = SelfStepConf(delta=10.0, split=WindowSplitter(3))
    try:
        found = list(engine.sample(QUESTION, 2, SamplingParams(max_tokens=12), controller))
    finally:
        engine.close()
    assert all(trajectory.interventions is not None for trajectory in found)
    assert any("wait" in trajectory.tokens for trajectory in found)


def test_several_replies_come_from_one_request(server: str) -> None:
    engine = OpenAIEngine(server, n_per_request=3, n_parallel=4)
    try:
        found = list(engine.sample(QUESTION, 5, SamplingParams(max_tokens=6)))
    finally:
        engine.close()
    assert sorted(trajectory.index for trajectory in found) == [0, 1, 2, 3, 4]
    assert all(trajectory.top_logprobs.shape[1] in (20, 21) for trajectory in found)


def test_a_cancelled_call_stops_the_server(engine: OpenAIEngine, server: str) -> None:
    params = SamplingParams(max_tokens=1500, temperature=1.5)
    jobs = engine.sample(QUESTION, 4, params, watch=lambda progress: _stop_after(progress.n_tokens, 20))
    begun = time.monotonic()
    with contextlib.suppress(_Stop):
        list(jobs)
    assert time.monotonic() - begun < 60
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and n_busy(server):
        time.sleep(0.1)
    assert n_busy(server) == 0


class _Stop(Exception):
    pass


def _stop_after(n_tokens: int, limit: int) -> None:
    if n_tokens >= limit:
        raise _Stop


def test_a_prompt_that_is_too_long_names_the_context(engine: OpenAIEngine) -> None:
    messages = Problem("apple " * 5000).messages()
    with pytest.raises(EngineError, match="`max_tokens`"):
        list(engine.sample(messages, 1, replace(SamplingParams(), max_tokens=8)))
