"""A run in an object store whose server fails, and whose writers are killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from distrivote.cli.main import main
from distrivote.engines.base import SamplingParams
from distrivote.errors import InputError
from distrivote.store.runs import claims, object_folder
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from engines.scripted_server import ScriptedServer, Token, ToyServer
from store.stores import FaultyProxy, environment, new_address, s3_server

MANIFEST = Manifest.of("embedded", "m", "math", "arithmetic", SamplingParams(), budget=8)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture
def address(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in environment(server).items():
        monkeypatch.setenv(name, value)
    return new_address()


def row(sample: int, answer: str = "4") -> Row:
    return Row(question_id="q", sample=sample, answer=answer, confidence=2.0, ground_truth="4")


def answers(address: str) -> dict[int, str]:
    table = Run.open(address).table(["sample", "answer"])
    return dict(zip(table["sample"].to_pylist(), table["answer"].to_pylist(), strict=True))


def sampling(url: str, address: str, *more: str) -> list[str]:
    words = [sys.executable, "-m", "distrivote", "generate", "arithmetic", "--size", "6", "--budget", "8"]
    words += ["--no-ssc", "--base-url", url, "--model", "toy", "--parallel", "2", "--json"]
    return [*words, "-o", address, *more]


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_processes_share_it_and_one_may_be_killed(address: str) -> None:
    with ScriptedServer(ToyServer(lambda _: [Token("\\boxed{5}", 9.0)], pause=0.05)) as model:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes = [subprocess.Popen(sampling(model.url, address), **pipes) for _ in range(2)]
        while not (claims.read_claims(address) or processes[0].poll() is not None):
            time.sleep(0.05)
        processes[0].send_signal(signal.SIGKILL)
        said = [process.communicate(timeout=200) for process in processes]
    assert processes[1].returncode == 0, said
    run = Run.open(address)
    assert run.notes == ()
    assert len(run.done()) == 48
    assert json.loads(said[1][0])["n_trajectories"] <= 48


def test_a_store_that_fails_now_and_then_loses_and_doubles_nothing(
    server: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = FaultyProxy(server, 0.1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{proxy.address}")
    for begin in (0, 3):
        with RunWriter(address, MANIFEST, max_wait=None) as adding:
            for sample in range(begin, begin + 3):
                adding.add(row(sample, str(sample)))
                adding.flush()
    seen = answers(address)
    compact(address)
    assert seen == answers(address) == {sample: str(sample) for sample in range(6)}
    assert proxy.n_faults
    proxy.close()


def test_a_store_that_is_down_is_said_and_the_rows_are_kept(
    server: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = FaultyProxy(server, 0.0)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{proxy.address}")
    monkeypatch.setattr("distrivote.store.runs.object_folder.N_ATTEMPTS", 1)
    adding = RunWriter(address, MANIFEST, max_wait=None)
    adding.add(row(0))
    proxy.is_down = True
    with pytest.raises(InputError, match="what was stored before is safe"):
        adding.flush()
    with pytest.raises(InputError, match="check the address, the keys and the connection"):
        Run.open(address)
    proxy.is_down = False
    adding.close()
    assert answers(address) == {0: "4"}
    proxy.close()


class Silent:
    """Takes connections, and closes each: at once, or after a 503."""

    def __init__(self, *, answers: bool) -> None:
        self._answers, self.n_connections = answers, 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client:
                self.n_connections += 1
                if self._answers:
                    client.recv(65536)
                    client.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def close(self) -> None:
        self._listening.close()


@pytest.mark.parametrize(("answers", "n_connections"), [(False, 2), (True, 2 + 3)])
def test_a_store_that_never_answered_is_given_up_sooner_than_one_that_is_busy(
    answers: bool, n_connections: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Silent(answers=answers)
    for name, value in environment("").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
    monkeypatch.setattr(object_folder, "N_FIRST_ATTEMPTS", 2)
    monkeypatch.setattr(object_folder, "N_ATTEMPTS", 3)
    with pytest.raises(SystemExit) as ended:
        main(["vote", "s3://bucket/run"])
    store.close()
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert store.n_connections == n_connections
