"""What servers are asked over HTTP: every address, whole and streamed, and every kind of error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distrivote import Trajectory
from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from goldens.exchanges import KEY, MODEL, Asked, Conversation
from serving import POOL, SlowEngine, reply

_RUNS = Path(__file__).parents[2] / "examples" / "runs"
_QUESTION = [{"role": "user", "content": "How many?"}]


def _chat(address: str = "POST /v1/chat/completions", **more: Any) -> Asked:
    return Asked(address, {"model": MODEL, "messages": _QUESTION} | more)


def _complete(**more: Any) -> Asked:
    return Asked("POST /v1/completions", {"model": MODEL, "prompt": "How many?"} | more)


def _page(question: str = "How many?", **more: Any) -> Asked:
    return Asked("POST /api/ask", {"question": question} | more)


def _get(path: str, **more: Any) -> Asked:
    return Asked(f"GET {path}", **more)


_WRONG: tuple[dict[str, Any], ...] = (
    {"distrivote": {"bugdet": 3}},
    {"distrivote": {"ssc": {"alfa": 1}}},
    {"colour": 1, "shape": 2},
    {"distrivote": {"budget": 10**9}},
    {"distrivote": {"budget": 0}},
    {"distrivote": {"budget": "8"}},
    {"distrivote": {"budget": 21}},
    {"distrivote": {"method": "dis-gnn"}},
    {"distrivote": {"stop_when": "never"}},
    {"distrivote": {"template": "poem"}},
    {"distrivote": {"ssc": {"split": "word"}}},
    {"distrivote": {"ssc": {"reflection": " "}}},
    {"distrivote": {"min_probability": 2}},
    {"distrivote": {"deepconf": "low", "ssc": True}},
    {"model": "sc@8/org/replay", "distrivote": {"budget": 9}},
    {"model": "dis-gmm@999999999/org/replay"},
    {"model": "gpt-5"},
    {"model": None},
    {"messages": []},
    {"messages": [{"role": "tool", "content": "x"}]},
    {"messages": [{"role": "assistant", "content": "x"}]},
    {"messages": [{"role": "user", "content": " "}]},
    {"n": 2},
    {"tools": [{}]},
    {"frequency_penalty": 0.5},
    {"temperature": -1},
    {"stop": [""]},
    {"max_tokens": 10**9},
    {"max_tokens": 5, "max_completion_tokens": 6},
)
_RUN = Settings(budget=20, api_key=KEY, run=_RUNS / "qwen2.5-coder-ssc")
_QUESTIONS = "/api/run/questions"


def _conversations() -> Iterator[Conversation]:
    yield Conversation(
        "models",
        (
            *(_get("/v1/models"), _get("/v1/models/sc@5/org/replay"), _get("/v1/models/gpt-5")),
            *(_get("/health", whole=True), _get("/v1/models", whole=True), _get("/api/settings")),
        ),
    )
    yield Conversation(
        "chat",
        (
            _chat(),
            _chat(
                distrivote={"budget": 3, "method": "sc", "ssc": {"alpha": 0.5}, "return_trajectories": True}
            ),
            _chat(model="sc@9/org/replay", temperature=0.5, seed=7),
            _chat(distrivote={"stop_when": "beta"}),
            _chat(distrivote={"method": "auto", "min_probability": 0.999}),
            _chat(distrivote={"template": "math", "ssc": False}),
        ),
    )
    yield Conversation(
        "chat-stream",
        (
            _chat(stream=True, stream_options={"include_usage": True}),
            _chat(stream=True, distrivote={"stop_when": "beta", "method": "sc"}),
            _chat(stream=True, distrivote={"budget": 21}),
        ),
    )
    yield Conversation(
        "completions", (_complete(), _complete(prompt=["How many?"], stream=True), _complete(echo=True))
    )
    yield Conversation(
        "page",
        (
            _page(budget=3),
            _page(budget=2, ssc=False, method="sc", template="plain"),
            _page(""),
            _page(budjet=3),
            _page(budget=10**9),
            _page(deepconf="lo"),
        ),
    )
    yield Conversation(
        "run",
        (
            _get("/api/run"),
            _get(f"{_QUESTIONS}?method=sc"),
            _get(f"{_QUESTIONS}/gsm8k-164"),
            _get(f"{_QUESTIONS}/gsm8k-164/samples/3"),
            _get(f"{_QUESTIONS}/no-such-question"),
            _get(f"{_QUESTIONS}/gsm8k-164/samples/99"),
            _get(f"{_QUESTIONS}/gsm8k-164/samples/x"),
            _get(f"{_QUESTIONS}?method=nothing"),
        ),
        settings=_RUN,
    )
    yield Conversation("chat-errors", tuple(_chat(**wrong) for wrong in _WRONG))
    yield Conversation(
        "errors",
        (
            Asked("POST /v1/chat/completions", b""),
            Asked("POST /v1/chat/completions", b'{"model": }'),
            Asked("POST /v1/chat/completions", b"[]"),
            _chat("POST /chat/completions"),
            _chat("POST /v1/responses"),
            _get("/v1/chat/completions"),
            _get("/v1/nothing"),
            _get("/api/run"),
            _get("/v1/models", headers={}),
            _get("/v1/models", headers={"authorization": "Bearer wrong"}),
            Asked("POST /v1/chat/completions", b"x" * 20_001, meaning="20,001 bytes"),
        ),
    )
    yield Conversation(
        "other-host",
        (_get("/health", headers={"host": "example.org"}),),
        settings=Settings(budget=20, hosts=("127.0.0.1",)),
    )
    yield Conversation(
        "no-answer",
        (_chat(), _chat(stream=True), _page(budget=1)),
        engine=lambda: ReplayEngine([reply(None, 9.0)] * 20, MODEL),
    )
    yield Conversation(
        "no-confidence",
        (_chat(distrivote={"budget": 3}),),
        engine=lambda: ReplayEngine([_plain("4"), _plain("5"), _plain("5")], MODEL),
    )
    yield Conversation("engine-fails", (_chat(model="slow"),), engine=lambda: SlowEngine(POOL, fails_after=9))
    yield Conversation(
        "engine-fails-at-once",
        (_chat(model="slow"), _chat(model="slow", stream=True), _page()),
        engine=lambda: SlowEngine(POOL, fails_after=0),
    )
    yield Conversation(
        "busy",
        (_chat(model="slow"), _chat(model="slow", stream=True), _page()),
        engine=_very_slow,
        settings=Settings(budget=20, max_concurrency=1),
        busy=True,
    )
    # Not a stream: it is counted when it is over, a moment after its last event.
    yield Conversation("metrics", (_chat(), _chat(distrivote={"budget": 21}), _complete(), _get("/metrics")))


def _plain(answer: str) -> Any:
    return Trajectory(f"\\boxed{{{answer}}}")


def _very_slow() -> SlowEngine:
    engine = SlowEngine(POOL)
    engine.pause = 60.0
    return engine


CONVERSATIONS = {conversation.name: conversation for conversation in _conversations()}
