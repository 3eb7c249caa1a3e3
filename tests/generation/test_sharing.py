"""Several processes on one run divide the work; that of a process that was killed is done by the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

import pytest

from distrivote import EngineError, InputError, Trajectory, generate_run
from distrivote.engines.base import Job, Sampled, in_turn
from distrivote.engines.choice import EngineChoice
from distrivote.generation import sharing
from distrivote.generation.run import RunResult
from distrivote.problem import Message
from distrivote.store.runs.leases import Leases
from distrivote.store.runs.run import Run
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer

N_QUESTIONS, BUDGET = 6, 4


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sharing, "POLL", 0.02)
    lines = [json.dumps({"question": f"{i} + 1?", "answer": str(i + 1)}) for i in range(N_QUESTIONS)]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    return tmp_path


class CountingEngine:
    """Counts what it is asked for; waits for others before its first reply, and ends early if told to."""

    name, model, concurrent = "embedded", "smollm2-135m", True

    def __init__(self, barrier: threading.Barrier | None = None, most: int | None = None) -> None:
        self.made: list[tuple[str, int]] = []
        self._barrier, self._most = barrier, most

    def sample(
        self,
        messages: Sequence[Message],
        n: int,
        *_: object,
        indices: Sequence[int] | None = None,
        **__: object,
    ) -> Generator[Trajectory]:
        if self._barrier is not None:
            self._barrier.wait(20)
            self._barrier = None
        for index in range(n) if indices is None else indices:
            if len(self.made) == self._most:
                raise KeyboardInterrupt
            time.sleep(0.002)
            self.made.append((messages[-1].content, index))
            yield Trajectory(r"It is \boxed{5}.", finish_reason="stop", index=index)

    def sample_all(self, jobs: Sequence[Job], *_: object, **__: object) -> Generator[Sampled]:
        return in_turn(self, jobs)  # type: ignore[arg-type]

    def close(self) -> None:
        pass


def in_threads(*acts: Callable[[], RunResult]) -> list[RunResult]:
    """Do all at the same time; every thread stands for a process."""
    found: list[RunResult | None] = [None] * len(acts)

    def do(number: int) -> None:
        found[number] = acts[number]()

    threads = [threading.Thread(target=do, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [each for each in found if each is not None]


def run_of(engine: CountingEngine, **more: object) -> Callable[[], RunResult]:
    return lambda: generate_run(engine, "q.jsonl", "run", BUDGET, steering=None, **more)  # type: ignore[arg-type]


def test_processes_divide_the_work_and_each_says_what_it_added() -> None:
    barrier = threading.Barrier(3)
    engines = [CountingEngine(barrier) for _ in range(3)]
    results = in_threads(*map(run_of, engines))
    made = Counter(each for engine in engines for each in engine.made)
    assert len(made) == N_QUESTIONS * BUDGET
    assert set(made.values()) == {1}
    assert [result.n_added for result in results] == [len(engine.made) for engine in engines]
    assert all(engine.made for engine in engines)
    assert all(result.n_added + result.n_elsewhere == 24 and not result.n_doubled for result in results)
    assert len(Run.open("run").done()) == 24


def test_with_a_stopping_rule_a_question_is_one_process_s() -> None:
    barrier = threading.Barrier(2)
    engines = [CountingEngine(barrier) for _ in range(2)]
    acts = [
        lambda engine=engine: generate_run(engine, "q.jsonl", "run", 64, steering=None, stop_when="beta")
        for engine in engines
    ]
    in_threads(*acts)
    questions = [{question for question, _ in engine.made} for engine in engines]
    assert not questions[0] & questions[1]
    assert len(questions[0] | questions[1]) == N_QUESTIONS
    alone = CountingEngine()
    assert generate_run(alone, "q.jsonl", "run", 64, steering=None, stop_when="beta").n_todo == 0


def test_a_total_is_spread_by_one_process_after_the_other() -> None:
    engines = [CountingEngine() for _ in range(2)]
    in_threads(*(run_of(engine, total=18) for engine in engines))
    assert sum(len(engine.made) for engine in engines) == 18
    assert len(Run.open("run").done()) == 18


def test_what_an_interrupted_process_left_is_done_by_the_other() -> None:
    barrier = threading.Barrier(2)
    one, other = CountingEngine(barrier, most=2), CountingEngine(barrier)

    def interrupted() -> RunResult:
        with pytest.raises(KeyboardInterrupt):
            run_of(one)()
        return RunResult("", 0, 0)

    in_threads(interrupted, run_of(other))
    assert len(one.made) == 2
    assert Counter(one.made + other.made).most_common(1)[0][1] == 1
    assert len(Run.open("run").done()) == 24


def test_what_was_stored_before_the_lease_was_taken_is_not_sampled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another process stores a question, and leaves, after this one has seen what is lacking."""
    real, others = Leases.take, [CountingEngine()]

    def late(self: Leases, work: str) -> bool:
        if others:
            run_of(others.pop())()
        return real(self, work)

    monkeypatch.setattr(Leases, "take", late)
    engine = CountingEngine()
    result = run_of(engine)()
    assert engine.made == []
    assert (result.n_added, result.n_elsewhere) == (0, 24)


