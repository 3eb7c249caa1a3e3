"""Clients that go away, requests that have to wait, and those that are too many."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2 as httpx
import pytest
from starlette.types import Message

from distrivote.server import streaming
from distrivote.server.settings import Settings
from distrivote.server.streaming import event
from serving import POOL, SlowEngine, serving

BODY = {"model": "slow", "messages": [{"role": "user", "content": "How many?"}]}


def test_an_event_is_one_line_of_data_whatever_it_holds() -> None:
    lines = event({"text": "a\nb\r\n\u2028<script>"}, "x").decode().split("\n")
    assert lines[0] == "event: x"
    assert json.loads(lines[1].removeprefix("data: ")) == {"text": "a\nb\r\n\u2028<script>"}
    assert lines[2:] == ["", ""]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", BODY),
        ("/v1/chat/completions", BODY | {"stream": True}),
        ("/api/ask", {"question": "How many?"}),
    ],
)
def test_a_client_that_goes_away_ends_its_sampling(path: str, body: dict[str, object]) -> None:
    engine = SlowEngine(POOL)
    engine.pause = 30.0
    with serving(engine) as url:
        with httpx.Client(timeout=0.3) as client, pytest.raises(httpx.ReadTimeout):
            client.post(url + path, json=body)
        # A whole trajectory would take 30 s.
        assert engine.ended.wait(10)
        while 'status="499"} 1' not in httpx.get(f"{url}/metrics").text:
            time.sleep(0.01)
        assert "under_way 0" in httpx.get(f"{url}/metrics").text
        engine.pause = 0.0
        assert httpx.post(url + path, json=body).status_code == 200


def test_requests_wait_for_an_engine_that_takes_one_at_a_time() -> None:
    engine = SlowEngine(POOL, mixes=False)
    engine.pause = 0.005
    with serving(engine) as url, ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: httpx.post(f"{url}/v1/chat/completions", json=BODY), range(4)))
        assert [reply.status_code for reply in replies] == [200] * 4
    assert engine.n_overlaps == 0


def test_requests_overlap_where_the_engine_can_mix_them() -> None:
    engine = SlowEngine(POOL)
    engine.pause = 0.05
    with serving(engine) as url, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: httpx.post(f"{url}/v1/chat/completions", json=BODY), range(4)))
    assert engine.n_overlaps > 0


def test_those_over_the_limit_are_told_when_to_come_back() -> None:
    engine = SlowEngine(POOL)
    engine.pause = 30.0
    with (
        serving(engine, Settings(budget=20, max_concurrency=1)) as url,
        httpx.stream("POST", f"{url}/api/ask", json={"question": "?"}) as held,
    ):
        lines = held.iter_lines()  # dropping it would close the connection
        assert next(lines) == "event: started"
        for body in (BODY, BODY | {"stream": True}):
            reply = httpx.post(f"{url}/v1/chat/completions", json=body)
            assert reply.status_code == 429
            assert int(reply.headers["retry-after"]) >= 1
            assert reply.json()["error"]["type"] == "rate_limit_error"
        assert httpx.post(f"{url}/api/ask", json={"question": "?"}).status_code == 429
        counted = httpx.get(f"{url}/metrics").text
        assert 'endpoint="ask",status="429"} 1' in counted
        assert 'endpoint="chat",status="429"} 2' in counted


def test_nothing_is_put_between_the_parts_of_a_forwarded_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be halves of an event, or no events at all."""
    monkeypatch.setattr(streaming, "KEEP_ALIVE", 0.01)

    async def parts() -> AsyncGenerator[bytes]:
        yield b"data: on"
        await asyncio.sleep(0.1)
        yield b"e\n\n"

    async def sent(keeps_alive: bool) -> bytes:
        found: list[bytes] = []

        async def send(message: Message) -> None:
            found.append(message.get("body", b""))

        async def receive() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        reply = streaming.EventStream(parts(), ExitStack(), keeps_alive=keeps_alive)
        await reply({"type": "http"}, receive, send)
        return b"".join(found)

    assert asyncio.run(sent(False)) == b"data: one\n\n"
    assert b": still here" in asyncio.run(sent(True))
