"""The server as programs meet it: the real openai client, and requests that are wrong in every way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import openai
import pytest

from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from serving import POOL, SlowEngine, reply, serving

KEY = "not-so-secret"
ASKED: Any = [{"role": "user", "content": "How many?"}]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(ReplayEngine(POOL, "org/replay"), Settings(budget=20, api_key=KEY, max_body=100_000)) as url:
        yield url


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


def post(url: str, body: object, path: str = "/v1/chat/completions", key: str = KEY) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    return httpx.post(url + path, content=content, headers=headers)


def chat(**more: object) -> dict[str, object]:
    return {"model": "org/replay", "messages": ASKED} | more


def test_the_openai_client_gets_the_best_trajectory_of_the_winning_answer(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(model="org/replay", messages=ASKED)
    assert reply.choices[0].message.content == "Let me see.\n\nIt is \\boxed{12}."
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (9, 40, 49)
    vote: Any = reply.model_extra["distrivote"]  # type: ignore[index]
    assert (vote["answer"], vote["majority"], vote["rejected"]) == ("12", "35", "35")
    assert vote["votes"] == {"12": 8, "35": 10}
    assert vote["scores"]["12"] > 0 == vote["scores"]["35"]
    assert vote["first_split"]["means"][0] < vote["first_split"]["cut"] < vote["first_split"]["means"][1]
    assert vote["best"] == 7
    assert (vote["n_tokens"], vote["n_tokens_saved"], vote["stopped"]) == (40, 0, None)
    assert "majority voting would have said 35" in vote["explanation"]
    assert vote["trajectories"] is None


def test_settings_of_the_vote_go_into_extra_body(client: openai.OpenAI) -> None:
    fields = {"budget": 18, "method": "sc", "ssc": {"alpha": 0.5}, "return_trajectories": True}
    reply = client.chat.completions.create(
        model="org/replay", messages=ASKED, extra_body={"distrivote": fields}, temperature=0.5, seed=7
    )
    vote: Any = reply.model_extra["distrivote"]  # type: ignore[index]
    assert (vote["method"], vote["answer"], vote["budget"]) == ("sc", "35", 18)
    assert [trajectory["index"] for trajectory in vote["trajectories"]] == list(range(18))
    assert vote["trajectories"][0]["answer"] == "12"
    assert vote["trajectories"][0]["thresholds"] == [None, 4.0]


def test_a_model_name_says_method_and_budget(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(model="sc@9/org/replay", messages=ASKED)
    vote: Any = reply.model_extra["distrivote"]  # type: ignore[index]
    assert (vote["method"], vote["n_trajectories"], reply.model) == ("sc", 9, "sc@9/org/replay")


def test_a_stopping_rule_saves_tokens(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(
        model="org/replay", messages=ASKED, extra_body={"distrivote": {"stop_when": "beta"}}
    )
    vote: Any = reply.model_extra["distrivote"]  # type: ignore[index]
    assert (vote["n_trajectories"], vote["n_tokens"], vote["n_tokens_saved"]) == (4, 8, 32)
    assert "settled after 4 of 20" in vote["stopped"]


def test_a_stream_is_progress_and_then_the_text(client: openai.OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="org/replay", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    # As in OpenAI's own examples: a client that knows nothing of the events.
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])
    assert text == "Let me see.\n\nIt is \\boxed{12}."
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (9, 40)
    beside: list[Any] = [(chunk.model_extra or {}).get("distrivote") for chunk in chunks]
    events = [event["event"] for event in beside if event is not None]
    assert events[0] == "started"
    assert "progress" in events
    assert events[-1] == "vote"
    assert chunks[-2].choices[0].finish_reason == "stop"


def test_a_stream_without_usage_has_a_choice_in_every_chunk(client: openai.OpenAI) -> None:
    chunks = client.chat.completions.create(model="org/replay", messages=ASKED, stream=True)
    assert all(len(chunk.choices) == 1 for chunk in chunks)


def test_completions_work_whole_and_streamed(client: openai.OpenAI) -> None:
    whole = client.completions.create(model="org/replay", prompt="How many?")
    assert whole.choices[0].text.endswith("\\boxed{12}.")
    chunks = client.completions.create(model="org/replay", prompt=["How many?"], stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text


def test_the_asynchronous_client_asks_many_at_once(url: str) -> None:
    async def run() -> list[str | None]:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:

            async def one() -> str | None:
                reply = await client.chat.completions.create(model="org/replay", messages=ASKED)
                return reply.choices[0].message.content

            stream = await client.chat.completions.create(model="org/replay", messages=ASKED, stream=True)
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
            return ["".join(pieces), *await asyncio.gather(*(one() for _ in range(8)))]

    assert set(asyncio.run(run())) == {"Let me see.\n\nIt is \\boxed{12}."}


def test_models_are_listed_and_found_by_name(client: openai.OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    votes = ["dis-gmm@8", "dis-gmm@16", "dis-gmm@32", "dis-gmm@128", "auto@16"]
    assert names == ["org/replay", *(f"{vote}/org/replay" for vote in votes)]
    assert client.models.retrieve("sc@5/org/replay").id == "sc@5/org/replay"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-5")


def test_a_conversation_goes_to_the_model_with_its_parts_joined(client: openai.OpenAI) -> None:
    messages: Any = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": [{"type": "text", "text": "How "}, {"type": "text", "text": "many?"}]},
    ]
    assert client.chat.completions.create(model="org/replay", messages=messages).choices


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"distrivote": {"bugdet": 3}}, 400, "'distrivote.bugdet': did you mean distrivote.budget"),
        ({"distrivote": {"ssc": {"alfa": 1}}}, 400, "unknown field 'distrivote.ssc.alfa'"),
        ({"colour": 1, "shape": 2}, 400, "unknown fields 'colour', 'shape'"),
        ({"distrivote": {"budget": 10**9}}, 400, "budget is 1000000000: this server takes 1 to 256"),
        ({"distrivote": {"budget": 0}}, 400, "distrivote.budget"),
        ({"distrivote": {"budget": "8"}}, 400, "distrivote.budget"),
        ({"distrivote": {"budget": 21}}, 400, "ask for fewer"),
        ({"distrivote": {"method": "dis-gnn"}}, 400, "did you mean dis-gmm"),
        ({"distrivote": {"stop_when": "never"}}, 400, "never"),
        ({"distrivote": {"template": "poem"}}, 400, "unknown template"),
        ({"distrivote": {"ssc": {"split": "word"}}}, 400, "splitter"),
        ({"distrivote": {"ssc": {"reflection": " "}}}, 400, "reflection"),
        ({"model": "sc@8/org/replay", "distrivote": {"budget": 9}}, 400, "the model name says budget 8"),
        ({"model": "dis-gmm@1000000000/org/replay"}, 404, "there is no model"),
        ({"model": "dis-gmm@999999999/org/replay"}, 400, "budget is 999999999"),
        ({"model": "gpt-5"}, 404, "there is no model 'gpt-5' here: ask for 'org/replay'"),
        ({"model": None}, 400, "model"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, 400, "role"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 400, "end the conversation with a question"),
        ({"messages": [{"role": "user", "content": " "}]}, 400, "ask something"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, 400, "content"),
        ({"\ud800": 1}, 400, "unicode"),
        ({"n": 2}, 400, "n is 2"),
        ({"tools": [{}]}, 400, "tools"),
        ({"tool_choice": 1}, 400, "tool_choice"),
        ({"temperature": 0}, 400, "temperature is 0"),
        ({"top_logprobs": 5}, 400, "top_logprobs"),
        ({"modalities": ["text", "audio"]}, 400, "modalities"),
        ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, 400, "each part needs a type"),
        ({"frequency_penalty": 0.5}, 400, "frequency_penalty"),
        ({"temperature": float("nan")}, 400, "temperature"),
        ({"temperature": -1}, 400, "temperature"),
        ({"stop": [""]}, 400, "stop"),
        ({"seed": -1}, 400, "seed"),
        ({"max_tokens": 10**9}, 400, "max_tokens is 1000000000"),
        ({"max_tokens": 5, "max_completion_tokens": 6}, 400, "differ"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(url: str, more: dict[str, object], status: int, words: str) -> None:
    for stream in (False, True):
        if stream and "ask for fewer" in words:
            continue  # found out while sampling: see below
        reply = post(url, chat(**more, stream=stream))
        error = reply.json()["error"]
        assert reply.status_code == status, error
        assert words in error["message"]
        assert set(error) == {"message", "type", "param", "code"}


def test_what_asks_for_nothing_is_taken(url: str) -> None:
    harmless = {"n": 1, "frequency_penalty": 0.0, "presence_penalty": 0, "tools": [], "logprobs": False}
    harmless |= {"response_format": {"type": "text"}, "user": "me", "logit_bias": {}, "stop": None}
    harmless |= {"tool_choice": "none", "parallel_tool_calls": False, "top_logprobs": 0}
    harmless |= {"modalities": ["text"], "service_tier": "auto"}
    assert post(url, chat(**harmless)).status_code == 200
    assert post(url, chat(tool_choice="auto", service_tier="default")).status_code == 200


def test_the_servers_own_message_may_be_sent_back(client: openai.OpenAI) -> None:
    message = client.chat.completions.create(model="org/replay", messages=ASKED).choices[0].message
    for turn in (message, message.model_dump(), message.model_dump() | {"annotations": []}):
        messages: Any = [*ASKED, turn, *ASKED]
        assert client.chat.completions.create(model="org/replay", messages=messages).choices


def test_parts_that_are_no_text_are_refused_as_such(url: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    reply = post(url, chat(messages=[{"role": "user", "content": [{"type": "text", "text": "?"}, image]}]))
    assert reply.status_code == 400
    said = "messages has 'image_url', and only texts are voted on: leave that out, or use a server"
    assert reply.json()["error"]["message"].startswith(said)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"model": 1e999}', b"[" * 20_000])
def test_a_body_that_is_no_request_is_an_error(url: str, body: bytes) -> None:
    reply = post(url, body)
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"


def test_broken_json_is_said_with_its_place(url: str) -> None:
    error = post(url, b'{"model": }').json()["error"]
    assert error["message"] == (
        "the request is not valid JSON (Expecting value at character 11): send one JSON object"
    )
    assert error["param"] is None


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/v1/chat/completions", "/v1/files"])
def test_a_wrong_address_names_the_right_ones(url: str, path: str) -> None:
    reply = post(url, chat(), path)
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "not_found"
    assert f"no {path} " in reply.json()["error"]["message"]
    assert "/v1/chat/completions" in reply.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/models", "/v1/nothing", "/api/settings", "/api/run", "/metrics"])
@pytest.mark.parametrize("value", [None, "Bearer wrong", f"Bearer {KEY}x", f"bearer{KEY}", KEY, "Bearer é"])
def test_a_wrong_key_is_refused(url: str, path: str, value: str | None) -> None:
    headers = {} if value is None else {"authorization": value.encode()}
    reply = httpx.get(url + path, headers=headers)
    assert reply.status_code == 401
    assert reply.json()["error"]["code"] == "invalid_api_key"
    assert KEY not in reply.text


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
def test_the_scheme_of_the_key_has_no_case(url: str, scheme: str) -> None:
    reply = httpx.get(f"{url}/v1/models", headers={"authorization": f"{scheme} {KEY}"})
    assert reply.status_code == 200


def test_the_client_knows_a_wrong_key(url: str) -> None:
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError, match="the API key is wrong"),
    ):
        client.chat.completions.create(model="org/replay", messages=ASKED)


def test_health_and_documentation_need_no_key(url: str) -> None:
    assert httpx.get(f"{url}/health").json() == {"status": "ok", "model": "org/replay"}
    assert httpx.get(f"{url}/docs.css").headers["content-type"].startswith("text/css")
    page = httpx.get(f"{url}/docs")
    assert "distrivote.ssc.alpha" in page.text
    assert "<script" not in page.text
    assert "/v1/chat/completions" in httpx.get(f"{url}/openapi.json").json()["paths"]


def test_an_oversized_body_is_refused_with_and_without_its_length(url: str) -> None:
    large = json.dumps(chat(user="x" * 200_000)).encode()
    assert post(url, large).status_code == 413
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    chunks = (large[at : at + 10_000] for at in range(0, len(large), 10_000))
    reply = httpx.post(f"{url}/v1/chat/completions", content=chunks, headers=headers)
    assert reply.status_code == 413
    assert reply.json()["error"]["code"] == "request_too_large"


@pytest.mark.parametrize("path", ["/", "/health", "/v1/models", "/nothing"])
def test_every_reply_has_safe_headers(url: str, path: str) -> None:
    headers = httpx.get(url + path).headers
    policy = headers["content-security-policy"]
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert scripts == "script-src 'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_a_form_from_another_page_is_no_request(url: str) -> None:
    body = json.dumps(chat())
    reply = httpx.post(
        f"{url}/v1/chat/completions",
        content=body,
        headers={"content-type": "text/plain", "authorization": f"Bearer {KEY}"},
    )
    assert reply.status_code == 400


def test_a_server_without_a_key_answers_to_its_own_names_only() -> None:
    with serving(ReplayEngine(POOL), Settings(budget=20, hosts=("127.0.0.1", "localhost"))) as url:
        assert httpx.get(f"{url}/health").status_code == 200
        assert httpx.get(f"{url}/health", headers={"host": "evil.example:80"}).status_code == 403


def test_an_engine_that_dies_on_the_way_leaves_a_vote_that_says_so() -> None:
    with serving(SlowEngine(POOL, fails_after=9)) as url:
        vote = post(url, chat(model="slow")).json()["distrivote"]
        assert vote["n_trajectories"] == 9
        assert vote["answer"] == "12"
        assert vote["stopped"].startswith("the engine failed after 9 of 20 trajectories")
        assert "the model is gone" in vote["stopped"]


def test_an_engine_that_dies_at_once_is_an_error() -> None:
    with serving(SlowEngine(POOL, fails_after=0)) as url:
        reply = post(url, chat(model="slow"))
        assert reply.status_code == 502
        assert reply.json()["error"]["message"] == "the model is gone: start it again"
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0) as client,
            pytest.raises(openai.APIError, match="the model is gone"),
        ):
            list(client.chat.completions.create(model="slow", messages=ASKED, stream=True))


def test_without_any_answer_the_surest_reply_is_returned() -> None:
    with serving(ReplayEngine([reply(None, 9.0)] * 20)) as url:
        asked = chat(model="replay", distrivote={"answer": "boxed"})
        answer = post(url, asked).json()
        assert answer["choices"][0]["message"]["content"] == reply(None, 9.0).text.strip()
        assert answer["distrivote"]["answer"] is None
        assert answer["distrivote"]["answer_kind"] == "boxed"


def test_no_answer_is_an_error_if_the_request_is_strict() -> None:
    with serving(ReplayEngine([reply(None, 9.0)] * 20)) as url:
        answer = post(url, chat(model="replay", distrivote={"answer": "boxed", "strict": True}))
        assert answer.status_code == 422
        assert answer.json()["error"]["message"].startswith("none of 20 trajectories gave an answer")
        assert answer.json()["error"]["type"] == "no_answer"


def test_trajectories_without_confidences_are_counted_with_a_note() -> None:
    from distrivote import Trajectory

    with serving(
        ReplayEngine([Trajectory("\\boxed{4}"), Trajectory("\\boxed{5}"), Trajectory("\\boxed{5}")])
    ) as url:
        vote = post(url, chat(model="replay", distrivote={"budget": 3})).json()["distrivote"]
        assert (vote["method"], vote["fallback"], vote["answer"]) == ("dis-gmm", True, "5")
        assert vote["n_unmeasured"] == 3
        assert "No answer has a confidence, so majority voting decides, not dis-gmm." in vote["notes"]


def test_the_server_votes_with_the_measure_that_it_was_given() -> None:
    with serving(ReplayEngine(POOL), Settings(budget=20, measure="length")) as url:
        asked = chat(model="replay", distrivote={"return_trajectories": True, "method": "bon"})
        vote = post(url, asked).json()["distrivote"]
        assert {each["confidence"] for each in vote["trajectories"]} == {500.0}
        page = httpx.post(f"{url}/api/ask", json={"question": "How many?", "method": "bon"}).text
        assert '"confidence": 500.0' in page or '"confidence":500.0' in page


def test_metrics_count_votes_and_tokens() -> None:
    with serving(ReplayEngine(POOL)) as url:
        assert post(url, chat(model="replay")).status_code == 200
        assert post(url, chat(model="replay", distrivote={"budget": 21})).status_code == 400
        text = httpx.get(f"{url}/metrics").text
    assert 'distrivote_requests_total{endpoint="chat",status="200"} 1' in text
    assert 'distrivote_requests_total{endpoint="chat",status="400"} 1' in text
    assert 'distrivote_tokens_total{outcome="voted"} 40' in text
    assert 'distrivote_prompt_tokens_total{outcome="voted"} 180' in text
    assert "distrivote_overruled_total 1" in text
    assert 'distrivote_vote_seconds_bucket{le="+Inf"} 1' in text
    assert "distrivote_requests_under_way 0" in text


def test_formulas_that_a_worker_has_to_compare_are_one_answer_too() -> None:
    pytest.importorskip("math_verify", reason="distrivote[math] is not installed")
    pool = [reply(r"(z+4)^2", 9.0), reply("z^2 + 8z + 16", 9.1), reply("7", 9.2)]
    with serving(ReplayEngine(pool)) as url:
        asked = {"budget": 3, "method": "sc", "template": "math"}
        vote = post(url, {"model": "replay", "messages": ASKED, "distrivote": asked}).json()["distrivote"]
    assert (vote["answer"], vote["n_trajectories"]) == (r"(z+4)^2", 3)
    assert vote["votes"] == {r"(z+4)^2": 2, "7": 1}
