"""A run from Python: it goes on, refuses what does not fit, stops in good order, and is the command's run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import distrivote
from counted_engine import CountedEngine
from distrivote import InputError, Problem, SamplingParams, Trajectory, generate_run
from distrivote.benchmarks import Benchmark, load
from distrivote.cli.main import main
from distrivote.engines.choice import EngineChoice
from distrivote.generation import deferred
from distrivote.generation.cluster import Cluster
from distrivote.generation.run import RunInterrupted, RunProgress
from distrivote.steering import Controller
from distrivote.store.runs.rows import Keep
from distrivote.store.runs.run import Run
from engines.scripted_server import ScriptedServer, Token, ToyServer

PARAMS = SamplingParams(max_tokens=256, seed=3)


class FakeEngine(CountedEngine):
    """Says 4, 5 or 6."""

    model = "smollm2-135m"

    def reply(self, rng: np.random.Generator, controller: Controller | None) -> tuple[int, float]:  # noqa: ARG002
        return int(rng.integers(4, 7)), 10.0 + rng.normal()


def stored(path: Path) -> list[tuple[object, ...]]:
    columns = ["question_id", "sample", "seed", "text", "answer", "confidence", "correct", "n_tokens"]
    return [tuple(row.values()) for row in Run.open(path).table(columns).to_pylist()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a file of questions."""
    lines = [json.dumps({"question": f"{i} + {5 - i}?", "answer": "5"}) for i in range(4)]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, *options: str) -> int:
    """Run `distrivote generate` on the questions with an engine."""
    monkeypatch.setattr(deferred, "open_engine", lambda *_, **__: engine)
    with pytest.raises(SystemExit) as left:
        main(["generate", "q.jsonl", "-o", "command", "--budget", "3", "--seed", "3", *options])
    return int(left.value.code or 0)


def test_the_run_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command(monkeypatch, FakeEngine()) == 0
    result = generate_run(FakeEngine(), "q.jsonl", "ours", 3, params=PARAMS)
    assert stored(Path("ours")) == stored(Path("command"))
    assert (result.path, result.n_todo, result.n_added, result.n_tokens) == ("ours", 12, 12, 24)
    rights = [row[6] for row in stored(Path("ours"))]
    assert result.accuracy == sum(map(bool, rights)) / 12


