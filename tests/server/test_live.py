"""The page's question: every event as docs/server-events.md has it."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import httpx2 as httpx
import pytest

from distrivote.engines.base import BaseEngine, Job, Partial, Progress, Watch
from distrivote.engines.replay import ReplayEngine
from distrivote.reading import Reader, Reading
from distrivote.steering import ENDED, Controller
from distrivote.trajectory import Trajectory
from distrivote.voting.stopping import RULES
from serving import POOL, SlowEngine, reply, serving


def events_of(url: str, body: dict[str, object]) -> list[tuple[str, Any]]:
    answer = httpx.post(f"{url}/api/ask", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    blocks = [block for block in answer.text.split("\n\n") if block and not block.startswith(":")]
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in (block.split("\n") for block in blocks)
    ]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(ReplayEngine(POOL)) as url:
        yield url


def test_events_begin_with_the_settings_and_end_with_the_vote(url: str) -> None:
    events = events_of(url, {"question": "How many?", "template": "math"})
    names = [name for name, _ in events]
    assert names[0] == "started"
    assert names[-1] == "final"
    assert names.count("trajectory") == 20
    assert "tally" in names
    started, final = events[0][1], events[-1][1]
    assert (started["budget"], started["method"], started["template"]) == (20, "dis-gmm", "math")
    assert started["ssc"] == {"alpha": 0.8, "delta": 0.8, "reflection": "wait", "split": "paragraph"}
    assert (final["answer"], final["majority"], final["best"]) == ("12", "35", 7)
    assert (final["n_tokens"], final["n_trajectories"], final["stopped"]) == (40, 20, None)


def test_the_vote_counts_every_stage(url: str) -> None:
    tally = events_of(url, {"question": "How many?"})[-1][1]
    assert (tally["answers"], tally["rejected"]) == (["12", "35"], "35")
    assert tally["votes"] == {"12": 8, "35": 10}
    assert tally["likely_right_votes"] == {"12": 8, "35": 0}
    assert tally["kept_votes"] == {"12": 4, "35": 0}
    low, high = tally["first_split"]["means"]
    assert low < tally["first_split"]["cut"] < high
    ballot = tally["ballot"]
    assert [entry["index"] for entry in ballot] == list(range(20))
    assert sum(entry["confidence"] is not None for entry in ballot) == 18
    assert sum(entry["likely_right"] is True for entry in ballot) == tally["first_split"]["n_positive"]
    assert sum(entry["likely_right"] is False for entry in ballot) == tally["first_split"]["n_negative"]
    assert sum(entry["rejected"] for entry in ballot) == 10
    assert sum(entry["kept"] for entry in ballot) == tally["n_kept"]
    assert tally["explanation"].startswith("12 wins with 100% of the score")


def test_ssc_can_be_switched_off_or_set(url: str) -> None:
    off = events_of(url, {"question": "How many?", "ssc": False})
    assert off[0][1]["ssc"] is None
    assert next(data for name, data in off if name == "trajectory")["thresholds"] == []
    own = events_of(url, {"question": "How many?", "ssc": {"delta": 0.5, "split": "line"}})
    assert own[0][1]["ssc"] == {"alpha": 0.8, "delta": 0.5, "reflection": "wait", "split": "line"}


def test_a_model_may_write_what_it_likes() -> None:
    wild = '<script>alert(1)</script>\r\n\n"><img onerror=x>\u2028\x00 \ud83d' + "x" * 1_000_000
    with serving(ReplayEngine([reply("</script>", 9.0, wild)] * 3)) as url:
        events = events_of(url, {"question": "?", "budget": 3, "method": "sc"})
    trajectory = next(data for name, data in events if name == "trajectory")
    assert trajectory["text"].startswith("<script>alert(1)</script>")
    assert len(trajectory["text"]) > 1_000_000
    assert events[-1][1]["answer"] == "</script>"


def test_an_engine_that_dies_is_told_at_the_end() -> None:
    with serving(SlowEngine(POOL, fails_after=9)) as url:
        name, final = events_of(url, {"question": "How many?"})[-1]
    assert name == "final"
    assert final["n_trajectories"] == 9
    assert "the model is gone" in final["stopped"]


@pytest.mark.parametrize(
    ("engine", "kind"),
    [
        (SlowEngine(POOL, fails_after=0), "engine_error"),
        (ReplayEngine(POOL[:3]), "invalid_request_error"),
    ],
)
def test_the_last_event_is_an_error_where_there_is_no_answer(engine: Any, kind: str) -> None:
    with serving(engine) as url:
        name, error = events_of(url, {"question": "How many?"})[-1]
    assert name == "error"
    assert error["error"]["type"] == kind


def test_whoever_waits_for_the_engine_hears_it() -> None:
    engine = SlowEngine(POOL, mixes=False)
    engine.pause = 30.0
    asked = {"question": "?"}
    with serving(engine) as url, httpx.stream("POST", f"{url}/api/ask", json=asked) as first:
        lines = first.iter_lines()
        assert next(lines) == "event: started"
        with httpx.stream("POST", f"{url}/api/ask", json=asked) as second:
            waiting = second.iter_lines()
            assert next(waiting) == "event: queued"
            assert json.loads(next(waiting).removeprefix("data: ")) == {"n_before": 1}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "question"),
        ({"question": " "}, "ask something"),
        ({"question": "?", "budjet": 3}, "did you mean budget"),
        ({"question": "?", "budget": 10**9}, "budget is 1000000000"),
        ({"question": "?", "method": "x"}, "method"),
    ],
)
def test_a_wrong_request_is_an_error_before_the_stream(url: str, body: dict[str, object], words: str) -> None:
    answer = httpx.post(f"{url}/api/ask", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


def test_the_page_learns_what_it_may_ask(url: str) -> None:
    settings = httpx.get(f"{url}/api/settings").json()
    assert settings["max_budget"] == 256
    assert settings["defaults"]["budget"] == 20
    assert "dis-gmm" in [method["name"] for method in settings["methods"]]
    assert settings["stop_rules"] == list(RULES)
    assert settings["has_run"] is False


def test_deepconf_takes_the_place_of_selfstepconf() -> None:
    ended = replace(reply("35", 9.0), finish_reason=ENDED)
    pool = [*POOL[:8], *POOL[8:16], *[ended] * 8]
    with serving(ReplayEngine(pool)) as url:
        events = events_of(url, {"question": "How many?", "budget": 24, "deepconf": "low:2", "method": "wsc"})
        body = {"question": "?", "deepconf": "low", "ssc": True}
        both = httpx.post(f"{url}/api/ask", json=body)
        unknown = httpx.post(f"{url}/api/ask", json=body | {"deepconf": "lo", "ssc": None})
    assert events[0][1]["ssc"] is None
    shown = [data for name, data in events if name == "trajectory"]
    assert sum(each["answer"] is None for each in shown) == 8  # as in the vote at the end
    tally = events[-1][1]
    assert (tally["n_trajectories"], tally["n_cast"]) == (24, 16)
    assert any("8 of 24 trajectories were ended for low confidence" in note for note in tally["notes"])
    assert both.status_code == unknown.status_code == 400
    assert "leave out deepconf, or ssc and online" in both.json()["error"]["message"]
    assert "did you mean low" in unknown.json()["error"]["message"]


@pytest.mark.parametrize("rule", [None, "consensus:0.99:64"])
def test_a_trajectory_is_measured_once_for_the_rule_the_page_and_the_vote(
    url: str, rule: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[int] = []
    read = Reader.read

    def counted(self: Reader, trajectories: Sequence[Trajectory], k: int | None = None) -> list[Reading]:
        measured.extend(trajectory.index for trajectory in trajectories)
        return read(self, trajectories, k)

    monkeypatch.setattr(Reader, "read", counted)
    events = events_of(url, {"question": "How many?", "template": "math", "stop_when": rule})
    assert events[-1][0] == "final"
    assert sorted(measured) == list(range(20))


class HeldEngine(BaseEngine):
    """Gives a burst of trajectories at once, and then one whose text grows until it is let go."""

    name = model = "held"

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def sample_job(
        self,
        job: Job,
        controller: Controller | None,  # noqa: ARG002
        watch: Watch | None,
    ) -> Generator[Trajectory]:
        *burst, last = job.indices
        for index in burst:
            yield replace(reply("12", 10.0 + index / 10), index=index)
        words = ["Let ", "me ", "think.", " Wait"]
        for n in itertools.count(1):
            if self.let_go.wait(0.05):
                break
            if watch is not None:
                shown = Partial(last, "".join(words[:n]))
                watch(Progress(n, 1, 0, lambda shown=shown: shown))
        yield replace(reply("35", 9.0), index=last)


def test_the_leading_answer_is_that_of_all_trajectories_that_were_told() -> None:
    engine = HeldEngine()
    seen: list[tuple[str, Any]] = []
    text, tallied = "", 0
    asked = {"question": "How many?", "budget": 18}
    with serving(engine) as url, httpx.stream("POST", f"{url}/api/ask", json=asked, timeout=60) as stream:
        lines = stream.iter_lines()
        for line in lines:
            if not line.startswith("event: "):
                continue
            name, data = line.removeprefix("event: "), json.loads(next(lines).removeprefix("data: "))
            seen.append((name, data))
            tallied = data["n_trajectories"] if name == "tally" else tallied
            if name == "partial":
                text = text + data["text"] if data["is_more"] else data["text"]
            if tallied == 17 and text.startswith("Let me think."):
                engine.let_go.set()  # only now the rest may come
    names = [name for name, _ in seen]
    assert names[-1] == "final"
    assert names.count("trajectory") == 18
    assert {data["index"] for name, data in seen if name == "partial"} == {17}


def test_a_system_message_goes_before_the_question(url: str) -> None:
    events = events_of(url, {"question": "How many?", "system": "Be brief.", "template": "plain"})
    assert events[0][1]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
    ]


@pytest.mark.parametrize(
    ("question", "template"),
    [("How many legs has a spider?", "math"), ("Which? A) a dog B) a cat", "choice"), ("Hello!", "plain")],
)
def test_the_template_auto_is_chosen_by_the_question(question: str, template: str) -> None:
    with serving(ReplayEngine(POOL)) as url:
        started = events_of(url, {"question": question, "budget": 4, "template": "auto"})[0][1]
        assert started["template"] == template
        body = {"model": "replay", "messages": [{"role": "user", "content": question}]}
        answered = httpx.post(f"{url}/v1/chat/completions", json=body | {"distrivote": {"template": "auto"}})
    assert answered.json()["distrivote"]["template"] == template
