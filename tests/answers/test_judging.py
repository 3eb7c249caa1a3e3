"""Judges at the doors: the model that was asked, and a command."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from distrivote import Problem, SamplingParams, Trajectory, asolve, solution_of, solve
from distrivote.answers.equivalence import classify
from distrivote.answers.judging import asked_same, judged_equality
from distrivote.engines.base import BaseEngine, Job, Watch
from distrivote.errors import EngineError, InputError
from distrivote.server.settings import Settings
from distrivote.solution import Solution
from distrivote.steering import Controller
from serving import serving

QUESTION = Problem("Who wrote Hamlet?", template="plain")
REPLIES = [
    "Shakespeare wrote Hamlet.",
    "It was the Bard of Avon.",
    "The author is William Shakespeare.",
    "Marlowe wrote it.",
    "Marlowe.",
]


class Judging(BaseEngine):
    """An engine that replies as it is told, and judges whether both are the Bard."""

    name = model = "judging"

    def __init__(self, verdict: str | None = None, *, fails: bool = False, thinks: bool = False) -> None:
        self.asked: list[tuple[str, SamplingParams]] = []
        self._verdict, self._fails, self._thinks = verdict, fails, thinks

    def sample_job(
        self,
        job: Job,
        controller: Controller | None,
        watch: Watch | None,  # noqa: ARG002
    ) -> Iterator[Trajectory]:
        put = job.messages[-1].content
        if "Answer 1:" not in put:
            yield from (Trajectory(REPLIES[at], index=at) for at in job.indices)
            return
        assert controller is None
        self.asked.append((put, job.params))
        if self._fails:
            raise EngineError("the model is gone")
        first, second = put.split("Answer 1:")[1].split("Do both")[0].split("Answer 2:")
        same = ("Marlowe" in first) == ("Marlowe" in second)
        said = self._verdict or ("Yes." if same else "No.")
        if self._thinks:
            said = "<think>Let me see" if job.params.max_tokens < 100 else f"<think>hm</think>{said}"
        yield Trajectory(said)


def test_the_model_that_was_asked_decides_which_answers_are_the_same() -> None:
    engine = Judging()
    found = solve(engine, QUESTION, budget=5, answer="short", same="judge", steering=None, method="sc")
    assert sorted(found.tally.votes.values()) == [2, 3]
    assert found.reply in REPLIES[:3]
    assert {params.temperature for _, params in engine.asked} == {0.0}
    assert {params.max_tokens for _, params in engine.asked} == {16}
    assert len(engine.asked) == len({put for put, _ in engine.asked}) <= 12
    assert f"the judge compared {len(engine.asked)} pairs of answers" in found.tally.notes
    again = asyncio.run(
        asolve(Judging(), QUESTION, budget=5, answer="short", same="judge", steering=None, method="sc")
    )
    assert again.tally.votes == found.tally.votes


def test_a_rule_that_stops_early_asks_the_judge_only_when_all_is_sampled() -> None:
    engine = Judging()
    found = solve(
        engine, QUESTION, budget=5, answer="short", same="judge", steering=None, stop_when="beta", method="sc"
    )
    assert sum(found.tally.votes.values()) == 5
    assert sorted(found.tally.votes.values()) == [2, 3]


@pytest.mark.parametrize("engine", [Judging("Perhaps"), Judging("¯\\_(ツ)_/¯"), Judging(" ")])
def test_nonsense_is_counted_and_joins_nothing(engine: Judging) -> None:
    found = solve(engine, QUESTION, budget=5, answer="short", same="judge", steering=None, method="sc")
    assert max(found.tally.votes.values()) <= 2  # what is written alike is one without a judge
    assert any("without a clear verdict count as different" in note for note in found.tally.notes)


def test_a_judge_that_fails_does_not_lose_the_replies() -> None:
    engine = Judging(fails=True)
    found = solve(engine, QUESTION, budget=5, answer="short", same="judge", steering=None, method="sc")
    assert found.answer is not None
    assert len(engine.asked) == 1
    assert "the judge failed and was asked no more: the model is gone" in found.tally.notes


def test_a_model_that_thinks_first_may_do_so() -> None:
    engine = Judging(thinks=True)
    found = solve(engine, QUESTION, budget=5, answer="short", same="judge", steering=None, method="sc")
    assert sorted(found.tally.votes.values()) == [2, 3]
    assert [params.max_tokens < 100 for _, params in engine.asked].count(True) == 1


def test_without_a_model_there_is_no_judge() -> None:
    replies = [Trajectory(text, index=at) for at, text in enumerate(REPLIES)]
    with pytest.raises(InputError, match="no model here that could decide"):
        solution_of(QUESTION, replies, answer="short", same="judge")


def test_a_command_judges(tmp_path: Path) -> None:
    script = tmp_path / "judge.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    put = json.loads(line)\n"
        "    assert put['question'] == 'Who wrote Hamlet?'\n"
        "    print('yes' if ('Marlowe' in put['a']) == ('Marlowe' in put['b']) else 'no', flush=True)\n"
    )
    replies = [Trajectory(text, index=at) for at, text in enumerate(REPLIES)]
    command = f"command:{sys.executable} {script}"
    found = solution_of(QUESTION, replies, answer="short", same=command, steering=None, method="sc")
    assert sorted(found.tally.votes.values()) == [2, 3]


def test_a_command_that_ends_without_a_word_is_a_note() -> None:
    same = asked_same(f"command:{sys.executable} -c pass")
    assert same is not None
    found = classify(["a", "b"], same)
    assert found.ids == (0, 1)
    assert any("the judge failed" in note for note in found.remarks.notes)


@pytest.mark.parametrize("command", ["command:", "command:no-such-program-here", "command:'"])
def test_a_command_that_is_none_is_refused_at_once(command: str) -> None:
    with pytest.raises(InputError, match="judge"):
        asked_same(command)


def test_what_is_the_same_by_its_key_is_not_asked_about() -> None:
    asked: list[tuple[str, str]] = []

    def ask(a: str, b: str) -> bool:
        asked.append((a, b))
        return False

    base = asked_same("short")
    same = judged_equality("own", lambda _: ask, base)
    assert classify(["Paris", "**Paris**", "the Paris", "Rome"], same).ids == (0, 0, 0, 1)
    assert len(asked) == 1


POEMS = ["The rain falls softly.", "Rain is softly falling.", "In 1914 a war began.", "In 1915 a war began."]
VECTORS = {"rain": [1.0, 0.0], "Rain": [0.99, 0.1], "1914": [0.0, 1.0], "1915": [0.01, 1.0]}


class Embedding(BaseEngine):
    """An engine that replies with poems, and knows a vector for each."""

    name = model = "embedding"

    def __init__(self, *, fails: bool = False) -> None:
        self.models: list[str | None] = []
        self._fails = fails

    def sample_job(
        self,
        job: Job,
        controller: Controller | None,  # noqa: ARG002
        watch: Watch | None,  # noqa: ARG002
    ) -> Iterator[Trajectory]:
        yield from (Trajectory(POEMS[at], index=at) for at in job.indices)

    def embed(self, texts: Sequence[str], model: str | None = None) -> list[list[float]]:
        self.models.append(model)
        if self._fails:
            raise EngineError("there are no embeddings here")
        return [next(vector for word, vector in VECTORS.items() if word in text) for text in texts]


def poem(engine: BaseEngine, same: str, answer: str = "text") -> Solution:
    question = Problem("Write a line.", template="plain")
    return solve(engine, question, budget=4, answer=answer, same=same, steering=None, method="sc")


def test_embeddings_group_texts_and_never_different_numbers() -> None:
    engine = Embedding()
    found = poem(engine, "embeddings:small")
    assert sorted(found.tally.votes.values()) == [1, 1, 2]
    assert "the texts were grouped by embeddings:small" in found.tally.notes
    assert engine.models == ["small"]


def test_embeddings_that_fail_cost_no_reply() -> None:
    found = poem(Embedding(fails=True), "embeddings")
    assert sum(found.tally.votes.values()) == 4
    assert any("the server gave no embeddings" in note for note in found.tally.notes)


def test_embeddings_are_not_for_facts() -> None:
    with pytest.raises(InputError, match="embeddings group texts, and the answers are of the kind short"):
        poem(Embedding(), "embeddings", "short")


def test_an_engine_without_embeddings_is_an_error_before_anything_is_sampled() -> None:
    engine = Judging()
    with pytest.raises(InputError, match="this engine makes no embeddings"):
        poem(engine, "embeddings")
    with pytest.raises(InputError, match="there is no model here"):
        solution_of("Write a line.", [Trajectory("a b c")], answer="text", same="embeddings", steering=None)


def test_who_starts_a_server_may_choose_a_judge_and_a_request_may_not() -> None:
    asked: dict[str, Any] = {"answer": "short", "budget": 5, "ssc": False, "method": "sc"}
    messages = [{"role": "user", "content": QUESTION.question}]
    body = {"model": "judging", "messages": messages, "distrivote": asked}
    with serving(Judging(), Settings(same="judge")) as url:
        found = httpx.post(f"{url}/v1/chat/completions", json=body).json()["distrivote"]
        other = body | {"distrivote": asked | {"same": "short"}}
        plain = httpx.post(f"{url}/v1/chat/completions", json=other).json()["distrivote"]
    assert sorted(found["votes"].values()) == [2, 3]
    assert len(plain["votes"]) > 2
    with serving(Judging(), Settings()) as url:
        for same in ("judge", "embeddings", "command:true"):
            refused = body | {"distrivote": asked | {"same": same}}
            assert httpx.post(f"{url}/v1/chat/completions", json=refused).status_code == 400