@pytest.mark.parametrize("n", [0, 1, 5, 11])
def test_each_goes_on_where_the_other_was_interrupted(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generate_run(FakeEngine(), "q.jsonl", "whole", 3, params=PARAMS)
    with pytest.raises(RunInterrupted) as stopped:
        generate_run(FakeEngine(n), "q.jsonl", "command", 3, params=PARAMS)
    assert (stopped.value.result.n_todo, stopped.value.result.n_added) == (12, n)
    assert command(monkeypatch, FakeEngine()) == 0
    assert stored(Path("command")) == stored(Path("whole"))
    assert command(monkeypatch, FakeEngine(n), "--new", "--alpha", "0.5") == 130
    done = generate_run(
        *(FakeEngine(), "q.jsonl", "command-2", 3),
        params=PARAMS,
        steering=distrivote.SelfStepConf(alpha=0.5),
    )
    assert done.n_added == 12 - n
    assert stored(Path("command-2")) == stored(Path("whole"))


def test_an_interrupt_is_a_keyboard_interrupt_for_who_does_not_know_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        generate_run(FakeEngine(2), "q.jsonl", "run", 3)


def test_what_is_stored_is_not_sampled_again_and_a_larger_budget_or_limit_adds() -> None:
    first = generate_run(FakeEngine(), "q.jsonl", "run", 2, limit=3)
    assert (first.n_todo, first.n_added) == (6, 6)
    engine = FakeEngine()
    again = generate_run(engine, "q.jsonl", "run", 2, limit=3)
    assert (again.n_todo, again.n_added, again.accuracy, engine.n_made) == (0, 0, None, 0)
    assert generate_run(FakeEngine(), "q.jsonl", "run", 3).n_added == 3 + 3


def test_a_benchmark_that_is_at_hand_is_limited_too() -> None:
    problems = tuple(Problem(f"{i} + 1?", str(i), str(i + 1)) for i in range(5))
    result = generate_run(FakeEngine(), Benchmark("sums", problems, "made up"), "run", 2, limit=2)
    assert result.n_added == 4
    with pytest.raises(InputError, match="at least one"):
        generate_run(FakeEngine(), load("arithmetic", size=3), "other", limit=0)


def test_other_settings_and_other_questions_are_refused_or_make_a_run_of_their_own(folder: Path) -> None:
    generate_run(FakeEngine(), "q.jsonl", "run", 2)
    with pytest.raises(InputError) as refused:
        generate_run(FakeEngine(), "q.jsonl", "run", 2, steering=None)
    assert refused.value.__notes__
    assert generate_run(FakeEngine(), "q.jsonl", "run", 2, steering=None, new=True).path == "run-2"
    (folder / "q.jsonl").write_text(json.dumps({"question": "2 + 2?", "answer": "4"}))
    with pytest.raises(InputError, match="another text"):
        generate_run(FakeEngine(), "q.jsonl", "run", 2)
    assert generate_run(FakeEngine(), "q.jsonl", "run", 2, new=True).path == "run-3"
    assert generate_run(FakeEngine(), "q.jsonl", "run", 2, new=True).n_todo == 0


def test_the_shares_of_a_run_make_up_all_of_it() -> None:
    generate_run(FakeEngine(), "q.jsonl", "whole", 3)
    for number in (2, 1, 3):
        generate_run(FakeEngine(), "q.jsonl", "shared", 3, shard=f"{number}/3")
    assert stored(Path("shared")) == stored(Path("whole"))


def test_a_limit_of_tokens_ends_it_in_good_order() -> None:
    result = generate_run(FakeEngine(), "q.jsonl", "run", 3, max_tokens_total=5)
    assert (result.n_todo, result.n_added, result.n_tokens) == (12, 3, 6)
    assert generate_run(FakeEngine(), "q.jsonl", "run", 3).n_added == 9
    with pytest.raises(InputError, match="max_tokens_total is 0"):
        generate_run(FakeEngine(), "q.jsonl", "run", 3, max_tokens_total=0)


def test_a_stop_rule_ends_questions_whose_vote_is_settled() -> None:
    result = generate_run(FakeEngine(), "q.jsonl", "run", 64, stop_when="beta")
    assert 0 < result.n_added < result.n_todo
    assert generate_run(FakeEngine(), "q.jsonl", "run", 64, stop_when="beta").n_todo == 0


def test_what_is_not_kept_is_not_stored() -> None:
    generate_run(FakeEngine(), "q.jsonl", "run", 2, keep=Keep(texts=False))
    assert {row[3] for row in stored(Path("run"))} == {None}


def test_the_watch_hears_of_the_beginning_of_tokens_and_of_what_is_stored() -> None:
    heard: list[RunProgress] = []
    generate_run(FakeEngine(), "q.jsonl", "run", 2, watch=heard.append)
    assert heard[0] == RunProgress(8, 4)
    assert [each.n_added for each in heard] == sorted(each.n_added for each in heard)
    assert heard[1].n_sampled == 2
    last = heard[-1]
    assert (last.n_added, last.n_begun, last.n_tokens, last.n_known) == (8, 4, 16, 8)


def test_a_choice_is_opened_only_for_what_is_lacking_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()
    monkeypatch.setattr(deferred, "open_engine", lambda *_, **__: engine)
    for n_todo in (8, 0):
        assert generate_run(EngineChoice(), "q.jsonl", "run", 2).n_todo == n_todo
        assert engine.n_closed == 1
    sampling = Run.open("run").manifest.sampling
    assert sampling["max_tokens"] == EngineChoice().default_max_tokens


def test_a_cluster_wants_a_choice_since_it_opens_engines_of_its_own() -> None:
    with pytest.raises(InputError, match="EngineChoice"):
        generate_run(FakeEngine(), "q.jsonl", "run", 2, cluster=Cluster("local", 1, 1.0, 0.0))
    assert not Path("run").exists()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that takes its time."""

    def says(_: str) -> list[Token]:
        time.sleep(0.03)
        return [Token("\\boxed{5}", 9.0)]

    with ScriptedServer(ToyServer(says)) as server:
        yield server


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_a_process_that_is_killed_is_gone_on_with_from_python(server: ScriptedServer) -> None:
    url = ["--base-url", server.url, "--parallel", "1", "--no-ssc"]
    started = subprocess.Popen(
        [sys.executable, "-m", "distrivote", "generate", "q.jsonl", "-o", "run", "--budget", "6", *url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    while not (Path("run") / "manifest.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    started.send_signal(signal.SIGKILL)
    started.wait()
    before = stored(Path("run"))
    choice = EngineChoice.of(None, None, [server.url], None, {})
    result = generate_run(choice, "q.jsonl", "run", 6, steering=None)  # the other defaults are the same
    after = stored(Path("run"))
    assert result.n_added == 24 - len(before)
    assert set(before) <= set(after)
    assert len({row[:2] for row in after}) == len(after) == 24


def test_notes_are_graded_as_json_without_being_told(tmp_path: Path) -> None:
    from distrivote.engines.replay import ReplayEngine

    (note,) = load("notes", size=1).problems
    facts = json.loads(note.answer or "")
    swapped = json.dumps(dict(reversed(facts.items())), indent=2)
    wrong = json.dumps(facts | {next(iter(facts)): "somebody else"})
    replies = [Trajectory(f"```json\n{swapped}\n```"), Trajectory(wrong), Trajectory("I can't say.")]
    done = generate_run(
        ReplayEngine(replies), load("notes", size=1), tmp_path / "run", budget=3, steering=None
    )
    assert done.accuracy == pytest.approx(1 / 3)
    run = Run.open(tmp_path / "run")
    assert run.manifest.answer == "json"
    assert sorted(run.table(("correct",))["correct"].to_pylist()) == [False, False, True]


def test_a_run_from_python_takes_a_kind_of_answer(tmp_path: Path) -> None:
    from distrivote.engines.replay import ReplayEngine

    sums = Benchmark("sums", (Problem("5 + 7?", id="q", answer="12", template="plain"),), "made up")
    replies = [Trajectory("Tom has **12** pears."), Trajectory("Tom has 5 pears.")]
    done = generate_run(
        ReplayEngine(replies), sums, tmp_path / "run", budget=2, steering=None, answer="short"
    )
    assert done.accuracy == pytest.approx(1 / 2)
    assert Run.open(tmp_path / "run").manifest.answer == "short"
