"""Programs that know nothing of votes, pointed at the server by its address: voted, forwarded or refused.

Each row is a call of one library, in front of scripted hosts and of an engine in this process; what became of
it is read from the records of the server. Rows of the official client run with the fast tests, those of the
other libraries with `make test-integrations`.
"""

from __future__ import annotations

import asyncio
import os
import re
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import openai
import pytest
from pydantic import BaseModel

from distrivote.engines.base import Engine
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.replay import ReplayEngine
from distrivote.server.metrics import Metrics
from distrivote.server.record import RequestRecord
from distrivote.server.settings import Settings
from engines.scripted_server import ScriptedServer
from server.scripted_host import TEXT, VECTOR, Host
from serving import POOL, serving

# Else LiteLLM asks the internet for prices when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

QUESTION = "Tom has 5 apples and buys 7 more. How many has he?"
BUDGET = 3
ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
IMAGE = "data:image/png;base64,iVBORw0KGgo="


class Sum(BaseModel):
    """A place and a number."""

    city: str
    n: int


SUM = Sum(city="Paris", n=12)
CALL: dict[str, Any] = {"city": "Paris"}


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"It is sunny in {city}."


PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]


class Place(NamedTuple):
    """A server to point a library at."""

    url: str
    """With /v1."""

    model: str
    is_scripted: bool
    has_upstream: bool
    outcomes: list[str]
    """What became of the requests so far, in the server's words."""


class Row(NamedTuple):
    """A call of a library, and what is to become of it."""

    name: str
    call: Callable[[Place], Any]
    expected: Any
    """What it returns in front of a scripted host."""

    upstream: str = "voted"
    """What becomes of it in front of a server of models."""

    alone: str = "voted"
    """The same in front of a model in this process."""

    is_text: bool = False
    """Whether stored replies will do; they are no objects and no calls."""


HOSTS = {
    "scripted": Host(),
    "without log-probabilities": Host(gives_logprobs=False),
    "thinking": Host(thinks=True),
    "tools in whole replies": Host(tools_refuse="stream"),
    "tools without log-probabilities": Host(tools_refuse="always"),
    "max_completion_tokens": Host(limit="max_completion_tokens", gives_logprobs=False),
}
ALONE = "in this process"
"""An engine without a server of models behind it."""


@contextmanager
def recorded() -> Iterator[list[str]]:
    """Keep what became of each request; gives the list that it is put into."""
    outcomes: list[str] = []
    count = Metrics.ended

    def ended(metrics: Metrics, record: RequestRecord) -> None:
        outcomes.append(record.outcome)
        count(metrics, record)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Metrics, "ended", ended)
        yield outcomes


@contextmanager
def place_of(name: str) -> Iterator[Place]:
    with recorded() as outcomes, ExitStack() as stack:
        engine: Engine
        if name in HOSTS:
            host = stack.enter_context(ScriptedServer(HOSTS[name]))
            engine = stack.enter_context(OpenAIEngine(host.url, "hosted"))
        else:
            engine = ReplayEngine(POOL)
        url = stack.enter_context(serving(engine, Settings(budget=BUDGET)))
        yield Place(f"{url}/v1", engine.model, name in HOSTS, name in HOSTS, outcomes)


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with place_of(request.param) as found:
        yield found


def check(row: Row, place: Place) -> None:
    """Make a call, and see what it returns and what became of it."""
    place.outcomes.clear()
    failure: Exception | None = None
    value: Any = None
    try:
        value = row.call(place)
    except Exception as error:
        failure = error
    # A request is recorded when its reply has gone, which the client may have read before.
    deadline = time.monotonic() + 30
    while not place.outcomes and time.monotonic() < deadline:
        time.sleep(0.005)
    wanted = row.upstream if place.has_upstream else row.alone
    if place.is_scripted:
        assert place.outcomes == [wanted], repr(failure or value)
    else:
        # A library asks again, or leaves the stream, if a stored reply is not the object that it wants.
        is_left = failure is not None and not row.is_text and status_of(failure) is None
        allowed = {wanted, "cancelled"} if is_left else {wanted}
        assert place.outcomes, repr(failure or value)
        assert allowed.issuperset(place.outcomes), repr(failure or value)
    if wanted == "failed":
        assert failure is not None
        assert status_of(failure) in (400, 404)
    elif place.is_scripted or row.is_text:
        if failure is not None:
            raise failure
        assert value
    if place.is_scripted:
        assert value == row.expected


