"""The server in front of another: what it passes on, what it ends, and what it makes of one that dies."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2 as httpx
import openai
import pytest

from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.patience import PATIENCE, Backoff, Patience
from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer, is_sampled
from serving import POOL, serving

ASKED: Any = [{"role": "user", "content": "How many are there?"}]
BODY = {"model": "toy", "messages": ASKED, "distrivote": {"budget": 6, "ssc": False, "method": "sc"}}


def says(_prefix: str) -> Sequence[Token]:
    return [Token("Well", 9.0), Token(".\n\n", 9.0), Token("\\boxed{12}", 9.0)]


@contextmanager
def in_front_of(
    url: str, model: str | None = None, *, ssc: bool = True, patience: Patience = PATIENCE
) -> Iterator[str]:
    """Serve what a server at an address samples."""
    with (
        OpenAIEngine(url, model, patience=patience) as engine,
        serving(engine, Settings(budget=6, ssc=ssc)) as own,
    ):
        yield own


def test_the_openai_client_gets_a_vote_on_what_the_other_server_samples() -> None:
    with (
        ScriptedServer(ToyServer(says, template=True)) as upstream,
        in_front_of(upstream.url) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        reply = client.chat.completions.create(model="toy", messages=ASKED)
    assert reply.choices[0].message.content == "Well.\n\n\\boxed{12}"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1, 18)
    vote: Any = reply.model_extra["distrivote"]  # type: ignore[index]
    assert (vote["answer"], vote["n_trajectories"], vote["share"]) == ("12", 6, 1.0)
    assert len(upstream.sampled()) == 6


def test_a_server_that_cant_be_steered_is_asked_plainly_where_that_is_the_default() -> None:
    with (
        ScriptedServer(ToyServer(says, completes=False)) as upstream,
        in_front_of(upstream.url, ssc=False) as url,
    ):
        plain = {"model": "toy", "messages": ASKED}
        assert httpx.post(f"{url}/v1/chat/completions", json=plain).status_code == 200
        steered = httpx.post(f"{url}/v1/chat/completions", json=plain | {"distrivote": {"ssc": True}})
        refused = steered.json()["error"]
        assert (steered.status_code, refused["param"]) == (400, "distrivote.ssc")
        assert 'use "distrivote": {"ssc": false}' in refused["message"]
        assert "event: final" in httpx.post(f"{url}/api/ask", json={"question": "How many?"}).text
        assert httpx.get(f"{url}/api/settings").json()["defaults"]["ssc"] is None


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/ask"])
def test_a_client_that_goes_away_ends_the_streams_of_the_other_server(path: str) -> None:
    toy = ToyServer(lambda _: [Token("word ")] * 1000, pause=0.1)
    body = BODY if path.startswith("/v1") else {"question": "How many?", "ssc": False, "method": "sc"}
    with ScriptedServer(toy) as upstream, in_front_of(upstream.url) as url:
        with httpx.stream("POST", url + path, json=body | {"stream": True} if path != "/api/ask" else body):
            wait_for(lambda: upstream.n_open == 6)
        # Each of them would have gone on for 100 s.
        wait_for(lambda: upstream.n_open == 0)
    assert upstream.n_left == 6


def test_one_that_dies_on_the_way_leaves_a_vote_on_what_there_is() -> None:
    patience = Patience(retry=Backoff(0.01, 30.0), without_server=0.0)
    toy, begun = ToyServer(says), threading.Lock()
    n_begun = 0

    def answer(request: Request) -> Reply:
        nonlocal n_begun
        reply = toy(request)
        with begun:
            n_begun += is_sampled(request.body or {})
            if n_begun > 4:
                reply.end, reply.events = "hang", list(reply.events)[:2]
        return reply

    with ScriptedServer(answer) as upstream, in_front_of(upstream.url, patience=patience) as url:
        replies: list[Any] = []
        asking = threading.Thread(
            target=lambda: replies.append(httpx.post(f"{url}/v1/chat/completions", json=BODY, timeout=60))
        )
        asking.start()
        wait_for(lambda: upstream.n_open == 2 and n_begun >= 6)
        upstream.stop()
        asking.join()
    assert replies[0].status_code == 200, replies[0].text
    vote = replies[0].json()["distrivote"]
    assert (vote["answer"], vote["n_trajectories"]) == ("12", 4)
    assert "the engine failed after 4 of 6 trajectories" in vote["stopped"]
    assert upstream.url in vote["stopped"]


def test_one_that_is_not_there_is_an_error_that_names_it() -> None:
    with ScriptedServer(ToyServer(says)) as upstream:
        pass
    with in_front_of(upstream.url, "toy", patience=Patience(retry=Backoff(0.01, 30.0))) as url:
        reply = httpx.post(f"{url}/v1/chat/completions", json=BODY)
    assert reply.status_code == 502
    assert upstream.url in reply.json()["error"]["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (401, "Incorrect API key", (424, "configuration", None)),
        (402, "no credit", (424, "configuration", None)),
        (404, "the model toy does not exist", (404, "model_not_found", "model")),
        (404, "Not Found", (424, "configuration", None)),
        (400, "temperature must be 1", (400, None, "temperature")),
    ],
)
def test_what_only_a_change_helps_against_has_no_status_that_clients_retry(
    status: int, said: str, expected: tuple[int, str | None, str | None]
) -> None:
    refusal = json.dumps({"error": {"message": said}}).encode()
    with (
        ScriptedServer(lambda _: Reply(status, refusal)) as upstream,
        in_front_of(upstream.url, "toy", patience=Patience(retry=Backoff(0.01, 0.1))) as url,
    ):
        reply = httpx.post(f"{url}/v1/chat/completions", json=BODY, timeout=60)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["param"]) == expected, error
    assert said in error["message"]
    assert "--" not in error["message"]


def test_nothing_is_sent_that_nobody_set_but_for_what_the_vote_needs() -> None:
    plain = {"model": "toy", "messages": ASKED, "distrivote": {"ssc": False}}
    with (
        ScriptedServer(ToyServer(says, template=True)) as upstream,
        in_front_of(upstream.url, ssc=False) as url,
    ):
        assert httpx.post(f"{url}/v1/chat/completions", json=plain).status_code == 200
        silent = upstream.sampled()[-1]
        said = {"temperature": 0.3, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "max_tokens": 9}
        said |= {"repetition_penalty": 1.1}
        assert httpx.post(f"{url}/v1/chat/completions", json=plain | said).status_code == 200
        told = upstream.sampled()[-1]
    assert silent.keys() == {
        *("model", "messages", "stream", "stream_options", "seed", "logprobs", "top_logprobs")
    }
    assert said.items() <= told.items()


def test_a_server_of_ours_may_stand_behind_another() -> None:
    with serving(ReplayEngine(POOL, "toy")) as inner, in_front_of(inner, "toy") as url:
        reply = httpx.post(f"{url}/v1/chat/completions", json=BODY)
    assert reply.status_code == 200, reply.text
    assert reply.json()["distrivote"]["answer"] == "12"


def wait_for(happened: Any) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)
