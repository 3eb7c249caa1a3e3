"""Tables that have no end: devices, pipes, standard input."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from distrivote.errors import InputError
from distrivote.store.tables.source import Columns, open_table

COMMAND = [sys.executable, "-m", "distrivote"]
ROW = b'{"question_id": "a", "answer": "1", "confidence": 2.0}\n'
DEVICE = "is a device: name a file of sampled answers, or - for standard input"
READERS = [["vote", "{}"], ["evaluate", "{}"], ["plan", "{}"], ["generate", "{}", "-o", "run"]]


def run(*arguments: str, cwd: Path, stdin: object = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(cwd)}
    return subprocess.run(
        [*COMMAND, *arguments],
        stdin=stdin,  # type: ignore[call-overload]
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        timeout=120,
    )


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_no_command_reads_a_device(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to("/dev/zero")
    result = run(*(word.format("link.jsonl") for word in command), cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].endswith(f"link.jsonl {DEVICE}")
    assert [path.name for path in tmp_path.iterdir()] == ["link.jsonl"]


def test_standard_input_may_be_no_device_either(tmp_path: Path) -> None:
    with open("/dev/zero", "rb") as zeros:
        result = run("vote", "-", cwd=tmp_path, stdin=zeros)
    assert result.returncode == 2
    assert DEVICE in result.stderr


def test_a_question_without_an_end_is_refused(tmp_path: Path) -> None:
    with open("/dev/zero", "rb") as zeros:
        result = run("ask", "-", "--base-url", "http://127.0.0.1:9", cwd=tmp_path, stdin=zeros)
    assert result.returncode == 2
    assert "the question has more than 4,000,000 characters" in result.stderr


def test_an_empty_standard_input_is_an_empty_table(tmp_path: Path) -> None:
    assert "standard input is empty" in run("vote", "-", cwd=tmp_path).stderr


def test_import_reads_files_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("pipe.jsonl", "/dev/zero"):
        result = run("import", name, "-o", "run", cwd=tmp_path)
        assert result.returncode == 2
        assert f"{name} is no file but a pipe or a device: write it into a file first" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["-", "pipe"])
def test_a_pipe_without_an_end_is_left_at_the_limit(name: str, tmp_path: Path) -> None:
    spools, pipe = tmp_path / "spools", tmp_path / "pipe"
    spools.mkdir()
    os.mkfifo(pipe)
    options = ["vote", "-" if name == "-" else str(pipe), "--max-spool", "0.003"]
    with subprocess.Popen(["yes", ROW.decode().strip()], stdout=subprocess.PIPE) as endless:
        feeder = endless.stdout
        if name == "pipe":
            with subprocess.Popen(["sh", "-c", f"cat > {pipe}"], stdin=feeder) as cat:
                result = run(*options, cwd=spools)
                cat.kill()
        else:
            result = run(*options, cwd=spools, stdin=feeder)
        endless.kill()
    assert result.returncode == 2
    what = "standard input" if name == "-" else str(pipe)
    assert result.stderr.splitlines()[-1] == (
        f"distrivote: error: {what} has more than 0.003 GB, the most that is kept in a temporary file:"
        " write it into a file first, or raise --max-spool"
    )
    assert list(spools.iterdir()) == []


def test_a_pipe_up_to_the_limit_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    for most, fits in ((3 * len(ROW), True), (3 * len(ROW) - 1, False)):
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        feeding = threading.Thread(target=lambda: pipe.write_bytes(ROW * 3))
        feeding.start()
        if fits:
            with open_table(str(pipe), Columns(max_spool=most)) as table:
                assert [sum(batch.num_rows for batch in table.batches()) for _ in range(2)] == [3, 3]
        else:
            with (
                pytest.raises(InputError, match="temporary file"),
                open_table(str(pipe), Columns(max_spool=most)),
            ):
                raise AssertionError
        feeding.join()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="files without a name need /proc")
def test_a_killed_vote_leaves_no_file(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "vote", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdin is not None
    links = Path(f"/proc/{process.pid}/fd")
    while not any(
        os.readlink(link).startswith(str(tmp_path)) for link in links.iterdir() if link.is_symlink()
    ):
        assert process.poll() is None
        time.sleep(0.02)
    process.stdin.write(ROW * 100_000)
    assert list(tmp_path.iterdir()) == []
    process.kill()
    process.wait()
    process.stdin.close()
    assert list(tmp_path.iterdir()) == []
