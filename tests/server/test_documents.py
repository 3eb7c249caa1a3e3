"""What the server sends is what docs/reference/documents.schema.json says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from conforming import conforms
from distrivote import Problem, SelfStepConf
from distrivote.engines.base import SamplingParams
from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, row_of
from distrivote.store.runs.writer import RunWriter
from serving import POOL, serving

METHODS = ["dis-gmm", "auto", "sc"]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("runs") / "my-run"
    manifest = Manifest.of("replay", "m", "math", "made-up", SamplingParams(), SelfStepConf(), budget=20)
    with RunWriter(path, manifest, keep=Keep(token_confidences=True)) as writer:
        for problem in (Problem("How many?", id="a", answer="12"), Problem("And now?", id="b")):
            for index, trajectory in enumerate(POOL):
                writer.add(row_of(problem, replace(trajectory, index=index)))
    with serving(ReplayEngine(POOL, "replay"), Settings(budget=20, run=Path(path))) as url:
        yield url


def asked(url: str, path: str = "/v1/chat/completions", **fields: Any) -> httpx.Response:
    stream = fields.pop("stream", False)
    put: dict[str, Any] = {"messages": [{"role": "user", "content": "How many?"}]}
    if path == "/v1/completions":
        put = {"prompt": "How many?"}
    return httpx.post(url + path, json={"model": "replay", "stream": stream, "distrivote": fields} | put)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("more", [{}, {"return_trajectories": True}, {"min_probability": 1}])
def test_replies(url: str, path: str, method: str, more: dict[str, Any]) -> None:
    vote = asked(url, path, method=method, **more).json()["distrivote"]
    conforms(vote, "SolutionDocument")
    assert vote["abstained"] == ("min_probability" in more)
    assert (vote["trajectories"] is not None) == ("return_trajectories" in more)


def test_streams(url: str) -> None:
    text = asked(url, stream=True, return_trajectories=True).text
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    (vote,) = (chunk["distrivote"] for chunk in chunks if chunk.get("distrivote", {}).get("event") == "vote")
    conforms({name: value for name, value in vote.items() if name != "event"}, "SolutionDocument")


@pytest.mark.parametrize("min_probability", [0, 1])
def test_events(url: str, min_probability: float) -> None:
    body = {"question": "How many?", "min_probability": min_probability}
    text = httpx.post(f"{url}/api/ask", json=body).text
    names = {"trajectory": "TrajectoryDocument", "tally": "TallyDocument", "final": "SolutionDocument"}
    seen = set()
    for block in text.split("\n\n"):
        name, _, data = block.removeprefix("event: ").partition("\ndata: ")
        if name in names:
            conforms(json.loads(data), names[name])
            seen.add(name)
    assert seen == set(names)


@pytest.mark.parametrize("method", METHODS)
def test_stored_runs(url: str, method: str) -> None:
    listed = httpx.get(f"{url}/api/run/questions", params={"method": method}).json()["questions"]
    assert len(listed) == 2
    for row in listed:
        conforms(row, "RunRow")
        question = httpx.get(
            f"{url}/api/run/questions/{row['question_id']}", params={"method": method}
        ).json()
        conforms(question, "RunQuestion")
        shared = {"answer", "correct", "majority", "majority_correct", "rejected", "n_cast", "n_kept"}
        assert {name: row[name] for name in shared} == {name: question[name] for name in shared}
    conforms(httpx.get(f"{url}/api/run/questions/a/samples/3").json(), "TrajectoryDocument")