def status_of(error: BaseException) -> int | None:
    """Return the status of the reply that an error of a library comes from."""
    found = getattr(error, "status_code", None)
    inner = error.__cause__ or error.__context__
    return found if isinstance(found, int) or inner is None else status_of(inner)


def client(place: Place) -> openai.OpenAI:
    return openai.OpenAI(base_url=place.url, api_key="none", max_retries=0, timeout=600)


def chat(place: Place, **more: Any) -> Any:
    with client(place) as made:
        return made.chat.completions.create(**{"model": place.model, "messages": ASKED} | more)


def text(place: Place, **more: Any) -> str:
    return str(chat(place, **more).choices[0].message.content)


def deltas(place: Place, **more: Any) -> list[Any]:
    with client(place) as made:
        asked: dict[str, Any] = {"model": place.model, "messages": ASKED, "stream": True}
        chunks = list(made.chat.completions.create(**asked | more))
    return [chunk.choices[0].delta for chunk in chunks if chunk.choices]


def stream(place: Place, **more: Any) -> str:
    return "".join(delta.content or "" for delta in deltas(place, **more))


def usual_fields(place: Place) -> str:
    return text(place, user="me", seed=1, top_p=0.9, store=False, service_tier="auto", max_tokens=24)


def text_async(place: Place) -> str:
    async def ask() -> str:
        async with openai.AsyncOpenAI(base_url=place.url, api_key="none", max_retries=0) as made:
            reply = await made.chat.completions.create(model=place.model, messages=ASKED)
        return str(reply.choices[0].message.content)

    return asyncio.run(ask())


def stream_async(place: Place) -> str:
    async def ask() -> str:
        async with openai.AsyncOpenAI(base_url=place.url, api_key="none", max_retries=0) as made:
            chunks = await made.chat.completions.create(model=place.model, messages=ASKED, stream=True)
            return "".join([c.choices[0].delta.content or "" async for c in chunks if c.choices])

    return asyncio.run(ask())


def parse(place: Place) -> Any:
    with client(place) as made:
        reply = made.chat.completions.parse(model=place.model, messages=ASKED, response_format=Sum)
    return reply.choices[0].message.parsed


def parse_stream(place: Place) -> Any:
    with (
        client(place) as made,
        made.chat.completions.stream(model=place.model, messages=ASKED, response_format=Sum) as events,
    ):
        return events.get_final_completion().choices[0].message.parsed


def json_mode(place: Place) -> bool:
    return "12" in text(place, response_format={"type": "json_object"})


def call_of(calls: Any) -> tuple[str, str]:
    (call,) = calls
    return call.function.name, call.function.arguments


def tools(place: Place) -> Any:
    return call_of(chat(place, tools=TOOLS).choices[0].message.tool_calls)


def tools_stream(place: Place) -> Any:
    return call_of([call for delta in deltas(place, tools=TOOLS) for call in delta.tool_calls or ()])


def tool_result(place: Place) -> str:
    function = {"name": "weather", "arguments": '{"city": "Paris"}'}
    called = {"role": "assistant", "tool_calls": [{"id": "x", "type": "function", "function": function}]}
    return text(
        place,
        messages=[*ASKED, called, {"role": "tool", "tool_call_id": "x", "content": "sunny"}],
        tools=TOOLS,
    )


def completion(place: Place) -> str:
    with client(place) as made:
        return made.completions.create(model=place.model, prompt=QUESTION).choices[0].text


def other_model(place: Place) -> str:
    return text(place, model=f"sc@2/{'other' if place.is_scripted else place.model}")


def brief(place: Place) -> dict[str, Any]:
    """Return what keeps a reply short that is not voted on; the server's own limit is for votes."""
    return {} if place.is_scripted else {"max_tokens": 8}


def several(place: Place) -> int:
    return len(chat(place, n=2, **brief(place)).choices)


def greedy(place: Place) -> str:
    return text(place, temperature=0, **brief(place))


def greedy_stream(place: Place) -> str:
    return stream(place, temperature=0, **brief(place))


def image(place: Place) -> str:
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": IMAGE}}]
    return text(place, messages=[{"role": "user", "content": parts}], **brief(place))


