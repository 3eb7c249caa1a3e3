"""What is lost when an actor, a node or the driver is killed: a real Ray cluster of three nodes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from distrivote import generate_run
from distrivote.engines.choice import EngineChoice
from distrivote.generation.cluster import Cluster
from distrivote.generation.result import RunProgress
from distrivote.store.runs.run import Run
from engines.scripted_server import ScriptedServer, Token, ToyServer
from generation.ray_nodes import add_node, ray_nodes, workers_of

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("ignore")]  # Ray has its own warnings

N_QUESTIONS, BUDGET = 10, 12
N = N_QUESTIONS * BUDGET
N_PARALLEL = 4
UNDER_WAY = 2 * 2 * 16
"""The trajectories of the pieces that two workers have at once."""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    pytest.importorskip("ray", reason="ray is not installed")
    with ray_nodes(2) as nodes:
        yield nodes


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"question": f"{i} + 1?", "answer": str(i + 1)}) for i in range(N_QUESTIONS)]
    Path("q.jsonl").write_text("\n".join(lines))
    says = [Token("So "), Token("it "), Token("is "), Token(r"\boxed{4}")]
    with ScriptedServer(ToyServer(lambda _: says, pause=0.1)) as server:
        yield server


def asked(server: ScriptedServer) -> Counter[int]:
    """Return how often each trajectory was asked for, by its seed."""
    return Counter(body["seed"] for body in server.sampled())


def wait_for(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 600
    while not is_so():
        assert time.monotonic() < until, "nothing happened for a long time"
        time.sleep(0.05)


def test_an_actor_and_a_node_that_are_killed_cost_only_what_was_under_way(
    nodes: Any, server: ScriptedServer
) -> None:
    first, second = nodes.worker_nodes
    lost: list[int] = []

    def kill() -> None:
        wait_for(lambda: len(server.sampled()) >= N // 5)
        victims = workers_of(first)
        lost.extend(victims)
        for number in victims:
            os.kill(number, signal.SIGKILL)
        wait_for(lambda: len(server.sampled()) >= N // 2)
        nodes.remove_node(second, allow_graceful=False)
        add_node(nodes)  # the actor of the lost one starts again there

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    seen: list[RunProgress] = []
    result = generate_run(
        EngineChoice("openai", "toy", (server.url,), None, {"n_parallel": N_PARALLEL}),
        *("q.jsonl", "run", BUDGET),
        steering=None,
        cluster=Cluster(nodes.address, n_workers=2, n_cpus=1),
        watch=seen.append,
    )
    killer.join()
    assert lost
    assert result.n_added == N
    assert len(Run.open("run").done()) == N
    again = asked(server)
    assert len(again) == N
    assert sum(again.values()) - N <= UNDER_WAY
    # It was told while the workers were working, and not at the end of their pieces.
    assert any(each.n_sampled > 0 and 0 < each.n_added < N // 2 for each in seen)
    add_node(nodes)


def test_a_driver_that_is_killed_and_started_again_samples_nothing_that_was_stored(
    nodes: Any, server: ScriptedServer
) -> None:
    command = [
        sys.executable,
        "-m",
        "distrivote",
        "generate",
        "q.jsonl",
        "-o",
        "run",
        "--budget",
        str(BUDGET),
    ]
    machines = ["--ray", nodes.address, "--workers", "2", "--parallel", str(N_PARALLEL)]
    given = ["--base-url", server.url, "--model", "toy", "--no-ssc", "--json", "--budget", str(BUDGET)]
    driver = subprocess.Popen([*command, *machines, *given], stdout=subprocess.DEVNULL)
    wait_for(lambda: len(server.sampled()) >= N // 3)
    driver.kill()
    driver.wait()
    wait_for(lambda: not server.n_open)  # Ray ends the workers of a driver that is gone
    before, stored = asked(server), len(Run.open("run", partial=True).done())
    made = subprocess.run([*command, *machines, *given], capture_output=True, text=True, check=True)
    assert json.loads(made.stdout)["n_trajectories"] == N - stored
    assert len(Run.open("run").done()) == N
    after = asked(server)
    assert len(after) == N
    assert sum(after.values()) == N + sum(before.values()) - stored
    assert sum(before.values()) - stored <= UNDER_WAY
