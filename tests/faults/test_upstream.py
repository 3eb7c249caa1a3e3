"""Servers that fail in every way, around the OpenAI engine and `distrivote generate`."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from distrivote import Problem, SamplingParams, SelfStepConf, vote
from distrivote.engines.openai import client as openai_server
from distrivote.engines.openai import length as openai_length
from distrivote.engines.openai import received
from distrivote.engines.openai import scheduler as openai_call
from distrivote.engines.openai.client import Server, address_of
from distrivote.engines.openai.continuation import SteeredReply
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.facts import ServerFacts
from distrivote.engines.openai.faults import Fault, fault_of_event, fault_of_reply
from distrivote.engines.openai.patience import Backoff, Patience
from distrivote.engines.openai.reply import StreamedReply
from distrivote.errors import EngineError, InputError
from distrivote.generation.sampling import generate, todo
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from engines.scripted_server import Reply, Request, ScriptedServer, is_sampled
from faults.faulty_server import FAULTS, MENDED, FaultyServer, SeededModel

PROBLEMS = [Problem(f"What is {n} + {n}?", f"q{n}", "12") for n in range(5)]
PARAMS = SamplingParams(max_tokens=40, seed=3)
BUDGET = 12
HURRIED = Patience(timeout=1.0, retry=Backoff(0.01, 0.1), aside=Backoff(0.02, 60.0), usage=0.1)
DEFAULTS = {"n_parallel": 16, "patience": HURRIED}
COLUMNS = ["question_id", "sample", "seed", "text", "answer", "confidence", "logprob", "entropy", "k"]
COLUMNS += ["n_tokens", "finish_reason", "step_ends", "step_confidences", "reflections"]


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def run(
    answer: Any, path: Path, controller: SelfStepConf | None = None, budget: int = BUDGET, **options: Any
) -> dict[tuple[str, int], dict[str, Any]]:
    """Sample all problems from a server into a run, and return its rows."""
    manifest = Manifest.of("openai", "toy", "math", "made up", PARAMS, controller, budget=budget)
    with (
        ScriptedServer(answer) as server,
        closing(OpenAIEngine(server.url, **DEFAULTS | options)) as engine,
        RunWriter(path, manifest) as writer,
    ):
        list(generate(engine, todo(PROBLEMS, budget, writer.done()), writer, PARAMS, controller))
    return rows_of(path)


def rows_of(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    rows = Run.open(path).table([*COLUMNS, "flaw"]).to_pylist()
    return {(row["question_id"], row["sample"]): row for row in rows}


def plain(row: dict[str, Any]) -> str:
    """Return a row as it can be compared: NaN equals NaN."""
    return repr({name: row[name] for name in COLUMNS})


def winners(rows: dict[tuple[str, int], dict[str, Any]]) -> dict[tuple[str, str], str | None]:
    """Return the winner of every question by every method."""
    found = {}
    for problem in PROBLEMS:
        mine = [row for (name, _), row in sorted(rows.items()) if name == problem.id]
        answers = [row["answer"] for row in mine]
        confidences = [row["confidence"] for row in mine]
        for method in ("sc", "wsc", "bon", "mob", "hier-top50", "dis-gmm"):
            found[problem.id, method] = vote(answers, confidences, method=method).answer
    return found


@pytest.mark.parametrize("steered", [False, True])
def test_with_a_third_of_all_replies_faulty_the_vote_is_that_of_the_healthy_run(
    tmp_path: Path, steered: bool
) -> None:
    controller = SelfStepConf() if steered else None
    model = SeededModel("always" if steered else "never")
    # What SelfStepConf hears in the middle of a reply it judges by, so that a later flaw would show.
    kinds = [
        kind for kind in MENDED if not steered or kind not in ("3 logprobs", "1 logprob", "equal entries")
    ]
    healthy = run(model, tmp_path / "healthy", controller)
    server = FaultyServer(model, kinds)
    faulty = run(server, tmp_path / "faulty", controller)
    assert sum(server.n_faults.values()) > 0.2 * server.n_replies
    assert len(healthy) == len(PROBLEMS) * BUDGET
    assert {key: plain(row) for key, row in faulty.items()} == {k: plain(row) for k, row in healthy.items()}
    assert winners(faulty) == winners(healthy)
    assert max(server.n_asked.values()) <= 4 * HURRIED.n_attempts


def test_with_every_fault_each_trajectory_is_right_or_says_what_is_wrong(tmp_path: Path) -> None:
    healthy = run(SeededModel(), tmp_path / "healthy")
    server = FaultyServer(SeededModel(), seed=1)
    faulty = run(server, tmp_path / "faulty")
    assert faulty.keys() == healthy.keys()
    assert len(server.n_faults) > 8
    assert any(row["flaw"] for row in faulty.values())
    for key, row in faulty.items():
        if row["flaw"] is None:
            assert plain(row) == plain(healthy[key])


def test_an_empty_reply_is_no_trajectory_for_selfstepconf_either(tmp_path: Path) -> None:
    healthy = run(SeededModel("always"), tmp_path / "healthy", SelfStepConf(), budget=4)
    server = FaultyServer(SeededModel("always"), ["no choices"], share=0.5)
    faulty = run(server, tmp_path / "faulty", SelfStepConf(), budget=4)
    assert {key: plain(row) for key, row in faulty.items()} == {k: plain(row) for k, row in healthy.items()}


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_is_survived_where_the_next_reply_is_good(tmp_path: Path, kind: str) -> None:
    n_asked: dict[int, int] = {}

    def answer(request: Request) -> Reply:
        reply = SeededModel()(request)
        if not is_sampled(request.body or {}):
            return reply
        seed = request.body["seed"]
        n_asked[seed] = n_asked.get(seed, 0) + 1
        return FAULTS[kind](reply, random.Random(seed)) if n_asked[seed] == 1 else reply

    rows = run(answer, tmp_path / "run", budget=2, timeout=0.5 if kind == "silence" else 30)
    assert len(rows) == 2 * len(PROBLEMS)
    flaws = {row["flaw"] for row in rows.values()}
    if kind in ("-inf", "NaN"):
        assert flaws == {"fewer than 20 usable log-probabilities at 7 of 7 tokens"}
    elif kind == "partial logprobs":
        assert all(re.fullmatch("fewer than 20 usable .* at [1-7] of 7 tokens", flaw) for flaw in flaws)
    elif kind == "endless":
        assert flaws == {"cut at max_tokens, where the server went on"}
        assert {(row["n_tokens"], row["finish_reason"]) for row in rows.values()} == {(40, "length")}
    else:
        assert flaws == {None}
        # A reply that came twice in one piece is the same reply.
        assert set(n_asked.values()) == {2}


FLAWS = {
    "no logprobs": "no log-probabilities",
    "3 logprobs": "3 log-probabilities at each token instead of 20",
    "1 logprob": "1 log-probabilities at each token instead of 20",
    "other texts": "its tokens do not spell its text",
    "another text": "its tokens do not spell its text",
    "lost text": "its tokens do not spell its text",
    "index 7": "its choice has the number 7",
    "index -1": "its choice has the number -1",
    'index "0"': "its choice has the number '0'",
    "equal entries": "the probabilities at 7 of 7 tokens add up to 19",
    "false": "log-probability false is not a number",
    "above 0": "log-probability 3.5 is above 0",
}


@pytest.mark.parametrize("kind", FLAWS)
def test_a_flaw_that_stays_is_kept_with_its_reason_and_not_asked_for_ever(tmp_path: Path, kind: str) -> None:
    def answer(request: Request) -> Reply:
        reply = SeededModel()(request)
        return FAULTS[kind](reply, random.Random(0)) if is_sampled(request.body or {}) else reply

    server = FaultyServer(answer, share=0.0)
    rows = run(server, tmp_path / "run", n_parallel=1)
    assert {row["flaw"] for row in rows.values()} == {FLAWS[kind]}
    right = "112" if kind == "another text" else "12"
    assert {row["answer"] for row in rows.values()} == {right, "35", "7", None}
    # Four times one is asked for again; then this is the server's way, and the rest are asked for once.
    assert sum(server.n_asked.values()) == len(rows) + 4


def test_a_refusal_that_stays_is_kept_with_its_text(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        reply = SeededModel()(request)
        return FAULTS["refusal"](reply, random.Random(0)) if (request.body or {}).get("stream") else reply

    rows = run(answer, tmp_path / "run", budget=1, n_parallel=1)
    assert {(row["text"], row["flaw"], row["answer"]) for row in rows.values()} == {
        ("I can't help with that.", "a refusal instead of a reply", None)
    }


def lost(events: list[Any]) -> list[Any]:
    return events[:2] + events[3:]


def doubled(events: list[Any]) -> list[Any]:
    return events[:3] + events[2:]


@pytest.mark.parametrize("change", [lost, doubled])
@pytest.mark.parametrize("steered", [False, True])
def test_an_event_that_is_lost_or_comes_twice_is_seen_in_the_servers_count(
    tmp_path: Path, change: Any, steered: bool
) -> None:
    """The text and its tokens still fit each other: one event less, and 12 is read as 2."""
    controller = SelfStepConf(delta=0.0) if steered else None
    model = SeededModel("always" if steered else "never")
    n_asked: dict[int, int] = {}

    def answer(request: Request) -> Reply:
        reply = model(request)
        if not (request.body or {}).get("stream"):
            return reply
        seed = request.body["seed"]
        n_asked[seed] = n_asked.get(seed, 0) + 1
        is_spoiled = len(n_asked) > 5 and len(n_asked) % 3 == 0 and n_asked[seed] == 1
        return replace(reply, events=change(list(reply.events))) if is_spoiled else reply

    healthy = run(model, tmp_path / "healthy", controller)
    faulty = run(answer, tmp_path / "faulty", controller, n_parallel=1)
    assert {key: plain(row) for key, row in faulty.items()} == {k: plain(row) for k, row in healthy.items()}
    assert {row["flaw"] for row in faulty.values()} == {None}
    assert sum(n_asked.values()) > len(faulty) + 10


def test_a_reply_of_another_model_is_asked_for_again(tmp_path: Path) -> None:
    n_asked: dict[int, int] = {}

    def answer(request: Request) -> Reply:
        reply = SeededModel()(request)
        if not is_sampled(request.body or {}):
            return reply
        seed = request.body["seed"]
        n_asked[seed] = n_asked.get(seed, 0) + 1
        name = "cheaper" if len(n_asked) > 3 and n_asked[seed] == 1 else "org/Toy-2026"
        return replace(reply, events=[event | {"model": name} for event in reply.events])

    rows = run(answer, tmp_path / "run", budget=2, n_parallel=1)
    assert {row["flaw"] for row in rows.values()} == {None}
    assert sum(n_asked.values()) == 2 * len(rows) - 3


@pytest.mark.parametrize("kind", ["502", "503", "429", "another page", "3 logprobs", "no logprobs"])
def test_a_bad_first_reply_does_not_spoil_the_run(tmp_path: Path, kind: str) -> None:
    n_probes = 0

    def answer(request: Request) -> Reply:
        nonlocal n_probes
        reply = SeededModel()(request)
        n_probes += not (request.body or {}).get("stream")
        if request.body is None or request.body.get("stream") or n_probes > 2:
            return reply
        return FAULTS[kind](reply, random.Random(0))

    rows = run(answer, tmp_path / "run", budget=1)
    assert {(row["flaw"], row["k"]) for row in rows.values()} == {(None, 20)}


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_bad_probe_does_not_cost_selfstepconf(tmp_path: Path, status: int) -> None:
    n_probes = 0

    def answer(request: Request) -> Reply:
        nonlocal n_probes
        if request.body is not None and not request.body.get("stream"):
            n_probes += 1
            if n_probes % 3 == 2:
                return FAULTS[str(status)](Reply(), random.Random(0))
        return SeededModel("always")(request)

    rows = run(answer, tmp_path / "run", SelfStepConf(), budget=1)
    assert all(row["reflections"] is not None for row in rows.values())


def test_a_server_that_only_fails_is_given_up_after_a_bounded_number_of_attempts(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        reply = SeededModel()(request)
        return FAULTS["truncated"](reply, random.Random(0)) if is_sampled(request.body or {}) else reply

    server = FaultyServer(answer, share=0.0)
    with pytest.raises(EngineError, match="broke off a reply") as caught:
        run(server, tmp_path / "run")
    assert caught.value.retryable
    assert max(server.n_asked.values()) <= HURRIED.n_attempts
    assert rows_of(tmp_path / "run") == {}


def test_pauses_between_attempts_grow_are_bounded_and_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[float, float]] = []

    class Watched:
        @staticmethod
        def uniform(low: float, high: float) -> float:
            drawn.append((low, high))
            return random.uniform(low, high)

    monkeypatch.setattr(openai_call, "random", Watched)
    run(FaultyServer(SeededModel(), ["500", "reset"]), tmp_path / "run")
    assert set(drawn) == {(0.5, 1.0)}
    assert len(drawn) > 10


# Replies without an end


def repeated(event: bytes) -> Iterator[bytes]:
    while True:
        yield event


@pytest.mark.parametrize(
    ("event", "pause", "says"),
    [
        (b": still here\n\n", 0.02, "nothing of use came"),
        (b'data: {"choices": []}\n\n', 0.0, "it has no end"),
        (b'data: {"choices": [{"delta": {"content": ""}}]}\n\n', 0.0, "it has no end"),
        (b"data: " + b"x" * 10_000, 0.0, "it has more than 0 MB"),
    ],
)
def test_a_stream_that_never_says_anything_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: bytes, pause: float, says: str
) -> None:
    monkeypatch.setattr(openai_server, "LARGEST", 1 << 19)
    monkeypatch.setattr(openai_length, "_SPARE_CHUNKS", 100)

    def answer(request: Request) -> Reply:
        reply = SeededModel()(request)
        streams = is_sampled(request.body or {})
        return Reply(events=repeated(event), pause=pause) if streams else reply

    with pytest.raises(EngineError, match=says):
        run(answer, tmp_path / "run", budget=1, n_parallel=2, patience=replace(HURRIED, n_attempts=2))


def test_a_text_without_tokens_that_never_ends_is_cut(tmp_path: Path) -> None:
    event = b'data: {"choices": [{"delta": {"content": "' + b"x" * 500 + b'"}}]}\n\n'

    def answer(request: Request) -> Reply:
        reply = SeededModel()(request)
        return Reply(events=repeated(event)) if is_sampled(request.body or {}) else reply

    rows = run(answer, tmp_path / "run", budget=1)
    assert {row["text"] for row in rows.values()} == {"x" * 64 * 40}
    assert {row["finish_reason"] for row in rows.values()} == {"length"}


def test_a_whole_reply_that_is_too_large_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_server, "LARGEST", 1 << 19)
    with pytest.raises(EngineError, match="more than 0 MB"):
        run(lambda _: Reply(body=b" " * (1 << 20)), tmp_path / "run", budget=1, model="toy")


# Chunks of any shape

ODD: list[Any] = [None, 0, -1, 1.5, 10**400, "x", "", [], [None], {}, {"a": 1}, True, float("nan"), [[]]]
ODD.append("token_id:x")


def mutated(value: Any, rng: random.Random) -> Any:
    """Return a JSON value with one place replaced."""
    if rng.random() < 0.15 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(ODD)
    changed = value.copy()
    place = rng.choice(list(changed) if isinstance(changed, dict) else range(len(changed)))
    changed[place] = mutated(changed[place], rng)
    return changed


def test_no_chunk_makes_anything_but_a_fault() -> None:
    rng = random.Random(0)
    server = Server(address_of("http://h/v1"), ServerFacts("toy"), "key")
    body = {"model": "toy", "messages": [{"role": "user", "content": "?"}], "max_tokens": 40}
    request = Request("POST", "/v1/chat/completions", {}, body | {"stream": True, "top_logprobs": 20})
    chunks = [event for event in SeededModel()(request).events if event["choices"]]
    n_read = 0
    for _ in range(1000):
        steered = SteeredReply(SelfStepConf(), PARAMS, 20)
        streamed = StreamedReply()
        try:
            for chunk in (mutated(rng.choice(chunks), rng), *chunks):
                (found,) = server._chunks(json.dumps(chunk).encode())
                for _, choice in received.numbered(server, found.choices, 1):
                    for add in (streamed.add, steered.add):
                        added = received.add_choice(server, add, choice)
                        with pytest.raises(StopIteration):
                            added.send(None)
            steered.end()
            streamed.trajectory("here")
            n_read += 1
        except (Fault, InputError):
            continue
    assert n_read > 100


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"error": ' * 50_000, b"\xff\x00", b"", b'{"error": []}'])
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_no_refusal_makes_anything_but_a_sentence(status: int, body: bytes) -> None:
    for headers in ({}, {"retry-after": "nan"}, {"retry-after": "-5"}, {"retry-after": "1e999"}):
        fault = fault_of_reply("http://h/v1", "x", status, headers, body, model="m", key="k")
        assert "\n" not in fault.sentence
        assert fault.retry_after is None or fault.retry_after >= 0
    dated = {"retry-after": "Wed, 21 Oct 2026 07:28:09 -0000", "date": "Wed, 21 Oct 2026 07:28:09 GMT"}
    fault_of_reply("http://h/v1", "x", status, dated, body, model="m", key="k")
    fault_of_event("http://h/v1", {"code": 10**400}, model="m", key="k")


# Nobody there


def command(url: str, path: Path, budget: int) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "distrivote", "generate", "arithmetic", "--size", "3", "--no-ssc"]
    words += ["--base-url", url, "--model", "toy", "--budget", str(budget), "-o", str(path)]
    return subprocess.run(words, capture_output=True, text=True)


def test_a_server_that_is_down_is_one_line_and_what_was_stored_stays(tmp_path: Path) -> None:
    with ScriptedServer(SeededModel()) as server:
        assert command(server.url, tmp_path / "run", 2).returncode == 0
    before = {key: plain(row) for key, row in rows_of(tmp_path / "run").items()}
    assert len(before) == 6
    down = command(server.url, tmp_path / "run", 4)
    assert down.returncode == 1
    assert down.stdout == ""
    assert len(down.stderr.splitlines()) == 1
    assert "can't be reached (connection refused): check --base-url" in down.stderr
    assert {key: plain(row) for key, row in rows_of(tmp_path / "run").items()} == before


def test_replies_that_are_asked_for_together_are_mended_one_by_one(tmp_path: Path) -> None:
    rows = run(FaultyServer(SeededModel(), MENDED, seed=2), tmp_path / "run", n_per_request=4)
    assert len(rows) == len(PROBLEMS) * BUDGET
    assert {row["flaw"] for row in rows.values()} == {None}
