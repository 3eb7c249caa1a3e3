"""What operators see of requests: the log, the metrics, readiness, spans; and CORS."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import httpx2 as httpx
import pytest

from distrivote.engines.limited import limited
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import InputError
from distrivote.server.settings import Settings
from engines.scripted_server import Reply, ScriptedServer, Token, ToyServer
from server.test_passing_on import ASKED, gateway, post
from serving import POOL, SlowEngine, serving

SECRET = "What is in the box?"


def fields(message: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in message.split() if "=" in word)


def test_every_request_has_one_line_without_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "distrivote.server")
    turns = [{"role": "user", "content": SECRET}]
    with serving(ReplayEngine(POOL, "replay")) as url:
        post(url, model="sc@8/replay", messages=turns)
        post(url, model="replay", messages=turns, distrivote={"budget": 999})
        post(url, model=SECRET, messages=turns)
        post(url, "/v1/responses", model="replay", input=SECRET, stream=True)
        httpx.get(f"{url}/health")
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split()[:2] for line in lines] == [["POST", "/v1/chat/completions"]] * 3 + [
        ["POST", "/v1/responses"]
    ]
    voted, refused, unknown, streamed = map(fields, lines)
    assert {"status": "200", "model": "replay", "method": "sc", "budget": "8"}.items() <= voted.items()
    assert (voted["voted"], voted["tokens"]) == ("true", "16")
    assert (refused["status"], refused["voted"], refused["tokens"]) == ("400", "false", "0")
    assert unknown.keys() == {"status", "seconds"}
    assert unknown["status"] == "404"
    assert (streamed["status"], streamed["voted"], streamed["budget"]) == ("200", "true", "20")
    assert all(float(each["seconds"]) >= 0 for each in (voted, refused, unknown, streamed))
    assert "box" not in caplog.text


def test_tokens_count_by_what_became_of_them() -> None:
    with gateway() as (url, _):
        post(url, n=2)
        text = httpx.get(f"{url}/metrics").text
    assert 'distrivote_tokens_total{outcome="forwarded"} 3' in text
    assert 'distrivote_tokens_total{outcome="voted"} 0' in text


def test_a_vote_that_comes_to_nothing_is_counted() -> None:
    engine = SlowEngine(POOL)
    asked = {"model": "slow", "messages": ASKED, "distrivote": {"strict": True, "answer": "label:a,b"}}
    with serving(engine) as url:
        assert httpx.post(f"{url}/v1/chat/completions", json=asked, timeout=60).status_code == 422
        text = httpx.get(f"{url}/metrics").text
    assert 'distrivote_tokens_total{outcome="failed"} 40' in text
    assert 'distrivote_requests_total{endpoint="chat",status="422"} 1' in text


def test_a_request_whose_client_leaves_is_counted() -> None:
    def says(_prefix: str) -> list[Token]:
        return [Token("word ")] * 1000

    with (
        ScriptedServer(ToyServer(says, pause=0.05)) as upstream,
        OpenAIEngine(upstream.url) as engine,
        serving(engine, Settings(budget=2, ssc=False)) as url,
    ):
        body = {"model": "toy", "messages": ASKED, "stream": True}
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body) as reply:
            for line in reply.iter_lines():
                if '"progress"' in line and '"n_tokens":0' not in line and "n_tokens" in line:
                    break
        deadline = time.monotonic() + 20
        while True:
            text = httpx.get(f"{url}/metrics").text
            if 'status="499"' in text or time.monotonic() > deadline:
                break
            time.sleep(0.02)
    (counted,) = [line for line in text.split("\n") if 'tokens_total{outcome="cancelled"}' in line][:1]
    assert int(counted.rpartition(" ")[2]) > 0


def test_ready_knows_the_upstream() -> None:
    with serving(ReplayEngine(POOL)) as url:
        assert httpx.get(f"{url}/ready").json() == {"status": "ready", "model": "replay"}
    with (
        ScriptedServer(lambda _: Reply(401, b'{"error": {"message": "wrong key"}}')) as upstream,
        OpenAIEngine(upstream.url, "toy") as engine,
        serving(engine) as url,
    ):
        reply = httpx.get(f"{url}/ready")
        assert httpx.get(f"{url}/health").status_code == 200
    assert (reply.status_code, reply.json()["status"]) == (503, "not ready")
    assert "wants an API key" in reply.json()["why"]
    with (
        ScriptedServer(lambda _: Reply(404, b"{}")) as upstream,
        OpenAIEngine(upstream.url, "toy") as engine,
        serving(engine) as url,
    ):
        assert httpx.get(f"{url}/ready").status_code == 200


@pytest.mark.slow
def test_a_web_page_of_an_allowed_origin_may_ask() -> None:
    ours, other = "https://example.com", "https://example.org"
    ask = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    with serving(ReplayEngine(POOL), Settings(budget=4, api_key="key", allow_origins=(ours,))) as url:
        address = f"{url}/v1/chat/completions"
        allowed = httpx.options(address, headers={"origin": ours} | ask)
        refused = httpx.options(address, headers={"origin": other} | ask)
        without_key = httpx.post(address, json={}, headers={"origin": ours})
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, ours)
    assert "access-control-allow-origin" not in refused.headers
    # Else a browser would hide from the page why it is refused.
    assert (without_key.status_code, without_key.headers["access-control-allow-origin"]) == (401, ours)
    with serving(ReplayEngine(POOL)) as url:
        assert (
            "access-control-allow-origin" not in httpx.get(f"{url}/health", headers={"origin": ours}).headers
        )


@pytest.mark.parametrize("origin", ["*", "example.com", "https://example.com/page", "https://*.com"])
def test_an_origin_that_can_not_be_meant_is_refused(origin: str) -> None:
    with pytest.raises(InputError):
        Settings(allow_origins=(origin,))
    assert Settings(allow_origins=("*",), api_key="key").allow_origins == ("*",)


def test_a_cost_limit_holds_for_what_is_forwarded() -> None:
    with gateway() as (_, upstream), OpenAIEngine(upstream.url, "hosted") as engine:
        spending = limited(engine, 4)
        with serving(spending, Settings(budget=1)) as url:
            replies = [post(url, n=2) for _ in range(3)]
            assert spending.n_spent == 6
    assert [reply.status_code for reply in replies] == [200, 200, 402]
    assert replies[2].json()["error"]["type"] == "insufficient_quota"


def test_a_span_per_request_continues_the_trace_of_the_client() -> None:
    sdk: Any = pytest.importorskip("opentelemetry.sdk.trace")
    export: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry import trace

    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    body = {"model": "sc@8/replay", "messages": ASKED}
    with serving(ReplayEngine(POOL, "replay")) as url:
        httpx.post(f"{url}/v1/chat/completions", json=body, headers={"traceparent": parent})
        httpx.get(f"{url}/health")
    found = exporter.get_finished_spans()
    (span,) = [each for each in found if each.instrumentation_scope.name == "distrivote.server"]
    assert span.name == "POST /v1/chat/completions"
    assert f"{span.context.trace_id:032x}" == parent.split("-")[1]
    said = json.loads(span.to_json())["attributes"]
    assert (said["gen_ai.request.model"], said["gen_ai.usage.output_tokens"]) == ("replay", 16)
    assert (said["distrivote.method"], said["distrivote.budget"], said["distrivote.voted"]) == ("sc", 8, True)


def test_requests_that_wait_are_not_mixed_up() -> None:
    engine = SlowEngine(POOL, mixes=False)
    with serving(engine) as url:
        replies: list[int] = []
        threads = [
            threading.Thread(target=lambda: replies.append(post(url, model="slow").status_code))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        text = httpx.get(f"{url}/metrics").text
    assert replies == [200] * 3
    assert 'distrivote_tokens_total{outcome="voted"} 120' in text
