"""A pinned wheel by pip, by uv and without either; the installers are scripted."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from distrivote.engines.llamacpp import wheels
from distrivote.engines.llamacpp.wheels import Wheel, unpacked
from distrivote.errors import DistrivoteError


def packed(path: Path) -> str:
    """Write a wheel of one file, and return its hash."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("thing/file.bin", "content")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that were run, by installers that do as they are told."""
    found: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        found.append(command)
        if "--dest" in command:
            packed(Path(command[command.index("--dest") + 1]) / "thing-1.0-py3-none-any.whl")
        else:
            target = Path(command[command.index("--target") + 1])
            (target / "thing").mkdir(parents=True)
            (target / "thing/file.bin").write_text("content")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(wheels.subprocess, "run", run)
    return found


def without_pip(monkeypatch: pytest.MonkeyPatch, uv: str | None) -> None:
    monkeypatch.setattr(wheels.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(wheels.shutil, "which", lambda _: uv)


def test_pip_downloads_and_the_hash_is_checked(tmp_path: Path, commands: list[list[str]]) -> None:
    wheel = Wheel("thing", "1.0", packed(tmp_path / "first.zip"))
    folder = tmp_path / "there"
    folder.mkdir()
    assert (unpacked(wheel, folder) / "thing/file.bin").read_text() == "content"
    assert commands[0][1:4] == ["-m", "pip", "download"]
    assert "--require-hashes" in commands[0]
    assert (folder / "requirement.txt").read_text() == f"thing==1.0 --hash=sha256:{wheel.sha256}\n"


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path, commands: list[list[str]]) -> None:
    with pytest.raises(DistrivoteError, match="hash is wrong"):
        unpacked(Wheel("thing", "1.0", "0" * 64), tmp_path)
    assert len(commands) == 1


def test_without_pip_uv_unpacks(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pip(monkeypatch, "/usr/bin/uv")
    assert (unpacked(Wheel("thing", "1.0", "0" * 64), tmp_path) / "thing/file.bin").exists()
    assert commands[0][:3] == ["/usr/bin/uv", "pip", "install"]
    assert "--require-hashes" in commands[0]


def test_without_both_it_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pip(monkeypatch, None)
    with pytest.raises(DistrivoteError, match="neither pip nor uv: install one of them"):
        unpacked(Wheel("thing", "1.0"), tmp_path)


@pytest.mark.parametrize(
    "said", ["ERROR: no such package", "  \nerror: no such package\n", "no such package"]
)
def test_an_installer_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", said)

    monkeypatch.setattr(wheels.subprocess, "run", run)
    with pytest.raises(DistrivoteError, match=r"could not be fetched with pip \(no such package\)"):
        unpacked(Wheel("thing", "1.0"), tmp_path)
