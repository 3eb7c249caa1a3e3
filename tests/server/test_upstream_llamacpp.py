"""`distrivote serve --base-url` in front of a real server: llama.cpp's own, with the built-in model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import openai
import pytest

from engines.llamacpp_server import llamacpp_server, n_busy
from server.command import served

pytestmark = pytest.mark.model

ASKED: Any = [{"role": "user", "content": "Tom has 5 apples and buys 7 more. How many has he?"}]


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with llamacpp_server() as url:
        yield url


@pytest.fixture(scope="module")
def url(upstream: str) -> Iterator[str]:
    with served("--base-url", upstream) as url:
        yield url


def test_the_openai_client_gets_a_vote(url: str) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=600) as client:
        model = client.models.list().data[0].id
        reply = client.chat.completions.create(
            model=model, messages=ASKED, max_tokens=40, extra_body={"distrivote": {"template": "worked"}}
        )
    vote: Any = reply.model_extra["distrivote"]  # type: ignore[index]
    assert vote["n_trajectories"] == 4
    assert vote["answer"] in (reply.choices[0].message.content or "")
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 20
    assert reply.usage.completion_tokens == vote["n_tokens"] <= 160


def test_a_client_that_goes_away_frees_the_slots(url: str, upstream: str) -> None:
    model = httpx.get(f"{url}/v1/models").json()["data"][0]["id"]
    body = {"model": model, "messages": ASKED, "max_tokens": 1500, "temperature": 1.5, "stream": True}
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=600):
        wait_for(upstream, 4)
    # Each of them has room for 1,500 tokens.
    wait_for(upstream, 0)


def wait_for(upstream: str, n: int) -> None:
    deadline = time.monotonic() + 120
    while n_busy(upstream) != n:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_server_that_is_killed_leaves_a_vote_or_an_error_that_names_it() -> None:
    with llamacpp_server() as upstream:
        front = served("--base-url", upstream)
        url = front.__enter__()
        model = httpx.get(f"{url}/v1/models").json()["data"][0]["id"]
        body = {"model": model, "messages": ASKED, "max_tokens": 1500, "stream": True}
        stream = httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=600)
        reply = stream.__enter__()
        wait_for(upstream, 4)
    try:
        lines = [line for line in reply.iter_lines() if line]
        assert upstream in lines[-1] or upstream in lines[-2]
    finally:
        stream.__exit__(None, None, None)
        front.__exit__(None, None, None)
