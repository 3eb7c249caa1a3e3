"""`distrivote generate` ended in every way: killed, interrupted, without space, without its folder.

A server on loopback stands for the model here, so that it is fast; bench/soak_killed.py kills the embedded
engine fifty times, and tests/cli/test_generate.py does so twenty times (`make test-model`).
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from distrivote.nouns import count
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer

SOAK = Path(__file__).parents[2] / "bench" / "soak_killed.py"
KEY = "a-key-that-nobody-may-read"
COLUMNS = [name for name in SCHEMA.names if name != "seconds"]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")


def model(pause: float, n_characters: int = 10) -> Callable[[Request], Reply]:
    """A server whose replies take their time and depend on the seed alone."""

    def answer(request: Request) -> Reply:
        seed = (request.body or {}).get("seed", 0)
        filling = random.Random(seed).randbytes(n_characters // 2).hex()  # nothing to compress
        return ToyServer(lambda _: [Token(filling), Token(f" \\boxed{{{seed % 7}}}.")], pause=pause)(request)

    return answer


def command(url: str, path: Path, budget: int = 40, *more: str) -> list[str]:
    words = [sys.executable, "-m", "distrivote", "generate", "arithmetic", "--size", "4", "--no-ssc"]
    words += [
        "--base-url",
        url,
        "--model",
        "toy",
        "--budget",
        str(budget),
        "--parallel",
        "2",
        "-o",
        str(path),
    ]
    return [*words, *more]


def stored(path: Path) -> dict[tuple[str, int], str]:
    run = Run.open(path)
    rows = run.table(COLUMNS).to_pylist()
    assert run.notes == ()
    found = {(row["question_id"], row["sample"]): repr(row) for row in rows}
    assert len(found) == len(rows)
    return found


@contextmanager
def running(url: str, path: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run, and go on when some trajectories are stored."""
    words = command(url, path, 400, *more)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while process.poll() is None and not list(path.glob("parts/part-*.parquet")):
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


