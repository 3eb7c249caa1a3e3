"""Every command on a disk that can be read and not written: one sentence and exit code 2, or it works."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "runs" / "smollm2-basic"
REASONS = ("Permission denied", "Read-only file system")


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, a damaged run and a table."""
    folder = tmp_path_factory.mktemp("disk")
    for name in ("run", "damaged"):
        shutil.copytree(EXAMPLE, folder / name)
    part = next((folder / "damaged" / "parts").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-5])
    rows = '{"question_id": "a", "answer": "1", "confidence": 2.0, "ground_truth": "1"}\n'
    (folder / "table.jsonl").write_text(rows * 3)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder


def _without_privilege() -> None:
    """Give up what lets root write where nobody may: drop CAP_DAC_OVERRIDE for the program that follows."""
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


def run(disk: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in that folder without the right to write there."""
    words = f"exec {sys.executable} -m distrivote {command}"
    return subprocess.run(
        ["sh", "-c", words],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=disk,
        preexec_fn=_without_privilege if sys.platform == "linux" else None,
    )


WRITING = [
    "vote table.jsonl -o out.csv",
    "import table.jsonl -o new",
    "export run -o out.csv",
    "export run -o new --format run",
    "export run -o new --format deepconf",
    "compact run",
    "compact damaged",
    "evaluate run -e main --repeats 2 -o out.html",
    "evaluate run -e main --repeats 2 -o out.csv",
    "calibrate run -o out.json",
    "simulate misleading -o new",
    "generate arithmetic --size 2 --budget 2 -o new --base-url http://127.0.0.1:1/v1 --model x",
    "generate arithmetic --size 2 --budget 2 -o run --base-url http://127.0.0.1:1/v1 --model x",
    "reproduce -o new --dry-run",
]
READING = ["vote table.jsonl", "vote run", "show run", "runs .", "plan run", "vote - < table.jsonl"]


@pytest.mark.parametrize("command", WRITING)
def test_what_writes_says_so_in_one_sentence(command: str, disk: Path) -> None:
    before = sorted(disk.rglob("*"))
    done = run(disk, command)
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    if "dry-run" not in command:
        assert done.returncode == 2, done.stderr
        assert "made with other settings" in done.stderr or any(reason in last for reason in REASONS), (
            done.stderr
        )
    assert sorted(disk.rglob("*")) == before


@pytest.mark.parametrize("command", READING)
def test_what_reads_works(command: str, disk: Path) -> None:
    done = run(disk, command)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_clean_up_that_fails_does_not_hide_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distrivote.errors import InputError
    from distrivote.store.results.files import new_folder, whole_file
    from distrivote.store.runs.claims import claim
    from distrivote.store.runs.folder import LocalFolder

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def stuck(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("os.fsync", fail)
    monkeypatch.setattr("pathlib.Path.unlink", stuck)
    monkeypatch.setattr("os.unlink", stuck)
    monkeypatch.setattr("shutil.rmtree", stuck)
    with pytest.raises(OSError, match="No space left"):
        LocalFolder(tmp_path).write("part", b"x")
    with pytest.raises(InputError, match="No space left"):
        claim(tmp_path, ["part"])
    with pytest.raises(InputError, match="No space left"), whole_file(str(tmp_path / "out.csv")) as file:
        file.write(b"x")
    with pytest.raises(InputError, match="No space left"), new_folder(tmp_path / "new"):
        fail()


def test_a_file_is_synced_before_it_is_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distrivote.store.results import files

    calls: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(files.os, name, lambda *args, n=name, r=real: calls.append(n) or r(*args))
    with files.whole_file(str(tmp_path / "out.csv")) as file:
        file.write(b"x")
    assert calls == ["fsync", "replace"]


def test_what_killed_calls_left_is_swept_by_the_next(tmp_path: Path) -> None:
    import fcntl

    from distrivote.store.results.files import STALE, UNLOCKED, new_folder

    ages = {
        "new.0123abcd": 2 * UNLOCKED,
        "new.1123abcd": STALE + 1,
        "new.2123abcd": 2 * UNLOCKED,  # a process that lives has this one
        "new.3123abcd": 0.0,  # as has this one, since a moment
        "old.0123abcd": STALE + 1,
    }
    paths = [tmp_path / f".{name}.tmp" for name in ages]
    for path, age in zip(paths, ages.values(), strict=True):
        (path / "parts").mkdir(parents=True)
        os.utime(path, (1, time.time() - age))
    handle = os.open(paths[2], os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with new_folder(tmp_path / "new") as beside:
            (beside / "file").touch()
    finally:
        os.close(handle)
    assert sorted(path.name for path in tmp_path.iterdir()) == [*(path.name for path in paths[2:]), "new"]
