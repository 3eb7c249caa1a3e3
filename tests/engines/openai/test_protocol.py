"""Requests, without a server."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.protocol import (
    DISPENSABLE,
    UNUSUAL,
    Dialect,
    Prompt,
    request_body,
    seed_of,
)
from distrivote.problem import Message

CHAT = Prompt((Message("user", "Hi"),))


@given(st.integers(0, 2**48), st.integers(0, 10**6))
def test_a_seed_has_31_bits_and_belongs_to_its_trajectory(seed: int, index: int) -> None:
    assert 0 <= seed_of(seed, index) < 2**31
    assert seed_of(seed, index) != seed_of(seed, index + 1)
    assert seed_of(seed, index) != seed_of(seed, index, 1)


def test_seeds_never_change() -> None:
    # Runs that were stopped go on with them.
    assert (seed_of(0, 0), seed_of(7, 3), seed_of(7, 3, 1)) == (238123171, 1585562903, 1105379433)


def test_a_chat_asks_for_log_probabilities_and_says_what_is_off() -> None:
    body = request_body("m", CHAT, SamplingParams(), Dialect(20), seed=5)
    quiet = request_body("m", CHAT, SamplingParams(), Dialect(20, left_out=UNUSUAL), seed=5)
    assert body == quiet | {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}


def test_a_server_that_does_not_take_it_hears_nothing_that_is_off() -> None:
    body = request_body("m", CHAT, SamplingParams(), Dialect(20, left_out=UNUSUAL), seed=5)
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "temperature": 0.6,
        "top_p": 0.95,
        "seed": 5,
        "max_tokens": 1024,
        "stream": True,
        "logprobs": True,
        "top_logprobs": 20,
    }


def test_what_is_switched_on_is_sent() -> None:
    params = SamplingParams(top_k=40, min_p=0.1, stop=("END",), thinking=False)
    dialect = Dialect(0, "max_completion_tokens")
    body = request_body("m", CHAT, params, dialect, seed=5, n=3, xargs={"ssc": 1})
    assert "logprobs" not in body
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 1024
    wanted = {"top_k": 40, "min_p": 0.1, "stop": ["END"], "n": 3, "vllm_xargs": {"ssc": 1}}
    assert {name: body[name] for name in wanted} == wanted
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_what_was_asked_for_is_sent_to_a_server_that_refused_it_where_it_is_off() -> None:
    quiet = Dialect(20, left_out=DISPENSABLE)
    plain = SamplingParams(temperature=1.0, top_p=1.0)
    assert not DISPENSABLE & request_body("m", CHAT, plain, quiet, seed=5).keys()
    asked = SamplingParams(temperature=0.6, top_p=0.95, top_k=40, min_p=0.1)
    sent = request_body("m", CHAT, asked, quiet, seed=5)
    assert {name: sent[name] for name in DISPENSABLE & sent.keys()} == {
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 40,
        "min_p": 0.1,
    }


def test_tokens_are_named_by_ids_unless_that_is_refused() -> None:
    prompt = Prompt(text="Once")
    quiet = Dialect(20, left_out=frozenset({"return_tokens_as_token_ids"}))
    assert request_body("m", prompt, SamplingParams(), Dialect(20), seed=5)["return_tokens_as_token_ids"]
    assert "return_tokens_as_token_ids" not in request_body("m", prompt, SamplingParams(), quiet, seed=5)


def test_completions_take_a_text() -> None:
    prompt = Prompt(text="Once", extra={"add_special_tokens": False})
    body = request_body("m", prompt, SamplingParams(thinking=True), Dialect(5), seed=5)
    assert (body["prompt"], body["logprobs"], body["add_special_tokens"]) == ("Once", 5, False)
    assert "messages" not in body
    assert "chat_template_kwargs" not in body