def test_a_run_that_is_killed_again_and_again_ends_like_one_that_was_not() -> None:
    with ScriptedServer(model(0.01)) as server:
        options = ["--base-url", server.url, "--model", "toy", "--no-ssc", "--parallel", "1"]
        words = [sys.executable, str(SOAK), "--kills", "3", "--longest", "2", "--", *options]
        result = subprocess.run(words, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    assert (seen["n_lost"], seen["n_doubled"], seen["n_unreadable"]) == (0, 0, 0)
    assert seen["same_as_uninterrupted"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["openai", "processes", "shards"])
def test_a_killed_command_of_several_processes_loses_nothing(tmp_path: Path, engine: str) -> None:
    words = [sys.executable, str(SOAK), "--engine", engine, "--state", str(tmp_path / "kills.json")]
    for n_kills in (1, 3):  # the second goes on with the counts of the first
        result = subprocess.run([*words, "--kills", str(n_kills)], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        seen = json.loads(result.stdout)
        assert seen["n_kills"] == sum(seen["kills"].values()) == n_kills
        assert (seen["n_lost"], seen["n_doubled"], seen["n_unreadable"]) == (0, 0, 0)


def class_row(number: int, answer: str) -> dict[str, object]:
    return {"answer": answer, "answer_class": number}


def test_the_soak_compares_who_shares_a_class_and_not_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    changes = runpy.run_path(str(SOAK))["changes"]
    before = {("q", 1): class_row(0, "5"), ("q", 2): class_row(1, "7"), ("q", 3): class_row(0, "5")}
    # Sample 0 arrives last: its class is the first now.
    now = {("q", 0): class_row(0, "7"), ("q", 1): class_row(1, "5")}
    now |= {("q", 2): class_row(0, "7"), ("q", 3): class_row(1, "5")}
    assert changes(before, now) == []
    joined = now | {("q", 3): class_row(0, "5")}
    assert len(changes(before, joined)) == 1
    other = now | {("q", 3): class_row(1, "6")}
    assert len(changes(before, other)) == 1
    lost = {key: row for key, row in now.items() if key != ("q", 2)}
    assert [is_now for _, is_now in changes(before, lost)] == [None]
    without = now | {("q", 2): class_row(-1, "7")}
    assert len(changes(before, without)) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stores_what_has_finished_and_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "my run"
    with ScriptedServer(model(0.02)) as server:
        with running(server.url, path, "--api-key", KEY) as process:
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        n = len(stored(path))
        assert process.returncode == 130
        assert f"{path}: {count(n, 'trajectory')} added" in out
        assert f"{1600 - n:,} are still to do: the same command resumes" in err
        last = err.splitlines()[-1]
        assert last.startswith("resume with: distrivote generate arithmetic --size 4")
        assert f"-o '{path}'" in last
        assert KEY not in out + err
        assert "Traceback" not in err
        # What it says works.
        words = last.removeprefix("resume with: distrivote ").replace(
            "--budget 400", f"--budget {n // 4 + 2}"
        )
        env = os.environ | {"OPENAI_API_KEY": KEY}
        again = f"{sys.executable} -m distrivote {words}"
        result = subprocess.run(again, shell=True, capture_output=True, text=True, env=env)
        assert result.returncode == 0, result.stderr
        assert len(stored(path)) >= n


def test_two_processes_share_the_work(tmp_path: Path) -> None:
    with ScriptedServer(model(0.005)) as server:
        words = command(server.url, tmp_path / "run")
        both = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
        for process in both:
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
        assert len(stored(tmp_path / "run")) == 160


def _is_refused(result: subprocess.CompletedProcess[str], words: str) -> None:
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert words in result.stderr
    assert "check the folder and its space" in result.stderr


def test_a_full_disk_is_one_sentence_and_what_was_stored_stays(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk; the limit on file size below is for all")
    try:
        with ScriptedServer(model(0.0, 3000)) as server:
            words = command(server.url, disk / "run", 500)
            full = subprocess.run(words, capture_output=True, text=True)
            _is_refused(full, "No space left on device")
            before = stored(disk / "run")
            assert before
            # Still full: the same again, and nothing is lost by it.
            assert subprocess.run(words, capture_output=True).returncode == 2
            assert before.items() <= stored(disk / "run").items()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_that_may_not_grow_is_one_sentence_and_what_was_stored_stays(tmp_path: Path) -> None:
    with ScriptedServer(model(0.0, 3000)) as server:
        small = command(server.url, tmp_path / "run", 1)
        assert subprocess.run(small, capture_output=True).returncode == 0
        before = stored(tmp_path / "run")
        result = subprocess.run(
            command(server.url, tmp_path / "run", 40),
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        )
        _is_refused(result, "File too large")
        assert before.items() <= stored(tmp_path / "run").items()
        assert subprocess.run(command(server.url, tmp_path / "run", 2), capture_output=True).returncode == 0
        assert len(stored(tmp_path / "run")) >= 8


def test_four_processes_say_what_each_has_added(tmp_path: Path) -> None:
    with ScriptedServer(model(0.01)) as server:
        words = command(server.url, tmp_path / "run", 5)
        processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        said = [process.communicate(timeout=120)[0] for process in processes]
    added = [int(re.findall(r"(\d+) trajector(?:y|ies) added|is complete", each)[0] or 0) for each in said]
    assert sum(added) == len(stored(tmp_path / "run")) == 20


def test_a_folder_that_can_not_be_written_is_one_sentence(tmp_path: Path) -> None:
    with ScriptedServer(model(0.0)) as server:
        # Root may write everywhere but there.
        result = subprocess.run(command(server.url, Path("/proc/run")), capture_output=True, text=True)
        _is_refused(result, "/proc/run")
        (tmp_path / "file").write_text("")
        words = command(server.url, tmp_path / "file" / "run")
        _is_refused(subprocess.run(words, capture_output=True, text=True), "Not a directory")
        assert server.sampled() == []


def test_a_disk_that_is_read_only_is_one_sentence_and_can_be_read(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("only root may mount")
    try:
        with ScriptedServer(model(0.0)) as server:
            subprocess.run(command(server.url, disk / "run", 2), check=True, capture_output=True)
            before = stored(disk / "run")
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            result = subprocess.run(command(server.url, disk / "run", 4), capture_output=True, text=True)
            _is_refused(result, "Read-only file system")
            assert stored(disk / "run") == before
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_that_goes_away_is_one_sentence(tmp_path: Path) -> None:
    with ScriptedServer(model(0.01)) as server, running(server.url, tmp_path / "run") as process:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 2, err
    assert len(err.splitlines()) == 1
    assert "No such file or directory" in err
    assert out == ""