def embedding(place: Place) -> Any:
    with client(place) as made:
        return (
            made.embeddings.create(model=place.model, input="Tom", encoding_format="float").data[0].embedding
        )


def responses(place: Place) -> str:
    with client(place) as made:
        return made.responses.create(model=place.model, input=QUESTION, instructions="Be brief.").output_text


def responses_stream(place: Place) -> str:
    with client(place) as made, made.responses.stream(model=place.model, input=QUESTION) as events:
        texts = [event.delta for event in events if event.type == "response.output_text.delta"]
        assert events.get_final_response().output_text == "".join(texts)
    return "".join(texts)


def responses_parse(place: Place) -> Any:
    with client(place) as made:
        return made.responses.parse(model=place.model, input=QUESTION, text_format=Sum).output_parsed


CALLED = ("weather", '{"city": "Paris"}')
FORWARDED = {"upstream": "forwarded", "alone": "failed"}
OFFICIAL = [
    Row("text", text, TEXT, is_text=True),
    Row("async", text_async, TEXT, is_text=True),
    Row("stream", stream, TEXT, is_text=True),
    Row("async stream", stream_async, TEXT, is_text=True),
    Row("usual fields", usual_fields, TEXT, is_text=True),
    Row("named vote", lambda place: text(place, model=f"sc@2/{place.model}"), TEXT, is_text=True),
    Row("completion", completion, TEXT, is_text=True),
    Row("parse", parse, SUM),
    Row("parse stream", parse_stream, SUM),
    Row("JSON mode", json_mode, True),
    Row("responses", responses, TEXT, is_text=True),
    Row("responses stream", responses_stream, TEXT, is_text=True),
    Row("responses parse", responses_parse, SUM),
    Row("vote of another model", other_model, TEXT, is_text=True),
    Row("tools", tools, CALLED, alone="failed"),
    Row("tools stream", tools_stream, CALLED, alone="failed"),
    Row("tool result", tool_result, TEXT, alone="failed"),
    Row("several", several, 2, **FORWARDED),
    Row("temperature 0", greedy, TEXT, **FORWARDED),
    Row(
        "temperature 0 stream", lambda place: stream(place, temperature=0, **brief(place)), TEXT, **FORWARDED
    ),
    Row("image", image, TEXT, **FORWARDED),
    Row("embedding", embedding, VECTOR, **FORWARDED),
]


def named(rows: list[Row]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=[row.name for row in rows])


def in_front_of(*places: Any) -> Any:
    return pytest.mark.parametrize("place", places, indirect=True, scope="module")


@in_front_of(*HOSTS, ALONE)
@named(OFFICIAL)
def test_the_official_client(place: Place, row: Row) -> None:
    check(row, place)


def test_log_probabilities_for_the_client_are_those_of_one_reply() -> None:
    with place_of("scripted") as place:
        entries = chat(place, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert "".join(entry.token for entry in entries) == TEXT
    assert place.outcomes == ["forwarded"]


def langchain(place: Place, **more: Any) -> Any:
    module = pytest.importorskip("langchain_openai")
    return module.ChatOpenAI(model=place.model, base_url=place.url, api_key="none", max_retries=0, **more)


def structured(method: str) -> Callable[[Place], Any]:
    return lambda place: langchain(place).with_structured_output(Sum, method=method).invoke(QUESTION)


def langchain_tools(place: Place) -> Any:
    (call,) = langchain(place).bind_tools([weather]).invoke(QUESTION).tool_calls
    return call["name"], call["args"]


def langchain_stream(place: Place) -> str:
    return "".join(str(chunk.content) for chunk in langchain(place).stream(QUESTION))


def langchain_responses(place: Place) -> str:
    return str(langchain(place, use_responses_api=True).invoke(QUESTION).text)


def langchain_greedy(place: Place) -> str:
    return str(langchain(place, temperature=0).invoke(QUESTION).content)


def litellm(place: Place, **more: Any) -> Any:
    module = pytest.importorskip("litellm")
    return module.completion(
        model=f"openai/{place.model}",
        api_base=place.url,
        api_key="none",
        messages=ASKED,
        num_retries=0,
        **more,
    )


def litellm_text(place: Place, **more: Any) -> str:
    return str(litellm(place, **more).choices[0].message.content)


def litellm_stream(place: Place) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in litellm(place, stream=True))


