"""Client libraries in front of real models: a llama.cpp server, and the built-in model in this process.

What they get is a vote, a forwarded reply or an error; what a model of this size says is not looked at. The
official client runs with `make test-model`, the other libraries with `make test-integrations`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import openai
import pytest

from engines.llamacpp_server import llamacpp_server
from server.command import served

# Else LiteLLM asks the internet for prices when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

QUESTION = "Tom has 5 apples and buys 7 more. How many has he?"
ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
BUDGET, LONGEST = 2, 24
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "sum", "schema": SCHEMA, "strict": True}}
TOOL: Any = {"type": "function", "function": {"name": "add", "parameters": SCHEMA}}


class Place(NamedTuple):
    url: str
    """With /v1."""

    model: str
    has_upstream: bool

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=self.url, api_key="none", max_retries=0, timeout=600)


@pytest.fixture(scope="module", params=["llama.cpp", "built-in"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "built-in":
        with served("--max-tokens", str(LONGEST), budget=BUDGET) as url:
            yield _place(url, False)
        return
    with llamacpp_server() as upstream, served("--base-url", upstream, budget=BUDGET) as url:
        yield _place(url, True)


def _place(url: str, has_upstream: bool) -> Place:
    found = Place(f"{url}/v1", "", has_upstream)
    with found.client() as client:
        return found._replace(model=client.models.list().data[0].id)


def vote_of(reply: Any) -> dict[str, Any]:
    found: dict[str, Any] = reply.model_extra["distrivote"]
    return found


@pytest.mark.model
def test_the_official_client_gets_votes(place: Place) -> None:
    with place.client() as client:
        reply = client.chat.completions.create(model=place.model, messages=ASKED, max_tokens=LONGEST)
        assert vote_of(reply)["n_trajectories"] == BUDGET
        assert reply.choices[0].message.content
        named = client.chat.completions.create(
            model=f"sc@3/{place.model}", messages=ASKED, max_tokens=LONGEST
        )
        assert (vote_of(named)["method"], vote_of(named)["n_trajectories"]) == ("sc", 3)
        told = client.responses.create(model=place.model, input=QUESTION, max_output_tokens=LONGEST)
        assert told.output_text
        assert vote_of(told)["n_trajectories"] == BUDGET


@pytest.mark.model
def test_the_official_client_gets_streams(place: Place) -> None:
    with place.client() as client:
        stream = client.chat.completions.create(
            model=place.model, messages=ASKED, max_tokens=LONGEST, stream=True
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
        assert text
        with client.responses.stream(
            model=place.model, input=QUESTION, max_output_tokens=LONGEST
        ) as responses:
            kinds = [event.type for event in responses]
    assert kinds[0] == "response.created"
    assert kinds[-1] in ("response.completed", "response.incomplete")  # cut off, as often

    async def asked() -> str | None:
        async with openai.AsyncOpenAI(base_url=place.url, api_key="none", timeout=600) as client:
            reply = await client.chat.completions.create(
                model=place.model, messages=ASKED, max_tokens=LONGEST
            )
            return reply.choices[0].message.content

    assert asyncio.run(asked())


@pytest.mark.model
def test_formats_tools_and_several_replies_are_voted_forwarded_or_refused(place: Place) -> None:
    with place.client() as client:

        def ask(**more: Any) -> Any:
            return client.chat.completions.create(
                model=place.model, messages=ASKED, max_tokens=LONGEST, **more
            )

        if not place.has_upstream:
            for more in ({"tools": [TOOL]}, {"n": 2}):
                with pytest.raises(openai.BadRequestError):
                    ask(**more)
            return
        shaped = ask(response_format=FORMAT)
        assert vote_of(shaped)["answer_kind"] == "json"
        assert vote_of(ask(tools=[TOOL]))["answer_kind"] == "tool"
        two = ask(n=2)
        assert len(two.choices) == 2
        assert vote_of(two)["voted"] is False


@pytest.mark.integrations
def test_langchain_gets_votes_and_streams(place: Place) -> None:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=place.model, base_url=place.url, api_key="none", max_tokens=LONGEST)  # type: ignore[arg-type]
    assert model.invoke(QUESTION).content
    assert "".join(str(chunk.content) for chunk in model.stream(QUESTION))


@pytest.mark.integrations
def test_litellm_dspy_and_pydantic_ai_get_votes(place: Place) -> None:
    import dspy
    import litellm
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    to: dict[str, Any] = {"api_base": place.url, "api_key": "none", "max_tokens": LONGEST}
    reply: Any = litellm.completion(model=f"openai/{place.model}", messages=ASKED, **to)
    assert reply.choices[0].message.content
    (said,) = dspy.LM(f"openai/{place.model}", cache=False, temperature=0.7, **to)(QUESTION)
    assert said
    provider = OpenAIProvider(base_url=place.url, api_key="none")
    agent = Agent(OpenAIChatModel(place.model, provider=provider), model_settings={"max_tokens": LONGEST})
    assert agent.run_sync(QUESTION).output
