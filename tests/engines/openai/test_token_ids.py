"""Tokens by their ids."""

from __future__ import annotations

import pytest

from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.token_ids import ids_of, with_texts
from distrivote.problem import Message
from engines.scripted_server import ScriptedServer, Token, ToyServer, typed

QUESTION = (Message("user", "What is 2 + 2?"),)


@pytest.mark.parametrize(
    ("choice", "ids"),
    [
        ({"logprobs": {"tokens": ["token_id:5", "token_id:17"]}}, [5, 17]),
        ({"logprobs": {"tokens": ["It", "token_id:17"]}}, []),
        ({"logprobs": {"tokens": None}}, []),
        ({"logprobs": {"content": []}}, []),
        ({"logprobs": None}, []),
        ({}, []),
    ],
)
def test_ids_are_read_where_all_tokens_have_them(choice: dict[str, object], ids: list[int]) -> None:
    assert ids_of(typed(choice)) == ids


def test_texts_take_the_place_of_ids() -> None:
    choice = typed({"text": "It", "logprobs": {"tokens": ["token_id:5"], "token_logprobs": [-0.1]}})
    found = with_texts(choice, ["It"])
    assert found == typed({"text": "It", "logprobs": {"tokens": ["It"], "token_logprobs": [-0.1]}})
    assert choice.logprobs is not None
    assert choice.logprobs.tokens == ["token_id:5"]


@pytest.mark.parametrize(("size", "n_learnt"), [(1, 0), (3, 3)])
def test_tokens_that_come_together_are_asked_for_once_each(size: int, n_learnt: int) -> None:
    tokens = [Token("It"), Token(" is"), Token(" 4"), Token(" is"), Token(" It"), Token("It")]
    toy = ToyServer(lambda _: tokens[:6], tokenizes=True, tokens_per_chunk=size)
    with ScriptedServer(toy) as server:
        engine = OpenAIEngine(server.url, endpoint="completions", n_parallel=1)
        found = list(engine.sample(QUESTION, 3, SamplingParams(max_tokens=9)))
        engine.close()
        assert all(body["return_tokens_as_token_ids"] for body in server.sampled())
        # " It" and the last token are learnt with the first three.
        assert len(server.asked("/detokenize")) == (n_learnt and n_learnt + 1)
    assert {trajectory.tokens for trajectory in found} == {tuple(token.text for token in tokens)}
