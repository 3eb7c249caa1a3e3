"""The OpenAI engine against scripted servers with real sockets."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from distrivote import solve
from distrivote.engines.base import Job, Progress, Sampled, SamplingParams
from distrivote.engines.openai.client import address_of
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.patience import Backoff, Patience
from distrivote.engines.openai.protocol import seed_of
from distrivote.errors import DistrivoteError, EngineError, InputError, SpentError
from distrivote.problem import Message, Problem
from distrivote.splitting import DelimiterSplitter
from distrivote.steering import ENDED, BudgetForcing, DeepConfOnline, DistriVotingOnline, SelfStepConf
from distrivote.steering.course import Line
from distrivote.trajectory import Insertion, Trajectory
from engines.scripted_server import (
    Reply,
    Request,
    ScriptedServer,
    Token,
    ToyServer,
    chat_entry,
    is_sampled,
    refusal,
    sse,
)

QUESTION = (Message("user", "What is 2 + 2?"),)
HURRIED = Patience(retry=Backoff(0.01, 30.0))
PARAMS = SamplingParams(max_tokens=50)
SURE = [Token("Sure", 10.0), Token(".", 10.0), Token("\n", 10.0), Token("\n", 10.0)]
UNSURE = [Token("Hm", 4.0), Token(".\n\n", 4.0)]
AFTER = [Token(", it is", 9.0), Token(" 4.", 9.0)]
PLAIN = "Sure.\n\nHm.\n\nSo 4."
STEERED = "Sure.\n\nHm.\n\nwait, it is 4."


def story(prefix: str) -> Sequence[Token]:
    """A model that drops in its second step, and knows how to go on from a reflection."""
    if not prefix:
        return [*SURE, *UNSURE, Token("So 4.", 9.0)]
    assert prefix == "Sure.\n\nHm.\n\nwait" or prefix.startswith("apple"), prefix
    return AFTER


@contextlib.contextmanager
def engine_at(*urls: str, **options: Any) -> Iterator[OpenAIEngine]:
    engine = OpenAIEngine(list(urls), options.pop("model", "toy"), **{"patience": HURRIED} | options)
    try:
        yield engine
    finally:
        engine.close()


@contextlib.contextmanager
def serving(toy: Any, **options: Any) -> Iterator[tuple[ScriptedServer, OpenAIEngine]]:
    with ScriptedServer(toy) as server, engine_at(server.url, **options) as engine:
        yield server, engine


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def sample(
    engine: OpenAIEngine, n: int = 1, params: SamplingParams = PARAMS, **more: Any
) -> list[Trajectory]:
    return sorted(engine.sample(QUESTION, n, params, **more), key=lambda trajectory: trajectory.index)


# Addresses, keys, models


@pytest.mark.parametrize(
    ("given", "base", "shown"),
    [
        ("http://h:8000", "http://h:8000/v1", "http://h:8000/v1"),
        ("http://h:8000/v1/", "http://h:8000/v1", "http://h:8000/v1"),
        ("h:8000", "http://h:8000/v1", "http://h:8000/v1"),
        ("https://api.x.com/v1/chat/completions", "https://api.x.com/v1", "https://api.x.com/v1"),
        ("https://x.com/v1beta/openai/", "https://x.com/v1beta/openai", "https://x.com/v1beta/openai"),
        ("http://me:secret@h/v1", "http://me:secret@h/v1", "http://h/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        (" http://h/v1?x=1 ", "http://h/v1", "http://h/v1"),
    ],
)
def test_an_address_may_be_given_in_many_ways(given: str, base: str, shown: str) -> None:
    assert address_of(given) == (base, shown)


@pytest.mark.parametrize("given", ["", "ftp://h", "http://", "http://h:port/v1", "file:///etc/passwd"])
def test_an_address_that_is_none_is_an_input_error(given: str) -> None:
    with pytest.raises(InputError, match="give an address such as"):
        OpenAIEngine(given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"base_urls": []}, "at least one"),
        ({"endpoint": "chats"}, "did you mean chat"),
        ({"ssc_by": "plugins"}, "did you mean plugin"),
        ({"n_parallel": 0}, "n_parallel is 0"),
        ({"n_per_request": 0}, "n_per_request is 0"),
        ({"timeout": 0}, "timeout is 0"),
        ({"api_key": "two words"}, "copy it again"),
    ],
)
def test_bad_options_are_input_errors(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        OpenAIEngine(**{"base_urls": "http://h", **options})


def test_as_published_can_not_be_had_from_a_server_and_it_is_not_asked() -> None:
    with (
        engine_at("http://127.0.0.1:9") as engine,
        pytest.raises(InputError, match=r"as published can't be had from a server: .* use the embedded"),
    ):
        list(engine.sample(QUESTION, 1, PARAMS, SelfStepConf.as_published()))


def test_the_only_model_is_taken_without_asking() -> None:
    with serving(ToyServer(story), model=None) as (server, engine):
        assert engine.model == "toy"
        assert engine.name == "openai"
        sample(engine)
        assert server.sampled()[0]["model"] == "toy"


def test_several_models_are_listed() -> None:
    with (
        ScriptedServer(ToyServer(story, models=("a", "b"))) as server,
        pytest.raises(InputError, match="has 2 models: give one as `model`: a, b"),
    ):
        OpenAIEngine(server.url)


def test_servers_with_different_models_say_how_these_are_given() -> None:
    said = (
        r"have 2 models: give one as `model`, or the model of each server, separated by commas: (a, b|b, a)$"
    )
    with (
        ScriptedServer(ToyServer(story, models=("a",))) as one,
        ScriptedServer(ToyServer(story, models=("b",))) as two,
        pytest.raises(InputError, match=said),
    ):
        OpenAIEngine([one.url, two.url])


def test_an_unknown_model_is_one_sentence_with_those_that_there_are() -> None:
    says = r"does not have the model 'c' .* it has a, b$"
    toy = ToyServer(story, models=("a", "b"))
    with serving(toy, model="c") as (_, engine), pytest.raises(EngineError, match=says):
        sample(engine, 3)


def test_a_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> Reply:
        if request.headers["authorization"] == "bearer right":
            return ToyServer(story)(request)
        return refusal(401, f"Incorrect API key provided: {request.headers['authorization'][7:]}")

    with serving(answer, api_key="right") as (_, engine):
        assert len(sample(engine)) == 1
        assert "right" not in repr(engine)
    with serving(answer, api_key="wrong-one") as (_, engine), pytest.raises(EngineError) as caught:
        sample(engine, 5)
    assert "`api_key`" in str(caught.value)
    assert "wrong-one" not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", "right")
    with serving(answer) as (_, engine):
        assert len(sample(engine)) == 1


def test_without_a_key_none_is_sent() -> None:
    with serving(ToyServer(story)) as (server, engine):
        sample(engine)
        assert not any("authorization" in request.headers for request in server.requests)


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/v1", "http://nowhere.invalid/v1"])
def test_a_wrong_address_fails_at_once_and_is_named(url: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = url.format(port=free.getsockname()[1])
        with engine_at(url) as engine, pytest.raises(EngineError) as caught:
            sample(engine, 3)
        assert str(caught.value).startswith(f"{url} can't be reached")
        assert caught.value.retryable
        with pytest.raises(EngineError, match="can't be reached"):
            OpenAIEngine(url)


def test_a_path_that_is_not_there_names_the_address() -> None:
    with serving(lambda _: refusal(404, "Not Found")) as (server, engine):
        with pytest.raises(EngineError, match="usually ends in /v1"):
            sample(engine)
        assert len(server.requests) == 1


@pytest.mark.parametrize("body", [b"<html>hello</html>", {"hello": "world"}])
def test_something_else_than_a_model_server_is_noticed(body: Any) -> None:
    with serving(lambda _: Reply(body=body)) as (_, engine), pytest.raises(EngineError, match="`base_urls`"):
        sample(engine)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ({"message": "Provider returned nothing", "code": 400}, "refused the request .*Provider returned"),
        ({"message": "Provider is down", "code": 502}, "failed .*Provider is down"),
    ],
)
def test_an_error_inside_the_first_reply_is_told_in_the_servers_words(error: Any, says: str) -> None:
    patience = Patience(probe=Backoff(0.01, 3.0), n_attempts=1)
    with serving(lambda _: Reply(body={"error": error}), patience=patience) as (_, engine):
        with pytest.raises(EngineError, match=says) as caught:
            sample(engine)
        assert "`base_urls`" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "socks://me:secret@127.0.0.1:1080"])
def test_a_proxy_that_can_not_be_used_is_one_sentence(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", proxy)
    before = threading.active_count()
    with pytest.raises(InputError, match="names a proxy that can't be used") as caught:
        OpenAIEngine("http://h/v1", "toy")
    assert "secret" not in str(caught.value)
    assert threading.active_count() == before


# Plain sampling


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("end_token", [True, False])
def test_trajectories_are_what_the_server_said(
    endpoint: str, size: int, streams: bool, end_token: bool
) -> None:
    toy = ToyServer(story, tokens_per_chunk=size, streams=streams, end_token=end_token)
    with serving(toy, endpoint=endpoint) as (server, engine):
        found = sample(engine, 3)
        bodies = server.sampled()
    assert [trajectory.index for trajectory in found] == [0, 1, 2]
    for trajectory in found:
        assert trajectory.text == PLAIN
        assert trajectory.tokens[:3] == ("Sure", ".", "\n")
        assert trajectory.top_logprobs.shape == (7, 20)
        assert trajectory.finish_reason == "stop"
        assert trajectory.interventions is None
        assert trajectory.server is None
    assert sorted(body["seed"] for body in bodies) == sorted(seed_of(0, i) for i in range(3))
    if endpoint == "completions":
        assert bodies[0]["prompt"] == "What is 2 + 2?\n\n"


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_system_message_is_sent_before_the_question(endpoint: str) -> None:
    turns = Problem("What is 2 + 2?", template="plain", system="Be brief.").messages()
    with serving(ToyServer(story), endpoint=endpoint) as (server, engine):
        list(engine.sample(turns, 1, PARAMS))
        body = server.sampled()[0]
    if endpoint == "completions":
        assert body["prompt"] == "Be brief.\n\nWhat is 2 + 2?\n\n"
    else:
        assert body["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is 2 + 2?"},
        ]


@pytest.mark.parametrize("streams", [True, False])
def test_the_tokens_of_the_prompt_are_those_of_the_usage(streams: bool) -> None:
    with serving(ToyServer(story, streams=streams)) as (_, engine):
        for found in sample(engine, 3):
            assert found.n_prompt_tokens == len(QUESTION[0].content.split())
            assert found.seconds is not None
            assert found.seconds >= 0


def test_of_several_replies_in_one_request_the_last_has_the_usage() -> None:
    with serving(ToyServer(story), n_per_request=3) as (_, engine):
        assert [found.n_prompt_tokens for found in sample(engine, 3)] == [None, None, 5]


@pytest.mark.parametrize("streams", [True, False])
def test_tokens_that_did_not_come_are_as_many_as_the_server_counted(streams: bool) -> None:
    toy = ToyServer(story, gives=0, streams=streams)
    with serving(toy) as (_, engine):
        seen: list[Progress] = []
        found = sample(engine, 2, watch=seen.append)
        assert [(t.tokens, t.n_tokens) for t in found] == [((), 7)] * 2
        assert seen[-1].n_tokens == 14
    with serving(toy, n_per_request=3) as (_, engine):
        assert [t.n_tokens for t in sample(engine, 3)] == [0, 0, 21]
    with serving(replace(toy, streams=True, tells_usage=False)) as (_, engine):
        assert [t.n_tokens for t in sample(engine, 2)] == [0, 0]


def test_a_reply_that_is_continued_has_the_usage_of_its_first_part() -> None:
    with serving(ToyServer(lambda _: SURE, template=True), ssc_by="continuation") as (_, engine):
        assert sample(engine, controller=SelfStepConf())[0].n_prompt_tokens == 1


def test_a_server_that_refuses_stream_options_is_asked_without_them() -> None:
    with serving(ToyServer(story, tells_usage=None)) as (server, engine):
        assert [found.n_prompt_tokens for found in sample(engine, 2)] == [None, None]
        assert engine.notes == []
        sample(engine)
    assert "stream_options" not in server.sampled()[-1]


def test_a_stream_is_known_by_its_beginning_where_its_type_is_another() -> None:
    toy = ToyServer(story)

    def answer(request: Request) -> Reply:
        reply = toy(request)
        if request.body.get("stream"):
            return Reply(body=b": hello\n\n" + b"".join(map(sse, reply.events)) + b"data: [DONE]\n\n")
        return reply

    with serving(answer) as (_, engine):
        assert [(t.text, t.n_tokens) for t in sample(engine, 2)] == [(PLAIN, 7)] * 2


def test_a_server_that_ends_no_stream_costs_no_reply() -> None:
    def hanging(request: Request) -> Reply:
        return replace(toy(request), end="hang")

    toy = ToyServer(story, tells_usage=False)
    with serving(hanging, patience=replace(HURRIED, usage=0.05)) as (_, engine):
        assert [found.text for found in sample(engine, 2)] == [PLAIN, PLAIN]


def test_jobs_are_mixed_and_numbered() -> None:
    with serving(ToyServer(story)) as (server, engine):
        jobs = [
            Job(QUESTION, PARAMS, [4, 2]),
            Job(QUESTION, PARAMS, []),
            Job(QUESTION, replace(PARAMS, seed=9), [0]),
        ]
        found = {(number, t.index) for number, t in engine.sample_all(jobs)}
        assert found == {(0, 4), (0, 2), (2, 0)}
        assert {body["seed"] for body in server.sampled()} == {seed_of(0, 4), seed_of(0, 2), seed_of(9, 0)}
        assert list(engine.sample_all([])) == []


def test_no_more_than_n_parallel_are_under_way() -> None:
    most = 0

    def answer(request: Request) -> Reply:
        nonlocal most
        most = max(most, server.n_open + 1)
        return ToyServer(story, pause=0.005)(request)

    with serving(answer, n_parallel=3) as (server, engine):
        assert len(sample(engine, 12)) == 12
    assert 1 < most <= 3


@pytest.mark.parametrize("knows_stop", [True, False])
def test_a_stop_string_cuts_whether_the_server_knows_it_or_not(knows_stop: bool) -> None:
    with serving(ToyServer(story, knows_stop=knows_stop)) as (server, engine):
        found = sample(engine, 2, replace(PARAMS, stop=("Hm",)))
        assert server.sampled()[0]["stop"] == ["Hm"]
    assert {(t.text, t.n_tokens, t.finish_reason) for t in found} == {("Sure.\n\n", 4, "stop")}


def test_the_token_limit_is_the_servers() -> None:
    with serving(ToyServer(story)) as (_, engine):
        found = sample(engine, 1, replace(PARAMS, max_tokens=2))[0]
    assert (found.text, found.finish_reason) == ("Sure.", "length")


def test_thinking_is_switched_in_the_template() -> None:
    with serving(ToyServer(story)) as (server, engine):
        sample(engine, 1, replace(PARAMS, thinking=True))
        assert server.sampled()[-1]["chat_template_kwargs"] == {"enable_thinking": True}


def test_thinking_apart_from_the_answer_becomes_one_text() -> None:
    def answer(request: Request) -> Reply:
        if not request.body.get("stream"):
            return ToyServer(story)(request)
        entries = ToyServer(lambda _: [Token("<think>"), Token("Hm"), Token("</think>"), Token("4")])(request)
        chunks: list[Any] = list(entries.events)
        for chunk, delta in zip(
            chunks, [{}, {"reasoning_content": "Hm"}, {}, {"content": "4"}], strict=False
        ):
            chunk["choices"][0]["delta"] = delta
        return Reply(events=chunks)

    with serving(answer) as (_, engine):
        found = sample(engine)[0]
    assert found.text == "<think>Hm</think>4"
    assert found.n_tokens == 4


def test_progress_is_told_and_ends_with_everything() -> None:
    seen: list[Progress] = []
    with serving(ToyServer(story, pause=0.1)) as (_, engine):
        found = sample(engine, 3, watch=seen.append)
    assert 1 < len(seen) < 12
    assert seen[-1] == Progress(sum(t.n_tokens for t in found), 0, 0)
    assert any(progress.n_live == 3 for progress in seen)


def test_long_replies_take_linear_time() -> None:
    n = 4000
    toy = ToyServer(lambda _: [Token(" word")] * n, tokens_per_chunk=16)
    with serving(toy) as (_, engine):
        found = sample(engine, 1, replace(PARAMS, max_tokens=n, n_logprobs=2))[0]
    assert found.n_tokens == n


# n replies in one request


def test_n_replies_come_from_one_request() -> None:
    with serving(ToyServer(story), n_per_request=4) as (server, engine):
        found = sample(engine, 6)
        # They are sent side by side and may arrive in any order.
        assert sorted(body.get("n", 1) for body in server.sampled()) == [2, 4]
    assert [t.index for t in found] == list(range(6))
    assert {t.text for t in found} == {PLAIN}


def test_a_server_that_ignores_n_is_asked_one_by_one() -> None:
    with serving(ToyServer(story, takes_n=False), n_per_request=4) as (server, engine):
        found = sample(engine, 8)
        assert [t.index for t in found] == list(range(8))
        assert sum("does not give n replies" in note for note in engine.notes) == 1
        assert sample(engine, 4)
        assert "n" not in server.sampled()[-1]


def test_a_server_that_refuses_n_is_asked_one_by_one() -> None:
    def answer(request: Request) -> Reply:
        if (request.body or {}).get("n", 1) > 1:
            return refusal(400, "Only one completion choice is allowed")
        return ToyServer(story)(request)

    with serving(answer, n_per_request=4) as (_, engine):
        assert len(sample(engine, 5)) == 5


def test_a_stream_that_ends_before_all_its_replies_did_is_broken_off() -> None:
    def answer(request: Request) -> Reply:
        reply = toy(request)
        if (request.body or {}).get("n") != 3:
            return reply
        events: list[Any] = [chunk for chunk in reply.events if chunk["choices"]]
        # One of three is whole, the others lack their ends.
        rest = (event for event in events[6:] if event["choices"][0]["index"] == 0)
        return Reply(events=[*events[:6], *rest], end="cut")

    toy = ToyServer(story)
    with serving(answer, n_per_request=3) as (_, engine):
        assert [(t.text, t.finish_reason) for t in sample(engine, 3)] == [(PLAIN, "stop")] * 3


# Log-probabilities


@pytest.mark.parametrize("refuses", [True, False])
def test_fewer_log_probabilities_are_said_at_once_and_used(refuses: bool) -> None:
    said: list[str] = []
    toy = ToyServer(story, max_logprobs=5) if refuses else ToyServer(story, gives=5)
    with serving(toy, say=said.append) as (server, engine):
        found = sample(engine, 3)
        assert {body["top_logprobs"] for body in server.sampled()} == {5}
        assert said == engine.notes
        assert len(said) == 1
        sample(engine)
        assert len(engine.notes) == 1
    assert "gives 5 log-probabilities per token where 20 were asked for" in said[0]
    assert all(t.top_logprobs.shape == (7, 5) for t in found)


@pytest.mark.parametrize("gives", [0, 1])
def test_no_log_probabilities_leave_majority_voting(gives: int) -> None:
    with serving(ToyServer(story, gives=gives)) as (_, engine):
        found = sample(engine, 2)
        assert [t.text for t in found] == [PLAIN, PLAIN]
        assert all(t.tokens == () for t in found)
        assert "majority voting decides on its replies" in engine.notes[0]
        with pytest.raises(EngineError, match="which SelfStepConf needs: use `steering=None`"):
            sample(engine, 2, controller=SelfStepConf())


def test_log_probabilities_that_are_not_supported_at_all() -> None:
    def answer(request: Request) -> Reply:
        if "logprobs" in request.body:
            return refusal(400, "logprobs is not supported with this model")
        return ToyServer(story)(request)

    with serving(answer) as (_, engine):
        assert sample(engine)[0].text == PLAIN
        assert "no log-probabilities" in engine.notes[0]


def test_a_model_that_wants_max_completion_tokens_gets_them() -> None:
    def answer(request: Request) -> Reply:
        if "max_tokens" in request.body:
            return refusal(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        request.body["max_tokens"] = request.body["max_completion_tokens"]
        return ToyServer(story)(request)

    with serving(answer) as (_, engine):
        assert sample(engine)[0].text == PLAIN


def refusing(toy: ToyServer, name: str, words: str) -> Any:
    """Return a server that does not take a field."""
    return lambda request: refusal(400, words) if name in (request.body or {}) else toy(request)


@pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "top_k", "min_p", "repetition_penalty"])
def test_a_field_that_nobody_asked_for_is_left_out_where_it_is_refused(name: str) -> None:
    answer = refusing(ToyServer(story), name, f"Unsupported parameter: '{name}'")
    with serving(answer) as (server, engine):
        found = sample(engine, 2, replace(PARAMS, temperature=1.0, top_p=1.0))
        assert [t.text for t in found] == [PLAIN, PLAIN]
        assert len(server.requests) == 5
        said = [f"{server.url} takes no seed: what it samples can't be sampled again"]
        assert engine.notes == (said if name == "seed" else [])


@pytest.mark.parametrize(("name", "option"), [("temperature", "`temperature=1`"), ("top_p", "`top_p=1`")])
def test_a_refusal_of_what_was_asked_for_names_the_option(name: str, option: str) -> None:
    answer = refusing(ToyServer(story), name, f"Unsupported parameter: '{name}'")
    with serving(answer) as (_, engine), pytest.raises(EngineError, match=f"{name}.*: give {option}$"):
        sample(engine)


def test_log_probabilities_that_were_never_seen_are_not_asked_for_again() -> None:
    def answer(request: Request) -> Reply:
        if is_sampled(request.body):
            return ToyServer(story, gives=0)(request)
        # It thinks, unseen, for longer than the first request lasts.
        return Reply(body={"choices": [{"index": 0, "message": {"content": ""}, "finish_reason": "length"}]})

    with serving(answer) as (server, engine):
        found = sample(engine, 8)
        assert len(server.sampled()) == 8
        assert any("without log-probabilities" in note for note in engine.notes)
    assert {(t.text, t.flaw) for t in found} == {(PLAIN, "no log-probabilities")}


def test_a_token_without_log_probabilities_costs_no_other_its_own() -> None:
    def answer(request: Request) -> Reply:
        reply = ToyServer(story)(request)
        if request.body.get("stream"):
            chunks: list[Any] = list(reply.events)
            chunks[4]["choices"][0]["logprobs"] = None
            reply.events = chunks
        return reply

    with serving(answer) as (server, engine):
        found = sample(engine, 2)
        assert len(server.sampled()) == 2
    for trajectory in found:
        assert (trajectory.text, trajectory.n_tokens) == (PLAIN, 7)
        assert np.isnan(trajectory.top_logprobs).all(axis=1).tolist() == [at == 4 for at in range(7)]
        assert trajectory.flaw == "fewer than 20 usable log-probabilities at 1 of 7 tokens"


def test_tokens_that_do_not_spell_the_text_are_left_out_with_a_note() -> None:
    def answer(request: Request) -> Reply:
        reply = ToyServer(story)(request)
        if request.body.get("stream"):
            chunks: list[Any] = list(reply.events)
            for chunk in chunks[:-1]:
                chunk["choices"][0]["delta"] = {"content": "something else entirely"}
            reply.events = chunks
        return reply

    with serving(answer) as (_, engine):
        found = sample(engine)[0]
        assert found.text.startswith("something else")
        assert found.tokens == ()
        assert any("do not spell" in note for note in engine.notes)


# SelfStepConf

WAYS = {
    "template": {"template": True},
    "tokenize": {"tokenizes": True},
    "prefill, asked": {"prefill": "asked", "completes": False},
    "prefill, always": {"prefill": "always", "completes": False},
    "prefill with an echo": {"prefill": "always", "completes": False, "echoes": True},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 3])
def test_a_reply_is_continued_behind_the_reflection(way: str, size: int) -> None:
    toy = ToyServer(story, tokens_per_chunk=size, end_token=True, **WAYS[way])
    with serving(toy) as (server, engine):
        found = sample(engine, 3, controller=SelfStepConf())
        n_requests = len(server.requests)
        again = sample(engine, 1, controller=SelfStepConf())
        assert len(server.requests) == n_requests + 2  # it is found out once
    for trajectory in [*found, *again]:
        assert trajectory.text == STEERED
        assert trajectory.interventions is not None
        assert trajectory.interventions.insertions == (Insertion(6, 1),)
        assert np.isnan(trajectory.logprobs[6])
    assert Counter(len(body.get("messages", "x")) for body in server.sampled()).total() == 8


def test_a_reply_is_continued_in_completions() -> None:
    with serving(ToyServer(story), endpoint="completions") as (server, engine):
        found = sample(engine, 1, controller=SelfStepConf())[0]
        prompts = [body["prompt"] for body in server.sampled()]
    assert found.text == STEERED
    assert prompts == ["What is 2 + 2?\n\n", "What is 2 + 2?\n\nSure.\n\nHm.\n\nwait"]


def test_the_rest_of_a_cut_reply_is_not_waited_for() -> None:
    long = [*SURE, *UNSURE, *[Token(" more")] * 500]
    toy = ToyServer(lambda p: AFTER if p else long, template=True, pause=0.01)
    with serving(toy) as (server, engine):
        found = sample(engine, 2, replace(PARAMS, max_tokens=600), controller=SelfStepConf())
        assert [t.text for t in found] == [STEERED, STEERED]
        _wait_for(lambda: server.n_left == 2)


def test_a_trajectory_that_its_controller_ends_is_not_waited_for() -> None:
    toy = ToyServer(lambda _: [*SURE, *UNSURE, *[Token(" more")] * 500], template=True, pause=0.01)
    with serving(toy) as (server, engine):
        ending = DeepConfOnline(window=2, threshold=5.0)
        found = sample(engine, 2, replace(PARAMS, max_tokens=600), controller=ending)
        assert [(t.text, t.finish_reason) for t in found] == [("Sure.\n\nHm.\n\n", ENDED)] * 2
        _wait_for(lambda: server.n_left == 2)


def test_the_continuation_has_a_seed_and_a_limit_of_its_own() -> None:
    with serving(ToyServer(story, template=True, knows_stop=True)) as (server, engine):
        sample(engine, 1, replace(PARAMS, max_tokens=20, stop=("END",)), controller=SelfStepConf())
        first, second = server.sampled()
    assert (first["seed"], second["seed"]) == (seed_of(0, 0), seed_of(0, 0, 1))
    assert (first["max_tokens"], second["max_tokens"]) == (20, 13)
    assert "stop" not in first  # an end by a stop string is no end to reflect at


def test_delta_zero_is_plain_sampling_with_a_record() -> None:
    with serving(ToyServer(story, template=True)) as (_, engine):
        found = sample(engine, 1, controller=SelfStepConf(delta=0.0))[0]
    assert found.text == PLAIN
    assert found.interventions is not None
    assert found.interventions.step_ends == (4, 6, 7)


def test_the_plugin_is_used_where_it_is() -> None:
    def said(_: str) -> Sequence[Token]:
        return [*SURE, *UNSURE, Token("wait", 6.0), *AFTER]

    with serving(ToyServer(said, plugin=True), n_per_request=2) as (server, engine):
        found = sample(engine, 2, controller=SelfStepConf(delta=0.7))
        bodies = server.sampled()
    assert len(bodies) == 1  # it takes n as well
    assert bodies[0]["vllm_xargs"]["ssc_delta"] == 0.7
    record = found[0].interventions
    assert record is not None
    assert record.insertions == (Insertion(6, 1),)
    np.testing.assert_allclose(record.step_confidences, (10.0, 4.0, 8.0))


def test_what_the_plugin_ended_is_recorded_as_ended_for_low_confidence() -> None:
    rule = DeepConfOnline(window=2)
    with serving(ToyServer(lambda _: [*SURE, *UNSURE], plugin=True)) as (server, engine):
        warmed = sample(engine, 1, controller=rule)[0]
        assert all("vllm_xargs" not in body for body in server.sampled())
        low = sample(engine, 1, controller=replace(rule, threshold=6.0))[0]
        high = sample(engine, 1, controller=replace(rule, threshold=1.0))[0]
        asked = [body["vllm_xargs"] for body in server.sampled()[1:]]
    reasons = (warmed.finish_reason, low.finish_reason, high.finish_reason)
    assert reasons == ("stop", ENDED, "stop")
    assert low.text == high.text == warmed.text
    assert asked == [{"deepconf_threshold": t, "deepconf_window": 2} for t in (6.0, 1.0)]


def test_the_line_of_online_distrivoting_reaches_the_plugin_after_the_warm_up() -> None:
    rule = DistriVotingOnline()
    with serving(ToyServer(lambda _: [*SURE, *UNSURE], plugin=True)) as (server, engine):
        warmed = sample(engine, 1, controller=rule)[0]
        assert all("vllm_xargs" not in body for body in server.sampled())
        found = [
            sample(engine, 1, controller=replace(rule, floor=Line((6.0,), (at,))))[0] for at in (9.0, 1.0)
        ]
        asked = [body["vllm_xargs"] for body in server.sampled()[1:]]
    assert [(each["ssc_delta"], each["online_floor"]) for each in asked] == [
        (0.0, "6.0:9.0"),
        (0.0, "6.0:1.0"),
    ]
    assert [each.finish_reason for each in (warmed, *found)] == ["stop", ENDED, "stop"]
    for each in (warmed, *found):
        assert each.interventions is not None
        assert each.interventions.step_ends == (4, 6)
        assert each.text == warmed.text


def test_a_poll_gives_the_plugin_the_line_of_its_own_question() -> None:
    replies = iter(range(10**6))

    def said(_: str) -> Sequence[Token]:
        return [*SURE, *(AFTER if next(replies) % 2 else UNSURE), *UNSURE]

    with serving(ToyServer(said, plugin=True)) as (server, engine):
        rule = DistriVotingOnline(n_warmup=8, strictness=3.0)
        found = solve(engine, "What is 2 + 2?", budget=24, steering=rule, method="sc")
        asked = [body.get("vllm_xargs", {}) for body in server.sampled()]
    floors = [each["online_floor"] for each in asked if "online_floor" in each]
    assert len(asked) == 24
    assert len(floors) == 16
    assert len(set(floors)) == 1
    assert all(each.finish_reason == "stop" for each in found.trajectories if each.index < 8)


def test_what_the_plugin_ended_for_one_question_is_judged_by_its_own_threshold() -> None:
    rule = DeepConfOnline(window=2)
    with serving(ToyServer(lambda _: [*SURE, *UNSURE], plugin=True)) as (_, engine):
        jobs = [Job(QUESTION, PARAMS, range(1), controller=replace(rule, threshold=t)) for t in (6.0, 1.0)]
        found = {each.job: each.trajectory.finish_reason for each in engine.sample_all(jobs, rule)}
    assert found == {0: ENDED, 1: "stop"}


def test_a_controller_that_the_plugin_does_not_know_is_done_by_continuation() -> None:
    says = {"": [Token("4."), Token("</think>")], "4.Wait": AFTER}
    toy = ToyServer(lambda p: says.get(p, [Token("4.")]), plugin=True, template=True)
    with serving(toy) as (server, engine):
        found = sample(engine, 1, controller=BudgetForcing(min_tokens=9))[0]
        own = SelfStepConf(delta=0.0, split=DelimiterSplitter(";"))
        assert sample(engine, 1, controller=own)[0].interventions is not None
        assert not any("vllm_xargs" in body for body in server.sampled())
    assert found.text == "4.Wait, it is 4."


@pytest.mark.parametrize("prefill", ["never", "refused"])
def test_a_server_that_can_do_neither_gets_one_sentence(prefill: str) -> None:
    with serving(ToyServer(story, prefill=prefill, completes=False)) as (server, engine):
        with pytest.raises(EngineError, match="use `steering=None` for plain sampling") as caught:
            sample(engine, 4, controller=SelfStepConf())
        assert server.url in str(caught.value)
        assert server.sampled() == []  # never silently plain
        assert len(sample(engine, 2)) == 2


def test_the_way_can_be_chosen() -> None:
    toy = ToyServer(story, template=True)
    with (
        serving(toy, ssc_by="plugin") as (_, engine),
        pytest.raises(EngineError, match="--logits-processors"),
    ):
        sample(engine, 1, controller=SelfStepConf())
    with serving(toy, ssc_by="off") as (_, engine):
        assert sample(engine, 1, controller=SelfStepConf())[0].text == PLAIN
    with serving(replace(toy, plugin=True), ssc_by="continuation") as (_, engine):
        assert sample(engine, 1, controller=SelfStepConf())[0].text == STEERED


def test_thinking_that_a_prefilled_message_would_lose_is_refused() -> None:
    def answer(request: Request) -> Reply:
        reply = ToyServer(story, prefill="asked", completes=False, tells_usage=False)(request)
        if request.body and request.body.get("stream"):
            chunks: list[Any] = list(reply.events)
            for chunk in chunks:
                delta = chunk["choices"][0]["delta"]
                delta["reasoning_content"] = delta.pop("content")
            reply.events = chunks
        return reply

    with serving(answer) as (_, engine), pytest.raises(EngineError, match="`thinking=False`"):
        sample(engine, 1, controller=SelfStepConf())


# Faults

BEGUN = {"index": 0, "delta": {"content": "Su"}, "logprobs": {"content": [chat_entry(Token("Su"), 20)]}}
FAULTS = {
    "500": refusal(500, "oops"),
    "503": refusal(503, "loading"),
    "429": refusal(429, "slow down", retry_after="0.05"),
    "a cut stream": Reply(events=[{"choices": [{"index": 0, "delta": {"content": "Su"}}]}], end="cut"),
    "a reset": Reply(events=[{"choices": [{"index": 0, "delta": {"content": "Su"}}]}], end="reset"),
    "an error event": Reply(events=[{"error": {"message": "worker died", "code": 500}}]),
    "no JSON": Reply(events=[b"data: {oops\n\n"]),
    "an empty reply": Reply(events=[]),
    "odd choices": Reply(events=[{"choices": ["x"]}]),
    "odd content": Reply(events=[{"choices": [{"index": 0, "delta": {"content": 5}}]}]),
    "an abort": Reply(events=[{"choices": [BEGUN | {"finish_reason": "abort"}]}]),
    "an error in a choice": Reply(
        events=[{"choices": [BEGUN | {"finish_reason": "stop", "error": {"message": "gone", "code": 502}}]}]
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_passing_fault_is_tried_again(name: str) -> None:
    toy = ToyServer(story, faults=[FAULTS[name]])
    seen: list[Progress] = []
    with serving(toy, n_parallel=2) as (server, engine):
        found = sample(engine, 4, watch=seen.append)
        assert len(server.sampled()) == 5
    assert [t.text for t in found] == [PLAIN] * 4
    assert seen[-1].n_tokens == 4 * 7


def test_a_server_that_keeps_failing_is_an_error_that_loses_nothing() -> None:
    good = ToyServer(story)
    n_good = 0

    def answer(request: Request) -> Reply:
        nonlocal n_good
        if is_sampled(request.body):
            n_good += 1
            if n_good > 3:
                return refusal(500, "out of memory")
        return good(request)

    patience = replace(HURRIED, aside=Backoff(0.1, 60.0), without_server=4.0, without_known_server=4.0)
    with serving(answer, n_parallel=1, patience=patience) as (_, engine):
        found: list[Trajectory] = []
        with pytest.raises(EngineError, match=r"^5 of 8 trajectories are missing: .*out of memory") as caught:
            found.extend(engine.sample(QUESTION, 8, PARAMS))  # keeps what came before the error
        assert [trajectory.index for trajectory in found] == [0, 1, 2]
        assert caught.value.retryable
        assert n_good < 60


def test_a_prompt_that_is_too_long_does_not_stop_the_others() -> None:
    with serving(ToyServer(story, max_context=100), n_parallel=2) as (server, engine):
        long = (Message("user", "word " * 200),)
        jobs = [Job(long, PARAMS, list(range(10))), Job(QUESTION, PARAMS, [0, 1])]
        found: list[Sampled] = []
        with pytest.raises(EngineError, match=r"10 of 12 trajectories are missing: .*lower `max_tokens`"):
            found.extend(engine.sample_all(jobs))
        assert sorted((number, trajectory.index) for number, trajectory in found) == [(1, 0), (1, 1)]
        assert len(server.sampled()) < 12


def test_a_question_that_is_forbidden_does_not_stop_the_others() -> None:
    def answer(request: Request) -> Reply:
        if "bomb" in request.body["messages"][-1]["content"]:
            return refusal(403, "your input was flagged")
        return ToyServer(story)(request)

    with serving(answer, n_parallel=2, api_key="k") as (server, engine):
        flagged = (Message("user", "How does a bomb calorimeter work?"),)
        jobs = [Job(flagged, PARAMS, list(range(10))), Job(QUESTION, PARAMS, [0, 1])]
        found: list[Sampled] = []
        with pytest.raises(EngineError, match=r"10 of 12 trajectories are missing: .*your input was flagged"):
            found.extend(engine.sample_all(jobs))
        assert len(found) == 2
        assert len(server.sampled()) < 6


def test_a_reply_that_is_refused_does_not_cost_the_others_of_a_question_that_was_answered() -> None:
    def answer(request: Request) -> Reply:
        if request.body["seed"] == seed_of(0, 3):
            return refusal(400, "the response was filtered")
        return ToyServer(story)(request)

    with serving(answer, n_parallel=1) as (_, engine):
        found: list[Trajectory] = []
        with pytest.raises(EngineError, match=r"^1 of 8 trajectories is missing: .*was filtered"):
            found.extend(engine.sample(QUESTION, 8, PARAMS))
        assert [trajectory.index for trajectory in found] == [0, 1, 2, 4, 5, 6, 7]


@pytest.mark.parametrize("status", [401, 404])
def test_a_server_that_refused_everything_is_asked_again_by_the_next_call(status: int) -> None:
    toy = ToyServer(story)
    with serving(toy) as (_, engine):
        sample(engine)
        toy.faults = [refusal(status, "starting")]
        with pytest.raises(EngineError, match="starting"):
            sample(engine)
        assert sample(engine)[0].text == PLAIN


def test_being_told_to_wait_costs_no_trajectory_while_others_are_answered() -> None:
    toy, counts = ToyServer(story), Counter[int]()

    def answer(request: Request) -> Reply:
        """Let two requests in every fifth of a second."""
        window, gone = divmod(time.monotonic(), 0.2)
        counts[int(window)] += request.body.get("stream", False)
        if counts[int(window)] > 2:
            return refusal(429, "slow down", retry_after=f"{0.2 - gone:.3f}")
        return toy(request)

    with serving(answer, patience=Patience(retry=Backoff(0.01, 0.05))) as (server, engine):
        assert len(sample(engine, 24)) == 24
        asked = Counter(body["seed"] for body in server.sampled())
    assert max(asked.values()) > HURRIED.n_attempts


def test_being_told_to_wait_for_ever_comes_to_an_end() -> None:
    toy = ToyServer(story)

    def answer(request: Request) -> Reply:
        return refusal(429, "slow down", retry_after="0") if is_sampled(request.body) else toy(request)

    with serving(answer, patience=Patience(retry=Backoff(0.01, 0.05))) as (server, engine):
        with pytest.raises(EngineError, match="slow down"):
            sample(engine, 4)
        assert len(server.sampled()) == 4 * HURRIED.n_attempts


def test_a_field_that_the_server_does_not_know_is_named() -> None:
    def answer(request: Request) -> Reply:
        if "min_p" in request.body:
            return refusal(400, "Unrecognized request argument supplied: min_p")
        return ToyServer(story)(request)

    with serving(answer) as (_, engine), pytest.raises(EngineError, match="min_p"):
        sample(engine, 2, replace(PARAMS, min_p=0.1))


def test_a_server_that_hangs_times_out() -> None:
    toy = ToyServer(story, faults=[Reply(events=[], end="hang")])
    with serving(toy, timeout=0.3) as (_, engine):
        assert sample(engine)[0].text == PLAIN


# Cancelling and closing


def test_closing_the_iterator_closes_all_connections() -> None:
    endless = ToyServer(lambda _: [Token(" word")] * 500, pause=0.05)
    quick = ToyServer(story)

    def answer(request: Request) -> Reply:
        return (quick if request.body.get("seed") in (0, seed_of(0, 0)) else endless)(request)

    with serving(answer) as (server, engine):
        samples = engine.sample(QUESTION, 9, replace(PARAMS, max_tokens=500, n_logprobs=2))
        assert next(samples).index == 0
        _wait_for(lambda: server.n_open == 8)
        samples.close()
        _wait_for(lambda: server.n_open == 0)
        assert server.n_left == 8
        assert sample(engine, 1)[0].text == PLAIN


@pytest.mark.parametrize("controller", [None, SelfStepConf(delta=0.0)])
def test_a_job_that_is_over_is_dropped_and_the_others_go_on(controller: SelfStepConf | None) -> None:
    endless = ToyServer(lambda _: [Token(" word")] * 500, pause=0.02, template=True)
    quick = ToyServer(story, template=True)

    def answer(request: Request) -> Reply:
        slow = request.body.get("seed") in {seed_of(0, index) for index in range(1, 20)}
        return (endless if slow else quick)(request)

    over = threading.Event()
    with serving(answer, n_parallel=6) as (server, engine):
        params = replace(PARAMS, max_tokens=500, n_logprobs=2)
        jobs = [
            Job(QUESTION, params, range(20), over.is_set),
            Job(QUESTION, replace(params, seed=9), [0, 1]),
        ]
        found = []
        for sampled in engine.sample_all(jobs, controller):
            found.append((sampled.job, sampled.trajectory.index))
            over.set()
        assert sorted(found) == [(0, 0), (1, 0), (1, 1)]
        _wait_for(lambda: server.n_open == 0)
        n_begun = sum(body["seed"] in {seed_of(0, index) for index in range(20)} for body in server.sampled())
        assert n_begun <= 7


def test_a_watch_that_raises_loses_nothing_that_has_finished() -> None:
    def watch(progress: Progress) -> None:
        if progress.n_tokens and not progress.n_live:
            raise SpentError("enough")

    with serving(ToyServer(story)) as (_, engine):
        samples = engine.sample(QUESTION, 1, PARAMS, watch=watch)
        assert next(samples).text
        with pytest.raises(SpentError):
            next(samples)


def test_a_watch_that_raises_cancels() -> None:
    class Enough(Exception):
        pass

    def watch(progress: Progress) -> None:
        if progress.n_tokens > 5:
            raise Enough

    with serving(ToyServer(lambda _: [Token(" w")] * 500, pause=0.02)) as (server, engine):
        with pytest.raises(Enough):
            sample(engine, 3, replace(PARAMS, max_tokens=500, n_logprobs=2), watch=watch)
        _wait_for(lambda: server.n_open == 0)


def test_close_ends_the_thread() -> None:
    before = threading.active_count()
    with ScriptedServer(ToyServer(story)) as server:
        engine = OpenAIEngine(server.url, "toy")
        sample(engine)
        engine.close()
        engine.close()
        with pytest.raises(DistrivoteError, match="closed"):
            sample(engine)
    assert threading.active_count() == before


def test_an_engine_may_be_closed_while_it_samples() -> None:
    with ScriptedServer(ToyServer(lambda _: [Token(" w")] * 500, pause=0.05)) as server:
        engine = OpenAIEngine(server.url, "toy")
        samples = engine.sample(QUESTION, 2, PARAMS, watch=lambda _: engine.close())
        with pytest.raises(DistrivoteError, match="closed while it was sampling"):
            list(samples)
        _wait_for(lambda: server.n_open == 0)


def test_two_calls_share_an_engine() -> None:
    with serving(ToyServer(story, pause=0.002), n_parallel=4) as (_, engine):
        one, other = engine.sample(QUESTION, 3, PARAMS), engine.sample(QUESTION, 3, PARAMS)
        found = [next(one), next(other), *one, *other]
    assert len(found) == 6


# A fleet


def test_requests_are_spread_and_every_trajectory_says_who_answered() -> None:
    toys = [ToyServer(story, pause=0.002) for _ in range(2)]
    with (
        ScriptedServer(toys[0]) as one,
        ScriptedServer(toys[1]) as other,
        engine_at(one.url, other.url, model=None, n_parallel=4) as engine,
    ):
        found = sample(engine, 12)
        counts = Counter(t.server for t in found)
    assert set(counts) == {one.url, other.url}
    assert min(counts.values()) >= 3


def test_a_server_that_fails_is_set_aside_and_tried_again_later() -> None:
    bad = ToyServer(story, faults=[refusal(500, "oops") for _ in range(3)])
    good = ToyServer(story, pause=0.01)
    with (
        ScriptedServer(bad) as one,
        ScriptedServer(good) as other,
        engine_at(
            one.url, other.url, n_parallel=4, patience=replace(HURRIED, aside=Backoff(0.3, 60.0))
        ) as engine,
    ):
        found = sample(engine, 40)
        counts = Counter(t.server for t in found)
        assert any("the other servers go on" in note for note in engine.notes)
    assert len(found) == 40
    assert counts[other.url] > 3
    assert counts[one.url] > 0  # it came back


def test_a_server_that_is_not_there_is_left_out() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with ScriptedServer(ToyServer(story)) as server, engine_at(gone, server.url, model=None) as engine:
            found = sample(engine, 6)
            assert engine.notes == [
                f"{gone} can't be reached (connection refused): check `base_urls`, and whether the server"
                " runs; the other servers go on"
            ]
    assert {t.server for t in found} == {server.url}


def test_a_wrong_key_at_one_server_leaves_the_other() -> None:
    with (
        ScriptedServer(ToyServer(story, key="x")) as one,
        ScriptedServer(ToyServer(story)) as other,
        engine_at(one.url, other.url) as engine,
    ):
        assert {t.server for t in sample(engine, 6)} == {other.url}


def test_servers_with_different_numbers_of_log_probabilities_give_the_smaller_one() -> None:
    with (
        ScriptedServer(ToyServer(story, max_logprobs=5)) as one,
        ScriptedServer(ToyServer(story)) as other,
        ScriptedServer(ToyServer(story, gives=0)) as none,
        engine_at(one.url, other.url, none.url, n_parallel=4) as engine,
    ):
        found = sample(engine, 8)
    assert {t.top_logprobs.shape for t in found} == {(7, 5)}
    assert {t.server for t in found} == {one.url, other.url}


@pytest.mark.parametrize("gives", [5, 0])
def test_a_server_that_is_met_late_is_not_compared_with_what_was_hoped_for(gives: int) -> None:
    toy, n_asked = ToyServer(story, gives=gives), 0

    def answer(request: Request) -> Reply:
        nonlocal n_asked
        n_asked += 1
        return refusal(429, "slow down", retry_after="0.05") if n_asked == 1 else toy(request)

    with serving(answer, patience=replace(HURRIED, n_probes=1)) as (_, engine):
        assert {t.top_logprobs.shape for t in sample(engine, 2)} == {(7, 5) if gives else (0, 0)}


def test_a_server_that_was_not_there_at_first_is_used_once_it_is() -> None:
    with ScriptedServer(ToyServer(story)) as gone:
        pass
    late = ScriptedServer(ToyServer(story), port=int(gone.url.split(":")[2].removesuffix("/v1")))
    with (
        ScriptedServer(ToyServer(story, pause=0.02)) as server,
        engine_at(
            gone.url, server.url, n_parallel=2, patience=replace(HURRIED, aside=Backoff(0.05, 60.0))
        ) as engine,
    ):
        samples = engine.sample(QUESTION, 40, PARAMS)
        found = [next(samples)]
        with late:
            found += samples
    assert {t.server for t in found} == {gone.url, server.url}


def test_the_same_address_twice_is_one_server() -> None:
    with ScriptedServer(ToyServer(story)) as server, engine_at(server.url, server.url + "/") as engine:
        assert sample(engine)[0].server is None


def test_a_server_that_dies_in_between_is_an_error_that_names_it() -> None:
    patience = replace(HURRIED, aside=Backoff(0.2, 60.0), without_server=3.5)
    with ScriptedServer(ToyServer(story)) as server, engine_at(server.url, patience=patience) as engine:
        sample(engine)
        server.stop()
        with pytest.raises(EngineError, match="can't be reached"):
            sample(engine, 4)


def _wait_for(condition: Any, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert condition()