# Real processes, with a server


def replies(pause: float) -> Callable[[Request], Reply]:
    return ToyServer(lambda _: [Token("\\boxed{5}", 9.0)], pause=pause)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(replies(0.02)) as server:
        yield server


def started(server: ScriptedServer, *more: str) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "-m",
        "distrivote",
        "generate",
        "q.jsonl",
        "-o",
        "run",
        "--budget",
        "12",
        "--no-ssc",
    ]
    words += ["--base-url", server.url, "--model", "toy", "--parallel", "2", "--json", *more]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_the_work_of_a_killed_process_is_taken_over(server: ScriptedServer) -> None:
    processes = [started(server) for _ in range(3)]
    while not list(Path("run").glob("parts/part-*.parquet")):
        assert any(process.poll() is None for process in processes)
        time.sleep(0.01)
    processes[0].send_signal(signal.SIGKILL)
    said = [process.communicate(timeout=120) for process in processes]
    added = [json.loads(out)["n_trajectories"] if out else 0 for out, _ in said]
    run = Run.open("run")
    assert run.notes == ()
    assert len(run.done()) == 12 * N_QUESTIONS
    assert sum(added[1:]) <= 12 * N_QUESTIONS
    assert [process.returncode for process in processes[1:]] == [0, 0], said


@pytest.mark.slow
def test_client_processes_share_the_streams_and_one_writes(server: ScriptedServer) -> None:
    choice = EngineChoice.of(None, "toy", [server.url], None, {"n_parallel": 4})
    result = generate_run(choice, "q.jsonl", "run", 12, steering=None, processes=2)
    assert result.n_added == 12 * N_QUESTIONS
    assert len(Run.open("run").done()) == 12 * N_QUESTIONS
    writers = {path.name.split("-")[1] for path in Path("run").glob("parts/*.parquet")}
    assert len(writers) == 1
    asked = Counter((request.body or {}).get("seed") for request in server.requests)
    assert len(asked) >= 12 * N_QUESTIONS


@pytest.mark.slow
def test_an_error_of_a_client_process_is_that_of_the_run() -> None:
    choice = EngineChoice.of(None, "toy", ["http://127.0.0.1:9/v1"], None, {"n_parallel": 4})
    with pytest.raises(EngineError):
        generate_run(choice, "q.jsonl", "run", 2, steering=None, processes=2)


@pytest.mark.parametrize(("n", "words"), [(0, "processes is 0"), (2, "reading from servers")])
def test_processes_are_for_servers(n: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        generate_run(EngineChoice(), "q.jsonl", "run", 2, processes=n)
