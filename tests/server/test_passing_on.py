"""What is voted on, what goes to the upstream once and unchanged, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2 as httpx
import openai
import pytest

from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from serving import POOL, serving

ASKED: list[Any] = [{"role": "user", "content": "What is the weather in Paris?"}]
CALL = {"name": "weather", "arguments": '{"city": "Paris"}'}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


class Upstream(ThreadingHTTPServer):
    """A hosted API without log-probabilities: it answers by what is asked, and keeps every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def asked(self, path: str) -> list[dict[str, Any]]:
        return [body for where, body in self.requests if where == path]


class _Handler(BaseHTTPRequestHandler):
    server: Upstream

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "hosted"}, {"id": "other"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((self.path, body))
        if self.path == "/v1/embeddings":
            self._send({"object": "list", "data": [{"embedding": [0.5], "index": 0}]})
        elif self.path != "/v1/chat/completions":
            self._send({"error": {"message": "no such address"}}, 404)
        elif body.get("logprobs"):
            self._send({"error": {"message": "logprobs are not supported", "param": "logprobs"}}, 400)
        elif body.get("stream"):
            self._stream(_message(body))
        else:
            n = body.get("n") or 1
            made = [{"index": i, "message": _message(body), "finish_reason": "stop"} for i in range(n)]
            self._send({"object": "chat.completion", "choices": made, "usage": {"completion_tokens": 3}})

    def _send(self, document: Any, status: int = 200) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        calls = message.pop("tool_calls", None)
        deltas = [message | ({"tool_calls": [{"index": 0, **calls[0]}]} if calls else {}), {}]
        for delta, reason in zip(deltas, (None, "tool_calls" if calls else "stop"), strict=True):
            chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


def _message(body: dict[str, Any]) -> dict[str, Any]:
    if body.get("tools"):
        call = {"id": "x", "type": "function", "function": CALL}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if body.get("response_format"):
        return {"role": "assistant", "content": '{"city": "Paris"}'}
    return {"role": "assistant", "content": "It is sunny in Paris."}


@contextmanager
def gateway(**settings: Any) -> Iterator[tuple[str, Upstream]]:
    upstream = Upstream()
    thread = Thread(target=upstream.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        with (
            OpenAIEngine(upstream.url, "hosted") as engine,
            serving(engine, Settings(budget=3, **settings)) as url,
        ):
            upstream.requests.clear()
            yield url, upstream
    finally:
        upstream.shutdown()
        upstream.server_close()


def post(url: str, path: str = "/v1/chat/completions", **body: Any) -> httpx.Response:
    return httpx.post(f"{url}{path}", json={"model": "hosted", "messages": ASKED} | body, timeout=60)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"n": 2}, "n is 2"),
        ({"logprobs": False, "top_logprobs": 3}, "logprobs"),
        ({"temperature": 0}, "temperature is 0"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "image_url",
        ),
    ],
)
def test_what_no_vote_fits_goes_on_once_and_says_so(more: dict[str, Any], why: str) -> None:
    with gateway() as (url, upstream):
        reply = post(url, **more)
        sent = upstream.asked("/v1/chat/completions")
    assert reply.status_code == 200, reply.text
    assert reply.json()["distrivote"]["voted"] is False
    assert why in reply.json()["distrivote"]["why"]
    assert sent == [{"model": "hosted", "messages": ASKED} | more]


def test_a_strict_server_refuses_it_in_a_sentence() -> None:
    with gateway(strict=True) as (url, upstream):
        reply = post(url, n=2)
        assert not upstream.asked("/v1/chat/completions")
    assert reply.status_code == 400
    assert reply.json()["error"]["message"].startswith("n is 2, and a vote gives one answer")


def test_the_name_of_a_vote_is_taken_off_before_it_goes_on() -> None:
    with gateway() as (url, upstream):
        reply = post(url, model="sc@2/hosted", n=2, distrivote={"return_trajectories": True})
        (sent,) = upstream.asked("/v1/chat/completions")
    assert reply.status_code == 200
    assert sent == {"model": "hosted", "messages": ASKED, "n": 2}


def test_a_stream_goes_on_byte_by_byte() -> None:
    with gateway() as (url, _):
        reply = post(url, stream=True, temperature=0)
    assert reply.headers["x-distrivote"].startswith("voted=false; why=temperature is 0")
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.text.endswith("data: [DONE]\n\n")
    assert "It is sunny in Paris." in reply.text


def test_addresses_without_a_vote_go_on_and_no_others() -> None:
    with gateway() as (url, upstream):
        found = post(url, "/v1/embeddings", input="x").json()
        assert found["data"][0]["embedding"] == [0.5]
        assert found["distrivote"]["voted"] is False
        for path in ("/v1/files", "/v1/fine_tuning/jobs", "/v1/assistants", "/v1/score"):
            assert post(url, path).status_code == 404
        assert not upstream.asked("/v1/files")
    with gateway(forward=("/v1/score",)) as (url, upstream):
        post(url, "/v1/score")
        assert len(upstream.asked("/v1/score")) == 1