def litellm_tools(place: Place) -> Any:
    return call_of(litellm(place, tools=TOOLS).choices[0].message.tool_calls)


def litellm_object(place: Place) -> Any:
    return Sum.model_validate_json(litellm_text(place, response_format=Sum))


def litellm_embedding(place: Place) -> Any:
    module = pytest.importorskip("litellm")
    found = module.embedding(
        model=f"openai/{place.model}", api_base=place.url, api_key="none", input=["Tom"], num_retries=0
    )
    return found.data[0]["embedding"]


def predicted(adapter: str) -> Callable[[Place], Any]:
    def call(place: Place) -> Any:
        dspy = pytest.importorskip("dspy")
        model = dspy.LM(
            f"openai/{place.model}", api_base=place.url, api_key="none", cache=False, num_retries=0
        )
        with dspy.context(lm=model, adapter=getattr(dspy, adapter)()):
            return str(dspy.Predict("question -> answer")(question=QUESTION).answer)

    return call


def agent(place: Place, **more: Any) -> Any:
    module = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=place.url, api_key="none")
    return module.Agent(OpenAIChatModel(place.model, provider=provider), **more)


def agent_text(place: Place) -> str:
    return str(agent(place).run_sync(QUESTION).output)


def agent_output(kind: str) -> Callable[[Place], Any]:
    def call(place: Place) -> Any:
        module = pytest.importorskip("pydantic_ai")
        return agent(place, output_type=getattr(module, kind)(Sum)).run_sync(QUESTION).output

    return call


LIBRARIES = [
    Row("LangChain", lambda place: langchain(place).invoke(QUESTION).content, TEXT, is_text=True),
    Row("LangChain stream", langchain_stream, TEXT, is_text=True),
    Row("LangChain responses", langchain_responses, TEXT, is_text=True),
    Row("LangChain function calling", structured("function_calling"), SUM, alone="failed"),
    Row("LangChain JSON mode", structured("json_mode"), SUM),
    Row("LangChain JSON schema", structured("json_schema"), SUM),
    Row("LangChain tools", langchain_tools, ("weather", CALL), alone="failed"),
    Row("LiteLLM", litellm_text, TEXT, is_text=True),
    Row("LiteLLM stream", litellm_stream, TEXT, is_text=True),
    Row("LiteLLM tools", litellm_tools, CALLED, alone="failed"),
    Row("LiteLLM object", litellm_object, SUM),
    Row("LiteLLM embedding", litellm_embedding, VECTOR, **FORWARDED),
    Row("DSPy chat", predicted("ChatAdapter"), "12"),
    Row("DSPy JSON", predicted("JSONAdapter"), "12"),
    Row("pydantic-ai", agent_text, TEXT, is_text=True),
    Row("pydantic-ai tool output", agent_output("ToolOutput"), SUM, alone="failed"),
    Row("pydantic-ai native output", agent_output("NativeOutput"), SUM),
]


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")
@in_front_of("scripted", "without log-probabilities", "thinking", ALONE)
@named(LIBRARIES)
def test_other_libraries(place: Place, row: Row) -> None:
    check(row, place)


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")
@in_front_of("scripted", ALONE)
@named([Row("LangChain temperature 0", langchain_greedy, TEXT, **FORWARDED)])
def test_what_no_vote_fits(place: Place, row: Row) -> None:
    check(row, place)


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")
def test_the_example_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    (code,) = re.findall(r"```py\n(def answers.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    with place_of("scripted") as place:
        found = names["answers"](place.url, place.model, QUESTION)
    said = {"LangChain": TEXT, "LiteLLM": TEXT, "DSPy": "12", "pydantic-ai": TEXT}
    assert found == said
    assert place.outcomes == ["voted"] * len(said)


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["langchain_client", "pydantic_ai_client"])
def test_an_example_prints_the_voted_answer(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = str(Path(__file__).parents[2] / "examples" / f"{name}.py")
    with place_of("scripted") as place:
        monkeypatch.setattr(sys, "argv", [script, place.url, place.model])
        runpy.run_path(script)
    assert capsys.readouterr().out == f"{TEXT}\n"
    assert place.outcomes == ["voted"]
