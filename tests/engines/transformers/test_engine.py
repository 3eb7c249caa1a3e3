"""The transformers engine with a tiny model, and with the built-in one where its weights are at hand."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from distrivote.engines.base import Job, SamplingParams
from distrivote.engines.transformers.engine import TransformersEngine
from distrivote.errors import InputError, MissingPackageError
from distrivote.problem import Message, Problem
from distrivote.steering import BudgetForcing, SelfStepConf
from distrivote.trajectory import Trajectory
from engines.contract import EngineContract
from engines.inject_once import InjectOnce
from engines.tiny_model import tiny_model

pytestmark = pytest.mark.vllm

QUESTION = (Message("user", "What is 2 + 2?"),)
GREEDY = SamplingParams(temperature=0.0, max_tokens=16)
LONG = SamplingParams(temperature=1.0, top_p=1.0, max_tokens=200, seed=1)
SHORT = SamplingParams(temperature=1.0, max_tokens=12, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[TransformersEngine]:
    engine = TransformersEngine(str(folder), device="cpu", dtype="float32", batch_size=4)
    yield engine
    engine.close()


def sample(
    engine: TransformersEngine, n: int, params: SamplingParams, controller: object = None
) -> list[Trajectory]:
    found = list(engine.sample(QUESTION, n, params, controller))  # type: ignore[arg-type]
    return sorted(found, key=lambda trajectory: trajectory.index)


class TestContract(EngineContract):
    """The common suite. In 32 bits the last bits of the logits have not been seen to matter."""

    question = QUESTION
    ending = LONG
    close_to = 1e-3

    @pytest.fixture
    def short_lived(self, folder: Path) -> TransformersEngine:
        return TransformersEngine(str(folder), device="cpu", dtype="float32")


def test_log_probabilities_are_those_of_the_models_own_softmax(
    engine: TransformersEngine, folder: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    found = sample(engine, 1, SHORT)[0]
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    vocabulary = engine._transformer
    prompt = vocabulary.chat_prompt(QUESTION, None)
    with torch.no_grad():
        logits = model(torch.tensor([prompt])).logits[0, -1]
    expected = torch.log_softmax(logits.double(), -1).topk(20).values.numpy()
    np.testing.assert_allclose(found.top_logprobs[0], expected, atol=1e-4)
    entropy = torch.distributions.Categorical(logits=logits.double()).entropy().item()
    assert found.entropies is not None
    assert found.entropies[0] == pytest.approx(entropy, abs=1e-4)


def test_greedy_decoding_is_that_of_generate_alone(engine: TransformersEngine, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    vocabulary = engine._transformer
    prompt = vocabulary.chat_prompt(QUESTION, None)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = torch.tensor([prompt])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=16)
    tokens = [token for token in out[0, len(prompt) :].tolist() if token not in vocabulary.end_tokens]
    own = b"".join(vocabulary.pieces[token] for token in tokens).decode("utf-8", "replace")
    assert sample(engine, 1, GREEDY)[0].text == own


def test_what_a_checkpoint_recommends_does_not_change_the_logits(
    engine: TransformersEngine, folder: Path, tmp_path: Path
) -> None:
    from transformers import GenerationConfig

    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    GenerationConfig(repetition_penalty=3.0, eos_token_id=[7, 2], do_sample=True).save_pretrained(tmp_path)
    penalised = TransformersEngine(str(tmp_path), device="cpu", dtype="float32")
    assert penalised._transformer.end_tokens == {2, 7}
    expected = sample(engine, 2, SHORT)
    for one, other in zip(sample(penalised, 2, SHORT), expected, strict=True):
        assert other.text.startswith(one.text)  # token 7 may end it
        n = one.n_tokens
        np.testing.assert_allclose(one.top_logprobs, other.top_logprobs[:n], atol=1e-4)


def test_prompts_of_different_lengths_share_a_batch(engine: TransformersEngine) -> None:
    questions = [[Message("user", "So " * n + "what is it?")] for n in (1, 30, 7, 100)]
    alone = [next(iter(engine.sample(question, 1, SHORT))).tokens for question in questions]
    together = engine.sample_all([Job(question, SHORT, [0]) for question in questions])
    found = {number: trajectory.tokens for number, trajectory in together}
    assert [found[number] for number in range(4)] == alone


@pytest.mark.parametrize("take_back", [0, 1, 2, 3])
def test_tokens_may_be_taken_back(engine: TransformersEngine, take_back: int) -> None:
    plain = sample(engine, 6, SHORT)
    for trajectory, own in zip(sample(engine, 6, SHORT, InjectOnce(" wait", take_back)), plain, strict=True):
        kept = own.tokens[: 3 - take_back]
        assert trajectory.tokens[: len(kept)] == kept
        assert "".join(trajectory.tokens[len(kept) :]).lstrip("\ufffd").startswith(" wait")
        n = min(len(kept) + 1, own.n_tokens)  # what was said by itself may have ended there
        np.testing.assert_allclose(trajectory.top_logprobs[:n], own.top_logprobs[:n], atol=1e-3)


def test_budget_forcing_closes_the_thinking(engine: TransformersEngine) -> None:
    found = sample(engine, 1, replace(GREEDY, max_tokens=24), BudgetForcing(max_tokens=5))[0]
    assert "".join(found.tokens[5:]).lstrip("\ufffd").startswith("</think>")


def test_the_guard_asks_whether_there_is_an_answer(engine: TransformersEngine) -> None:
    controller = SelfStepConf(delta=0.0, guard=True, reflection=" wait", has_answer=lambda _: True)
    found = list(engine.sample(QUESTION, 4, LONG, controller))
    assert any(trajectory.finish_reason == "stop" for trajectory in found)
    assert not any(trajectory.interventions.insertions for trajectory in found if trajectory.interventions)


def test_thinking_is_the_templates_switch(engine: TransformersEngine) -> None:
    model = engine._transformer
    closed = b"".join(model.pieces[token] for token in model.chat_prompt(QUESTION, False))
    assert b"</think>" in closed
    assert model.chat_prompt(QUESTION, None) == model.chat_prompt(QUESTION, True)


def test_a_model_without_a_chat_template_reads_the_plain_text(
    engine: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = engine._transformer
    monkeypatch.setattr(model._tokenizer, "chat_template", None)
    prompt = b"".join(model.pieces[token] for token in model.chat_prompt(QUESTION, None))
    assert prompt == b"What is 2 + 2?\n\n"


def test_a_conversation_that_the_template_refuses_is_an_error(
    engine: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = "{{ raise_exception('System role not supported') }}"
    monkeypatch.setattr(engine._transformer._tokenizer, "chat_template", template)
    with pytest.raises(InputError, match=r"rejects the conversation \(System role not supported\)"):
        sample(engine, 1, SHORT)


def test_an_error_in_the_callers_watch_ends_the_call(engine: TransformersEngine) -> None:
    def watch(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(engine.sample(QUESTION, 2, SHORT, watch=watch))
    assert len(sample(engine, 1, SHORT)) == 1


def test_an_error_while_decoding_reaches_the_caller(engine: TransformersEngine) -> None:
    def answered(_: str) -> bool:
        raise ZeroDivisionError

    controller = SelfStepConf(delta=0.0, guard=True, has_answer=answered)
    with pytest.raises(ZeroDivisionError):
        list(engine.sample(QUESTION, 8, LONG, controller))
    assert len(sample(engine, 1, SHORT)) == 1


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    with pytest.raises(InputError, match=r"can't load .*: give a folder") as caught:
        TransformersEngine(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_damaged_model_is_an_error(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"not a model")
    with pytest.raises(InputError, match="can't load"):
        TransformersEngine(str(tmp_path))


@pytest.mark.parametrize("model", ["/nowhere/at/all", "./nowhere", "nowhere", "a/b/c"])
def test_a_path_that_is_not_there_is_an_error(model: str) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    with pytest.raises(InputError, match="is not a folder"):
        TransformersEngine(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "give 1 or more"),
        ({"dtype": "float31"}, "did you mean float32"),
        ({"device": "toaster"}, "can't use the device 'toaster'"),
        ({"device": "cuda:99"}, "can't use the device 'cuda:99'"),
    ],
)
def test_options_that_can_not_be_are_errors(
    folder: Path, options: dict[str, int | str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        TransformersEngine(str(folder), **options)  # type: ignore[arg-type]


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingPackageError, match=r"'\.\[transformers\]'"):
        TransformersEngine("some/model")


@pytest.mark.skipif("DISTRIVOTE_SMOLLM2" not in os.environ, reason="DISTRIVOTE_SMOLLM2 names no folder")
def test_a_real_model_finds_the_sum() -> None:
    engine = TransformersEngine(os.environ["DISTRIVOTE_SMOLLM2"], device="cpu")
    problem = Problem("Tom has 5 apples and buys 7 more. How many has he?", template="worked")
    params = replace(GREEDY, max_tokens=48)
    found = next(engine.sample(problem.messages(), 1, params))
    engine.close()
    assert found.text.startswith("Tom has 5 apples")
    assert found.finish_reason == "stop"
