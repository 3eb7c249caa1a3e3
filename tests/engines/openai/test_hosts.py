"""Hosts that differ from OpenAI's own API in what they take and where they put things, scripted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distrivote.cli.main import main
from distrivote.engines.base import SamplingParams
from distrivote.engines.choice import EngineChoice
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.errors import EngineError, InputError
from distrivote.problem import Message
from distrivote.store.runs.manifest import Manifest
from distrivote.trajectory import Trajectory
from engines.scripted_server import (
    Reply,
    Request,
    ScriptedServer,
    Token,
    ToyServer,
    WholeOnly,
    chat_entry,
    completion_logprobs,
    refusal,
)

QUESTION = (Message("user", "What is 2 + 2?"),)
PARAMS = SamplingParams(max_tokens=50)
THOUGHT = [Token("Two", 9.0), Token(" and", 8.0), Token(" two", 7.0)]
SAID = [Token("It is ", 12.0), Token("\\boxed{4}.", 14.0)]


def says(_prefix: str) -> list[Token]:
    return SAID


def sampled(engine: OpenAIEngine, n: int = 2) -> list[Trajectory]:
    return sorted(engine.sample(QUESTION, n, PARAMS), key=lambda trajectory: trajectory.index)


def asked(server: ScriptedServer) -> list[dict[str, Any]]:
    return [request.body for request in server.requests if request.method == "POST"]


def thinking_reply(body: Mapping[str, Any], entry: Any) -> Reply:
    """Return thinking and an answer, whole or streamed; `entry` puts the log-probabilities of a part."""
    k = body.get("top_logprobs", 0)
    parts = [("reasoning", token) for token in THOUGHT] + [("content", token) for token in SAID]
    parts = parts[: body["max_tokens"]]
    if not body.get("stream"):
        message = {"reasoning": "", "content": ""}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
        for part, token in parts:
            message[part] += token.text
            entry(choice, part, chat_entry(token, k))
        return Reply(body={"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 5}})
    events = []
    for part, token in parts:
        choice = {"index": 0, "delta": {part: token.text}, "finish_reason": None}
        entry(choice, part, chat_entry(token, k))
        events.append({"choices": [choice]})
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return Reply(events=[*events, {"choices": [end]}])


def apart(choice: dict[str, Any], part: str, entry: Any) -> None:
    """Put log-probabilities as Cerebras does."""
    place = "logprobs" if part == "content" else "reasoning_logprobs"
    choice.setdefault(place, {"content": []})["content"].append(entry)


def within(choice: dict[str, Any], part: str, entry: Any) -> None:
    """Put log-probabilities as DeepSeek does."""
    logprobs = choice.setdefault("logprobs", {"content": None, "reasoning_content": None})
    place = "content" if part == "content" else "reasoning_content"
    logprobs[place] = [*(logprobs[place] or ()), entry]


@pytest.mark.parametrize("entry", [apart, within], ids=["cerebras", "deepseek"])
def test_the_log_probabilities_of_thinking_are_read_where_they_are(entry: Any) -> None:
    def answer(request: Request) -> Reply:
        return thinking_reply(request.body, entry)

    with ScriptedServer(answer) as server, OpenAIEngine(server.url, "toy") as engine:
        found = sampled(engine)
        assert engine.notes == []
    for trajectory in found:
        assert trajectory.text == "Two and two\n</think>\n\nIt is \\boxed{4}."
        assert trajectory.top_logprobs.shape == (5, 20)
        confidences = -np.mean(trajectory.top_logprobs, axis=1)
        assert confidences.tolist() == pytest.approx([token.confidence for token in (*THOUGHT, *SAID)])
        assert trajectory.flaw is None


def test_deepseek_takes_an_object_for_thinking() -> None:
    def answer(request: Request) -> Reply:
        body = request.body
        if "chat_template_kwargs" in body or not isinstance(body.get("thinking"), dict):
            return refusal(400, "Invalid parameter: thinking is missing")
        return ToyServer(says)(request)

    extra = {"thinking": {"type": "disabled"}}
    with ScriptedServer(answer) as server, OpenAIEngine(server.url, "toy", extra_body=extra) as engine:
        assert [t.text for t in sampled(engine)] == ["It is \\boxed{4}."] * 2
        assert {json.dumps(body["thinking"]) for body in asked(server)} == {'{"type": "disabled"}'}
        assert engine.request_settings == {"body": extra}


def test_openrouter_routes_by_provider_and_keeps_alive_by_comments() -> None:
    """Without `require_parameters` a provider may pass over the log-probabilities."""

    def answer(request: Request) -> Reply:
        routed = (request.body.get("provider") or {}).get("require_parameters")
        reply = ToyServer(says, gives=1000 if routed else 0)(request)
        if reply.body is None:
            reply.events = [b": OPENROUTER PROCESSING\n\n", *reply.events]
        return reply

    headers = {"HTTP-Referer": "https://example.com", "X-Title": "votes"}
    extra = {"provider": {"require_parameters": True}}
    with ScriptedServer(answer) as server:
        with OpenAIEngine(server.url, "toy", extra_body=extra, headers=headers) as engine:
            assert [t.n_tokens for t in sampled(engine)] == [2, 2]
            assert all(request.headers["x-title"] == "votes" for request in server.requests)
            assert engine.request_settings == {"body": extra, "headers": ["HTTP-Referer", "X-Title"]}
        with OpenAIEngine(server.url, "toy") as engine:
            assert [t.tokens for t in sampled(engine)] == [(), ()]
            assert "gives no log-probabilities" in engine.notes[0]


def gpt5(request: Request) -> Reply:
    """Answer as gpt-5.1 is documented to: sampling settings and log-probabilities only without thinking."""
    body = request.body
    if "max_tokens" in body:
        return refusal(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    for name in ("top_k", "min_p", "repetition_penalty"):
        if name in body:
            return refusal(400, f"Unknown parameter: '{name}'.")
    if body.get("reasoning_effort") != "none":
        for name in ("logprobs", "temperature", "top_p"):
            if name in body:
                return refusal(400, f"Unsupported parameter: '{name}' is not supported with this model.")
    body = body | {"max_tokens": body["max_completion_tokens"]}
    return ToyServer(says)(request._replace(body=body))


def test_a_model_gives_log_probabilities_only_without_thinking() -> None:
    with ScriptedServer(gpt5) as server:
        with OpenAIEngine(server.url, "toy", reasoning_effort="none") as engine:
            assert [t.n_tokens for t in sampled(engine)] == [2, 2]
            assert engine.notes == []
            assert engine.request_settings == {"body": {"reasoning_effort": "none"}}
        with OpenAIEngine(server.url, "toy") as engine:
            with pytest.raises(EngineError, match="`temperature=1`"):
                sampled(engine)
            usual = SamplingParams(max_tokens=50, temperature=1.0, top_p=1.0)
            assert [t.tokens for t in engine.sample(QUESTION, 2, usual)] == [(), ()]
            assert "gives no log-probabilities" in engine.notes[0]


@pytest.mark.parametrize("legacy", [True, False])
def test_fireworks_gives_five_in_either_of_its_shapes(legacy: bool) -> None:
    def answer(request: Request) -> Reply:
        if request.body.get("top_logprobs", 0) > 5:
            return refusal(400, "top_logprobs must be less than or equal to 5")
        reply = ToyServer(says)(request)
        documents = list(reply.events) if reply.body is None else [reply.body]
        texts = iter(SAID)
        for document in documents:
            for choice in document["choices"]:
                entries = (choice["logprobs"] or {}).get("content") or ()
                if legacy and entries:
                    choice["logprobs"] = completion_logprobs([next(texts) for _ in entries], 5)
                for entry in () if legacy else entries:
                    entry |= {"sampling_logprob": -0.01, "token_id": 7, "text_offset": 3}
        if reply.body is None:
            reply.events = documents
        return reply

    with ScriptedServer(answer) as server, OpenAIEngine(server.url, "toy") as engine:
        found = sampled(engine)
        assert ["gives 5 log-probabilities" in note for note in engine.notes] == [True]
    assert [t.top_logprobs.shape for t in found] == [(2, 5)] * 2
    assert -np.mean(found[0].top_logprobs, axis=1) == pytest.approx([12.0, 14.0])


def test_a_host_that_has_them_in_whole_replies_only_is_sampled_with_whole_replies() -> None:
    """As mlx-lm does, which takes 11 at most."""
    with ScriptedServer(WholeOnly(says, max_logprobs=11)) as server, OpenAIEngine(server.url) as engine:
        found = sampled(engine, 8)
        n_before = len(asked(server))
        sampled(engine, 8)
        assert len(asked(server)) == n_before + 8  # what was found out is known
        assert not any(body.get("stream") for body in asked(server)[-8:])
        assert any("in whole replies only: replies are asked for whole" in note for note in engine.notes)
    assert [(t.top_logprobs.shape, t.n_prompt_tokens, t.flaw) for t in found] == [((2, 11), 5, None)] * 8


def test_a_host_that_refuses_to_stream_is_sampled_with_whole_replies() -> None:
    def answer(request: Request) -> Reply:
        if request.body.get("stream"):
            return refusal(400, "Your organization must be verified to stream this model.")
        return ToyServer(says)(request)

    with ScriptedServer(answer) as server, OpenAIEngine(server.url, "toy") as engine:
        assert [t.n_tokens for t in sampled(engine)] == [2, 2]
        assert len(engine.notes) == 1


def test_a_flaw_of_the_first_replies_is_not_asked_for_again_each_time() -> None:
    """They came when the host was looked at, and never with a trajectory."""

    def answer(request: Request) -> Reply:
        is_asked = request.body["messages"][0]["content"] != "Hello"
        return ToyServer(says, gives=0 if is_asked else 1000)(request)

    with ScriptedServer(answer) as server, OpenAIEngine(server.url, "toy") as engine:
        found = sampled(engine, 32)
        assert len(server.sampled()) <= 32 + 4
    assert {t.flaw for t in found} == {"no log-probabilities"}


def test_values_of_headers_are_never_repeated() -> None:
    def answer(request: Request) -> Reply:
        return refusal(401, f"Access denied for {request.headers['api-key']}")

    with (
        ScriptedServer(answer) as server,
        OpenAIEngine(server.url, "toy", headers={"api-key": "s3cret-value"}) as engine,
    ):
        with pytest.raises(EngineError, match=r"Access denied for \*\*\*") as caught:
            sampled(engine)
        assert "s3cret" not in f"{caught.value!r} {engine!r} {engine.notes} {engine.request_settings}"


@pytest.mark.parametrize(
    ("options", "says_so"),
    [
        ({"extra_body": {"seed": 1}}, "give it as `seed`"),
        ({"extra_body": {"stream": False}}, "which each request sets for the vote"),
        ({"extra_body": {"reasoning_effort": "low"}, "reasoning_effort": "low"}, "give one of them"),
        ({"extra_body": [1]}, "extra_body is"),
        ({"headers": {"bad name": "x"}}, "can't be sent"),
        ({"headers": {"X-Key": "line\nbreak"}}, "can't be sent"),
    ],
)
def test_what_can_not_be_added_is_an_input_error(options: dict[str, Any], says_so: str) -> None:
    with pytest.raises(InputError, match=says_so):
        OpenAIEngine("http://127.0.0.1:9/v1", "toy", **options)


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(ToyServer(says)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with OpenAIEngine() as engine:
            assert [t.n_tokens for t in sampled(engine)] == [2, 2]
        assert EngineChoice.of("openai", None, (), None, {}).base_urls == (server.url,)
        assert EngineChoice.of(None, None, (), None, {}).engine == "embedded"  # no cost by accident
    monkeypatch.delenv("OPENAI_BASE_URL")
    with pytest.raises(InputError, match="or set OPENAI_BASE_URL"):
        EngineChoice.of("openai", None, (), None, {})


def test_fields_of_a_call_go_with_those_of_the_engine() -> None:
    extra = {"chat_template_kwargs": {"a": 1}, "verbosity": "low"}
    own = SamplingParams(max_tokens=50, thinking=False, extra_body={"verbosity": "high", "user": "me"})
    with ScriptedServer(ToyServer(says)) as server, OpenAIEngine(server.url, extra_body=extra) as engine:
        list(engine.sample(QUESTION, 1, own))
        (body,) = server.sampled()
    assert body["chat_template_kwargs"] == {"enable_thinking": False, "a": 1}
    assert (body["verbosity"], body["user"]) == ("high", "me")


def test_a_run_records_fields_and_names_of_headers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def typed(*more: str) -> int:
        common = [
            "--base-url",
            server.url,
            "--size",
            "1",
            "--budget",
            "1",
            "--no-ssc",
            "-o",
            str(tmp_path / "run"),
        ]
        with pytest.raises(SystemExit) as left:
            main(["generate", "arithmetic", *common, *more])
        return int(left.value.code or 0)

    fields = ["--extra-body", '{"thinking": {"type": "disabled"}}', "--reasoning-effort", "low"]
    with ScriptedServer(ToyServer(says)) as server:
        assert typed(*fields, "--header", "X-Key: s3cret") == 0
        stored = Manifest.load(tmp_path / "run")
        assert typed("--budget", "2", *fields, "--header", "X-Key: another") == 0
        assert typed("--budget", "3", "--header", "X-Key: another") == 2
        assert 'request.body.reasoning_effort: was "low", asked null' in capsys.readouterr().err
        assert typed("--extra-body", "{oops") == 2
        assert "the extra body is not JSON" in capsys.readouterr().err
    body = {"thinking": {"type": "disabled"}, "reasoning_effort": "low"}
    assert stored.request == {"body": body, "headers": ["X-Key"]}
    assert "s3cret" not in (tmp_path / "run" / "manifest.json").read_text()
