"""Embeddings of a server: one vector for each text, or a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.errors import EngineError
from engines.scripted_server import Reply, Request, ScriptedServer


def test_texts_go_to_the_embeddings_of_the_server_and_keep_their_order() -> None:
    def answer(request: Request) -> Reply:
        rows = [{"index": at, "embedding": [at, 1]} for at in range(len(request.body["input"]))]
        return Reply(body={"data": rows[::-1]})

    with ScriptedServer(answer) as server, OpenAIEngine(server.url, "toy") as engine:
        assert engine.embed(["a", "b"]) == [[0.0, 1.0], [1.0, 1.0]]
        engine.embed(["a"], "small")
        assert server.asked("/v1/embeddings") == [
            {"model": "toy", "input": ["a", "b"]},
            {"model": "small", "input": ["a"]},
        ]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body={"data": [{"index": 0, "embedding": [1]}]}),
        Reply(body={"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}),
        Reply(body={"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}),
        Reply(body={"data": "none"}),
        Reply(body=[]),
        Reply(status=404, body={"error": {"message": "no such path"}}),
    ],
)
def test_anything_else_is_one_sentence(reply: Any) -> None:
    with ScriptedServer(lambda _: reply) as server, OpenAIEngine(server.url, "toy") as engine:
        with pytest.raises(EngineError) as caught:
            engine.embed(["a", "b"])
        assert "\n" not in str(caught.value)
