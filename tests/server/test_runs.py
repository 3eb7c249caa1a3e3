"""A stored run as the page reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pytest

from distrivote import Problem, SelfStepConf
from distrivote.engines.base import SamplingParams
from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, Row, row_of
from distrivote.store.runs.writer import RunWriter
from distrivote.trajectory import Interventions
from serving import POOL, serving


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("runs") / "my-run"
    manifest = Manifest.of("replay", "m", "math", "made-up", SamplingParams(), SelfStepConf(), budget=20)
    with RunWriter(path, manifest, keep=Keep(token_confidences=True)) as writer:
        for problem in (Problem("How many?", id="a/1", answer="12"), Problem("And now?", id="b")):
            for index, trajectory in enumerate(POOL):
                record = Interventions((), (1, 2), (5.0, 9.0))
                writer.add(row_of(problem, replace(trajectory, index=index, interventions=record)))
    with serving(ReplayEngine(POOL), Settings(budget=20, run=Path(path))) as url:
        yield url


def test_a_run_says_what_it_is_about(url: str) -> None:
    run = httpx.get(f"{url}/api/run").json()
    assert (run["name"], run["benchmark"], run["n_questions"]) == ("my-run", "made-up", 2)
    assert (run["n_trajectories"], run["n_tokens"], run["ssc"]["alpha"]) == (40, 80, 0.8)
    assert httpx.get(f"{url}/api/settings").json()["has_run"] is True


def test_questions_show_the_vote_beside_the_majority(url: str) -> None:
    listed = httpx.get(f"{url}/api/run/questions").json()
    assert (listed["method"], listed["n_known"], listed["n_right"]) == ("dis-gmm", 1, 1)
    assert listed["n_majority_right"] == 0
    first, second = listed["questions"]
    assert (first["question_id"], first["question"], first["ground_truth"]) == ("a/1", "How many?", "12")
    assert (first["answer"], first["correct"], first["majority"]) == ("12", True, "35")
    assert (first["majority_correct"], first["rejected"], first["n_right"]) == (False, "35", 8)
    assert (first["n_trajectories"], first["n_cast"], first["n_answers"]) == (20, 18, 2)
    assert (second["correct"], second["ground_truth"], second["n_right"]) == (None, None, None)
    plain = httpx.get(f"{url}/api/run/questions", params={"method": "sc"}).json()
    assert plain["questions"][0]["correct"] is False


@pytest.mark.parametrize("name", ["a%2F1", "a/1"])
def test_a_question_shows_its_trajectories_without_their_texts(url: str, name: str) -> None:
    question = httpx.get(f"{url}/api/run/questions/{name}").json()
    assert question["question_id"] == "a/1"
    assert (question["correct"], question["majority_correct"]) == (True, False)
    assert (question["best"], question["answer"]) == (7, "12")
    assert question["ssc"] == {"alpha": 0.8, "delta": 0.8}
    first = question["trajectories"][0]
    assert (first["index"], first["answer"], first["correct"], first["text"]) == (0, "12", True, None)
    assert first["step_confidences"] == [5.0, 9.0]
    assert first["thresholds"] == [None, 4.0]


def test_a_sample_has_its_text_and_where_its_steps_end(url: str) -> None:
    sample = httpx.get(f"{url}/api/run/questions/a%2F1/samples/3").json()
    assert sample["text"] == "Let me see.\n\nIt is \\boxed{12}."
    assert sample["step_text_ends"] == [13, 30]
    assert (sample["index"], sample["correct"]) == (3, True)


@pytest.fixture(scope="module")
def flawed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a run in which some answers have no confidence."""
    path = tmp_path_factory.mktemp("runs") / "flawed"
    with RunWriter(
        path, Manifest.of("replay", "m", "math", "made-up", SamplingParams(), budget=20)
    ) as writer:
        for index, trajectory in enumerate(POOL):
            row = row_of(Problem("How many?", id="a", answer="12"), replace(trajectory, index=index))
            writer.add(replace(row, confidence=np.nan, k=0) if index % 9 == 0 else row)
    with serving(ReplayEngine(POOL), Settings(budget=20, run=Path(path))) as url:
        yield url


def test_answers_without_a_confidence_count_in_the_majority_only(flawed: str) -> None:
    note = "2 of 18 answers have no confidence: they count in the majority only"
    listed = httpx.get(f"{flawed}/api/run/questions").json()
    assert (listed["questions"][0]["answer"], listed["questions"][0]["majority"]) == ("12", "35")
    assert listed["notes"] == [note]
    question = httpx.get(f"{flawed}/api/run/questions/a").json()
    assert (question["answer"], question["majority"], question["n_cast"]) == ("12", "35", 18)
    assert (question["n_unmeasured"], question["fallback"]) == (2, False)
    assert f"{note}." in question["notes"]
    assert question["trajectories"][0]["answer"] == "12"


def test_they_do_where_the_method_needs_none(flawed: str) -> None:
    listed = httpx.get(f"{flawed}/api/run/questions?method=sc").json()
    assert (listed["questions"][0]["answer"], listed["notes"]) == ("35", [])
    question = httpx.get(f"{flawed}/api/run/questions/a?method=sc").json()
    assert (question["answer"], question["n_cast"]) == ("35", 18)


def test_lengths_that_are_not_known_are_null(tmp_path: Path) -> None:
    manifest = Manifest.of("import", "m", "", "table", SamplingParams(), budget=20)
    with RunWriter(tmp_path, manifest) as writer:
        for sample in range(4):
            writer.add(Row(question_id="a", sample=sample, answer="4", confidence=9.0))
    with serving(ReplayEngine(POOL), Settings(budget=20, run=tmp_path)) as url:
        assert httpx.get(f"{url}/api/run").json()["n_tokens"] is None
        assert httpx.get(f"{url}/api/run/questions").json()["questions"][0]["n_tokens"] is None
        question = httpx.get(f"{url}/api/run/questions/a").json()
        assert [each["n_tokens"] for each in question["trajectories"]] == [None] * 4
        assert httpx.get(f"{url}/api/run/questions/a/samples/0").json()["n_tokens"] is None


def test_a_question_that_mixes_different_k_is_refused_where_confidences_count(tmp_path: Path) -> None:
    manifest = Manifest.of("replay", "m", "math", "made-up", SamplingParams(), budget=20)
    with RunWriter(tmp_path, manifest) as writer:
        for index, trajectory in enumerate(POOL):
            row = row_of(Problem("How many?", id="a"), replace(trajectory, index=index))
            writer.add(replace(row, k=5 + index % 2))
    with serving(ReplayEngine(POOL), Settings(budget=20, run=tmp_path)) as url:
        for path in ("questions", "questions/a"):
            reply = httpx.get(f"{url}/api/run/{path}")
            assert reply.status_code == 400
            assert "mixes confidences of the 5 and of the 6" in reply.json()["error"]["message"]
            assert httpx.get(f"{url}/api/run/{path}?method=sc").status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("questions/c", 404),
        ("questions/b/samples/99", 404),
        ("questions/b/samples/x", 400),
        ("questions?method=nothing", 400),
        ("questions/b?method=nothing", 400),
        ("questions/..%2F..%2Fmanifest.json", 404),
    ],
)
def test_what_is_not_there_is_an_error(url: str, path: str, status: int) -> None:
    reply = httpx.get(f"{url}/api/run/{path}")
    assert reply.status_code == status
    assert "error" in reply.json()
