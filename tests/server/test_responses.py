"""`/v1/responses` as a vote, read by the official client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import openai
import pytest
from pydantic import BaseModel

from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from server.test_passing_on import ASKED, CALL, gateway
from serving import POOL, reply, serving

TOOL: Any = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(ReplayEngine(POOL, "replay"), Settings(budget=20)) as url:
        yield url


def client_of(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def post(url: str, **body: Any) -> httpx.Response:
    return httpx.post(
        f"{url}/v1/responses", json={"model": "replay", "input": "How many?"} | body, timeout=60
    )


def test_a_text_is_answered_with_a_vote(url: str) -> None:
    with client_of(url) as client:
        made = client.responses.create(model="replay", input="How many?", instructions="Be brief.")
    assert made.status == "completed"
    assert made.output_text.endswith("It is \\boxed{12}.")
    assert made.usage is not None
    assert (made.usage.input_tokens, made.usage.output_tokens) == (9, 40)
    vote: Any = made.model_extra["distrivote"]  # type: ignore[index]
    assert (vote["answer"], vote["n_trajectories"]) == ("12", 20)


def test_a_stream_has_the_events_of_openai_in_their_order(url: str) -> None:
    with client_of(url) as client, client.responses.stream(model="replay", input="How many?") as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert list(dict.fromkeys(kinds)) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == final.output_text != ""


def test_events_are_numbered_and_named(url: str) -> None:
    text = post(url, stream=True).text
    events = [dict(line.split(": ", 1) for line in each.split("\n")) for each in text.strip().split("\n\n")]
    bodies = [json.loads(event["data"]) for event in events]
    assert [body["sequence_number"] for body in bodies] == list(range(len(bodies)))
    assert [body["type"] for body in bodies] == [event["event"] for event in events]
    assert bodies[-1]["response"]["distrivote"]["answer"] == "12"
    assert {"event": "started", "budget": 20, "method": "dis-gmm"} in [
        body.get("distrivote") for body in bodies
    ]


def test_thinking_is_an_item_before_the_text() -> None:
    pool = [reply("12", 10.0, "<think>Hm.</think>\n\nWell.")] * 4
    with serving(ReplayEngine(pool, "replay"), Settings(budget=4)) as url:
        made = post(url).json()
        kinds = [line for line in post(url, stream=True).text.split("\n") if line.startswith("event: ")]
    assert [item["type"] for item in made["output"]] == ["reasoning", "message"]
    assert made["output"][0]["content"][0]["text"].strip() == "Hm."
    assert "think" not in made["output"][1]["content"][0]["text"]
    assert kinds.index("event: response.reasoning_text.done") < kinds.index(
        "event: response.output_text.done"
    )


class City(BaseModel):
    city: str


def test_parse_gives_an_object_and_the_upstream_the_schema() -> None:
    with gateway() as (url, upstream), client_of(url) as client:
        made = client.responses.parse(model="hosted", input="Where?", text_format=City)
        asked = upstream.asked("/v1/chat/completions")
    assert made.output_parsed == City(city="Paris")
    vote: Any = made.model_extra["distrivote"]  # type: ignore[index]
    assert vote["answer_kind"] == "json"
    (schema,) = {json.dumps(body["response_format"]) for body in asked if "response_format" in body}
    assert json.loads(schema)["json_schema"]["name"] == "City"


def test_function_calls_are_voted_on_and_their_results_go_back() -> None:
    with gateway() as (url, upstream), client_of(url) as client:
        made = client.responses.create(model="hosted", input="Weather?", tools=[TOOL], tool_choice="auto")
        (call,) = made.output
        assert call.type == "function_call"
        assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Paris"})
        with client.responses.stream(model="hosted", input="Weather?", tools=[TOOL]) as stream:
            kinds = [event.type for event in stream]
        assert "response.function_call_arguments.done" in kinds
        upstream.requests.clear()
        items: Any = [
            {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "x", **CALL},
            {"type": "function_call_output", "call_id": "x", "output": "sunny"},
        ]
        client.responses.create(model="hosted", input=items, instructions="Be brief.")
        asked = [body["messages"] for body in upstream.asked("/v1/chat/completions")]
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None}
        | {"tool_calls": [{"id": "x", "type": "function", "function": CALL}]},
        {"role": "tool", "tool_call_id": "x", "content": "sunny"},
    ]
    assert turns in asked


def test_effort_verbosity_and_the_limit_go_to_the_upstream() -> None:
    with gateway() as (url, upstream), client_of(url) as client:
        client.responses.create(
            model="hosted",
            input="Where?",
            reasoning={"effort": "low"},
            text={"verbosity": "low"},
            max_output_tokens=77,
            store=False,
            metadata={"a": "b"},
        )
        asked = [body for body in upstream.asked("/v1/chat/completions") if "reasoning_effort" in body]
    assert len(asked) == 3
    for body in asked:
        assert (body["reasoning_effort"], body["verbosity"], body["max_tokens"]) == ("low", "low", 77)
        assert not {"reasoning", "text", "input", "store", "metadata", "response_format"} & body.keys()


@pytest.mark.parametrize(
    ("more", "param", "words"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id", "stores no responses"),
        ({"conversation": "conv_1"}, "conversation", "stores no responses"),
        ({"background": True}, "background", "stores no responses"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input", "item_reference"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input", "role is 'robot'"),
        ({"input": [{"role": "user", "content": 3}]}, "input", "neither a text"),
        ({"input": [{"role": "user", "content": ["x"]}]}, "input", "neither a text"),
        ({"input": []}, "input", "no message"),
        ({"input": [{"type": "function_call", "call_id": "x"}]}, "input", "function_call without"),
        ({"text": {"format": {"type": "xml"}}}, "text", "text.format is unknown"),
        ({"text": {"format": {"type": "json_schema"}}}, "text", "text.format has no schema"),
        ({"tools": [{"type": "function"}]}, "tools", "without a name"),
        ({"tools": [{"type": "web_search"}]}, None, "only the upstream can run"),
        ({"top_logprobs": 3}, None, "log-probabilities"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, None, "'input_image'"),
        ({"temperature": "hot"}, "temperature", "number"),
        ({"max_output_tokens": 0}, "max_output_tokens", "greater than"),
        ({"distrivote": {"budgets": 3}}, "distrivote.budgets", "budget"),
        ({"logit_bias": {"a": 1.0}}, None, "logit_bias"),
    ],
)
def test_what_is_wrong_is_said_in_its_fields(
    url: str, more: dict[str, Any], param: str | None, words: str
) -> None:
    made = post(url, **more)
    error = made.json()["error"]
    assert made.status_code == 400, error
    assert error["param"] == param
    assert words in error["message"]


def test_what_only_the_upstream_can_run_is_forwarded_or_refused_if_it_has_no_responses() -> None:
    with gateway() as (url, upstream):
        made = post(url, model="hosted", tools=[{"type": "web_search"}])
        assert upstream.asked("/v1/responses") == [
            {"model": "hosted", "input": "How many?", "tools": [{"type": "web_search"}]}
        ]
    assert made.status_code == 400
    assert "the upstream has no /v1/responses" in made.json()["error"]["message"]


def test_an_error_ends_a_stream_as_an_error_of_the_client() -> None:
    pool = [reply(None, 3.0)] * 4
    with (
        serving(ReplayEngine(pool, "replay"), Settings(budget=4, strict=True, answer="math")) as url,
        client_of(url) as client,
        pytest.raises(openai.APIError, match="none of 4 trajectories"),
    ):
        list(client.responses.create(model="replay", input="How many?", stream=True))


def test_a_stored_response_is_not_there(url: str) -> None:
    assert httpx.get(f"{url}/v1/responses/resp_1").status_code == 404


def test_asked_is_the_same_for_chat_and_responses() -> None:
    with gateway() as (url, upstream):
        httpx.post(f"{url}/v1/chat/completions", json={"model": "hosted", "messages": ASKED}, timeout=60)
        chats = upstream.asked("/v1/chat/completions")
        upstream.requests.clear()
        post(url, model="hosted", input=ASKED[0]["content"])
        assert sorted(map(str, upstream.asked("/v1/chat/completions"))) == sorted(map(str, chats[-3:]))
