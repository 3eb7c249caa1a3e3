"""The embedded engine with its real model."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from distrivote.engines.base import Job, Progress, SamplingParams
from distrivote.engines.llamacpp.engine import LlamaCppEngine
from distrivote.engines.llamacpp.library import ContextParams, LibraryMismatchError, _check, load_library
from distrivote.engines.llamacpp.model import LlamaContext
from distrivote.engines.tokens.sampling import TokenSampler
from distrivote.errors import InputError
from distrivote.problem import Message, Problem
from distrivote.splitting import WindowSplitter
from distrivote.steering import BudgetForcing, Controller, SelfStepConf
from distrivote.trajectory import Trajectory
from engines.contract import EngineContract
from engines.inject_once import InjectOnce

pytestmark = pytest.mark.model

QUESTION = Problem("Tom has 5 apples and buys 7 more. How many has he?", template="worked").messages()
GREEDY = SamplingParams(temperature=0.0, max_tokens=40)
SHORT = SamplingParams(max_tokens=24, seed=3)


def sample(
    engine: LlamaCppEngine, n: int, params: SamplingParams, controller: Controller | None = None
) -> list[Trajectory]:
    found = list(engine.sample(QUESTION, n, params, controller))
    return sorted(found, key=lambda trajectory: trajectory.index)


def texts(trajectories: Sequence[Trajectory]) -> list[str]:
    return [trajectory.text for trajectory in trajectories]


class TestContract(EngineContract):
    """The common suite. Alone and in a batch the last bits of the logits differ."""

    question = (Message("user", "What is 2 + 2?"),)
    deterministic = False
    ending = SamplingParams(max_tokens=40, seed=1)
    close_to = 0.1

    @pytest.fixture
    def short_lived(self) -> LlamaCppEngine:
        return LlamaCppEngine(n_slots=1)


@pytest.fixture(scope="module")
def plain(engine: LlamaCppEngine) -> Trajectory:
    """What the model says by itself."""
    return sample(engine, 1, GREEDY)[0]


def test_greedy_decoding_is_that_of_llama_cpps_own_sampler(engine: LlamaCppEngine) -> None:
    library, model = engine._llama.library, engine._llama
    core = ctypes.CDLL(str(next(Path(_package_folder()).glob("xllamacpp*.so"))))
    core.llama_sampler_init_greedy.restype = ctypes.c_void_p
    core.llama_sampler_sample.restype = ctypes.c_int32
    core.llama_sampler_sample.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32]
    greedy = core.llama_sampler_init_greedy()
    context = LlamaContext(model, 1, 512, 1)
    prompt = model.tokenize(model.chat_prompt(QUESTION), special=True)
    context.prefill(prompt, 0)
    tokens: list[int] = []
    while len(tokens) < 64:
        token = int(core.llama_sampler_sample(greedy, context.handle, -1))
        if token in model.end_tokens:
            break
        tokens.append(token)
        context.decode([token], [len(prompt) + len(tokens) - 1], [0])
    context.close()
    own = b"".join(model.pieces[token] for token in tokens).decode()
    assert library is load_library()
    assert sample(engine, 1, replace(GREEDY, max_tokens=64))[0].text == own


def _package_folder() -> str:
    import importlib.util

    spec = importlib.util.find_spec("xllamacpp")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return next(iter(spec.submodule_search_locations))


def test_log_probabilities_are_those_of_a_full_softmax(engine: LlamaCppEngine) -> None:
    model = engine._llama
    context = LlamaContext(model, 1, 512, 1)
    logits = context.prefill(model.tokenize(model.chat_prompt(QUESTION), special=True), 0)
    context.close()
    exact = logits.astype(np.float64)
    exact = exact - exact.max() - np.log(np.exp(exact - exact.max()).sum())
    position = TokenSampler(model.n_vocab, SHORT).read(logits)
    read = position.top_logits[:20] - position.log_total
    np.testing.assert_allclose(read, np.sort(exact)[::-1][:20], atol=1e-4)
    assert position.entropy == pytest.approx(-(np.exp(exact) * exact).sum(), abs=1e-4)
    assert position.self_certainty == pytest.approx(-exact.mean() - np.log(model.n_vocab), abs=1e-4)


def test_what_prompts_share_is_decoded_once_and_changes_no_sample(
    engine: LlamaCppEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_decoded = []
    decode = LlamaContext.decode

    def counted(self: LlamaContext, tokens: Sequence[int], *rest: object) -> object:
        n_decoded.append(len(tokens))
        return decode(self, tokens, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(LlamaContext, "decode", counted)

    def asked(apart: bool) -> tuple[list[Trajectory], int]:
        found: list[Trajectory] = []
        n_decoded.clear()
        for name in ("Ann", "Ben", "Eve"):
            if apart and engine._context is not None:
                engine._context.clear(0)
            question = Problem(f"{name} has 9 pens and loses 4. How many are left?", template="worked")
            found += engine.sample(question.messages(), 2, replace(SHORT, max_tokens=8))
        return found, sum(n for n in n_decoded if n > 2)

    sample(engine, 2, replace(SHORT, max_tokens=8))  # makes the context
    before, n_before = asked(apart=True)
    after, n_after = asked(apart=False)
    assert [each.tokens for each in after] == [each.tokens for each in before]
    for one, other in zip(after, before, strict=True):
        assert np.array_equal(one.top_logprobs, other.top_logprobs)
    assert n_after <= 3 * 64 < n_before


def test_a_trajectory_is_the_same_in_a_batch_and_alone(engine: LlamaCppEngine) -> None:
    together = sample(engine, 8, SHORT)
    alone = [next(iter(engine.sample(QUESTION, 1, SHORT, indices=[i]))) for i in range(8)]
    same = 0
    for one, other in zip(together, alone, strict=True):
        n = sum(1 for _ in _while_equal(one.tokens, other.tokens))
        same += n == one.n_tokens == other.n_tokens
        # Only the last bits of the logits depend on the batch.
        np.testing.assert_allclose(one.top_logprobs[:n, 0], other.top_logprobs[:n, 0], atol=0.1)
    assert same >= 6


def _while_equal(one: Sequence[str], other: Sequence[str]) -> list[str]:
    n = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return list(one[:n])


def test_forty_trajectories_run_in_eight_slots(engine: LlamaCppEngine) -> None:
    seen: list[Progress] = []
    params = replace(SHORT, max_tokens=6)
    found = list(engine.sample(QUESTION, 40, params, watch=seen.append))
    assert sorted(trajectory.index for trajectory in found) == list(range(40))
    assert max(progress.n_live for progress in seen) == 8
    assert seen[-1].n_tokens == sum(trajectory.n_tokens for trajectory in found)


def test_a_cancelled_call_frees_its_slots(engine: LlamaCppEngine) -> None:
    before = texts(sample(engine, 4, SHORT))
    under_way = engine.sample(QUESTION, 40, SHORT)
    next(under_way)
    under_way.close()  # type: ignore[attr-defined]
    assert texts(sample(engine, 4, SHORT)) == before


@pytest.mark.parametrize("text", ["wait", " wait, let me check", "\n\nWait. 🤔 Hmm"])
@pytest.mark.parametrize("take_back", [0, 1, 2, 3])
def test_exactly_the_injected_text_comes_next(
    engine: LlamaCppEngine, plain: Trajectory, text: str, take_back: int
) -> None:
    nudged = sample(engine, 1, replace(GREEDY, max_tokens=16), InjectOnce(text, take_back))[0]
    assert nudged.text.startswith("".join(plain.tokens[: 3 - take_back]) + text)


def test_the_guard_turns_an_end_without_an_answer_down(engine: LlamaCppEngine, plain: Trajectory) -> None:
    controller = SelfStepConf(delta=0.0, guard=True, reflection=" wait", has_answer=lambda _: False)
    found = list(engine.sample(QUESTION, 1, GREEDY, controller))
    assert plain.finish_reason == "stop"
    assert found[0].text.startswith(plain.text + " wait")


def test_budget_forcing_closes_the_thinking(engine: LlamaCppEngine) -> None:
    found = sample(engine, 1, replace(GREEDY, max_tokens=12), BudgetForcing(max_tokens=5))[0]
    assert "".join(found.tokens[5:]).startswith("</think>")


def test_a_prompt_longer_than_the_context_is_an_error(engine: LlamaCppEngine) -> None:
    with pytest.raises(InputError, match=r"tokens.*shorten"):
        list(engine.sample([Message("user", "apple " * 20_000)], 1, SHORT))


def test_it_does_not_keep_the_questions_behind_it_from_being_sampled(engine: LlamaCppEngine) -> None:
    long = [Message("user", "apple " * 20_000)]
    jobs = [Job(messages, replace(SHORT, max_tokens=2), [0]) for messages in (QUESTION, long, QUESTION)]
    samples = engine.sample_all(jobs)
    assert [next(samples).job, next(samples).job] == [0, 2]
    with pytest.raises(InputError, match="1 of 3 questions was not sampled: the prompt 'apple apple"):
        next(samples)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no model file"), (b"not a model", "not a GGUF"), (b"GGUF\x03\x00\x00\x00", "can't load")],
)
def test_a_file_that_is_no_model_is_an_error(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        LlamaCppEngine(str(path))


@pytest.mark.parametrize("options", [{"n_slots": 0}, {"n_threads": 0}])
def test_numbers_out_of_range_are_errors(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="give 1 or more"):
        LlamaCppEngine(**options)  # type: ignore[arg-type]


def test_a_changed_struct_layout_is_an_error_and_no_crash() -> None:
    params = ContextParams(n_ctx=7)
    with pytest.raises(LibraryMismatchError, match="n_ctx is 7"):
        _check(params, {"n_ctx": 512}, "some library")


def test_a_system_message_is_a_turn_of_the_models_own_template(engine: LlamaCppEngine) -> None:
    turns = Problem("Why?", template="plain", system="Be brief.").messages()
    assert engine._llama.chat_prompt(turns) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_as_published_a_greedy_trajectory_has_the_reflection_where_the_record_says(
    engine: LlamaCppEngine,
) -> None:
    controller = SelfStepConf(delta=100.0, split=WindowSplitter(4), released=True)
    found = sample(engine, 1, GREEDY, controller)[0]
    record = found.interventions
    assert record is not None
    assert record.n_reflections > 0
    for insertion in record.insertions:
        assert insertion.n_tokens == 1
        assert found.tokens[insertion.start] == "wait"
        assert insertion.start in record.step_ends