def test_an_engine_in_this_process_has_nobody_to_pass_it_on_to() -> None:
    with serving(ReplayEngine(POOL)) as url:
        assert post(url, "/v1/embeddings", input="x").status_code == 404
        reply = post(url, model="replay", n=2)
    assert reply.status_code == 400
    assert "n is 2" in reply.json()["error"]["message"]


def test_fields_that_only_the_upstream_knows_go_with_every_trajectory() -> None:
    fields = {
        "reasoning_effort": "low",
        "chat_template_kwargs": {"a": 1},
        "presence_penalty": 0.5,
        "verbosity": "low",
    }
    with gateway() as (url, upstream):
        reply = post(url, **fields, distrivote={"budget": 2})
        asked = [body for body in upstream.asked("/v1/chat/completions") if body["messages"] == ASKED]
    assert reply.status_code == 200, reply.text
    assert len(asked) == 2
    for body in asked:
        assert fields.items() <= body.items()


def test_tool_calls_are_voted_on_and_come_back_as_calls() -> None:
    with (
        gateway() as (url, upstream),
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        reply = client.chat.completions.create(model="hosted", messages=ASKED, tools=TOOLS)
        chunks = list(
            client.chat.completions.create(model="hosted", messages=ASKED, tools=TOOLS, stream=True)
        )
        assert all(
            body["tools"] == TOOLS for body in upstream.asked("/v1/chat/completions") if "tools" in body
        )
    (call,) = reply.choices[0].message.tool_calls or ()
    called: Any = call.function  # type: ignore[union-attr]
    assert (called.name, json.loads(called.arguments)) == ("weather", {"city": "Paris"})
    assert reply.choices[0].finish_reason == "tool_calls"
    vote: Any = reply.model_extra["distrivote"]  # type: ignore[index]
    assert (vote["answer_kind"], vote["n_cast"]) == ("tool", 3)
    calls = [each for chunk in chunks if chunk.choices for each in chunk.choices[0].delta.tool_calls or ()]
    assert [each.function.name for each in calls if each.function] == ["weather"]


def test_every_model_of_the_upstream_is_listed_and_served() -> None:
    with gateway() as (url, upstream):
        listed = [each["id"] for each in httpx.get(f"{url}/v1/models").json()["data"]]
        assert {"hosted", "auto@16/hosted", "other", "auto@16/other"} <= set(listed)
        assert listed[0] == "hosted"
        for name in ("other", "sc@2/other", "auto@16/other"):
            assert httpx.get(f"{url}/v1/models/{name}").json()["id"] == name
        plain = post(url, model="other")
        assert upstream.asked("/v1/chat/completions") == [{"model": "other", "messages": ASKED}]
        assert plain.json()["distrivote"]["voted"] is False
        assert "model is 'other'" in plain.json()["distrivote"]["why"]
        for more in (
            {"model": "sc@2/other"},
            {"model": "other", "distrivote": {"budget": 2, "method": "sc"}},
        ):
            upstream.requests.clear()
            voted = post(url, **more).json()
            asked = [body for body in upstream.asked("/v1/chat/completions") if body["messages"] == ASKED]
            assert [body["model"] for body in asked] == ["other", "other"]
            assert (voted["model"], voted["distrivote"]["n_trajectories"]) == (more["model"], 2)
        for name in ("nobody", "sc@2/nobody"):
            missing = post(url, model=name)
            assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")


def test_a_strict_server_votes_for_other_models_and_forwards_none() -> None:
    with gateway(strict=True) as (url, _):
        assert "model is 'other'" in post(url, model="other").json()["error"]["message"]
        assert post(url, model="sc@2/other").json()["distrivote"]["n_trajectories"] == 2


def test_json_is_voted_on_as_json() -> None:
    with gateway() as (url, upstream):
        reply = post(url, response_format={"type": "json_object"}).json()
        asked = upstream.asked("/v1/chat/completions")
    assert json.loads(reply["choices"][0]["message"]["content"]) == {"city": "Paris"}
    assert reply["distrivote"]["answer_kind"] == "json"
    assert any(body.get("response_format") == {"type": "json_object"} for body in asked)


def test_what_a_tool_returned_is_taken_and_goes_on_as_it_came() -> None:
    call = {"id": "x", "type": "function", "function": CALL}
    turns = [
        *ASKED,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": "sunny"},
    ]
    with gateway() as (url, upstream):
        reply = post(url, messages=turns)
        asked = upstream.asked("/v1/chat/completions")
    assert reply.status_code == 200, reply.text
    assert any(body["messages"] == turns for body in asked)
