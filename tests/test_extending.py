"""What users bring: the examples of docs/extending.md run from Python and from the command line."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from distrivote.names import ROLES
from goldens.warm import Warm

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "extending"
SCRIPTS = sorted(FOLDER.glob("*.py"))
PAGE = (ROOT / "docs" / "extending.md").read_text()
COMMANDS = re.findall(r"^\$ distrivote (.*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_is_short_and_runs(script: Path, tmp_path: Path) -> None:
    assert len(script.read_text().splitlines()) <= 25
    ran = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs forks of POSIX")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command: str, tmp_path: Path, warm: Warm) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if command.startswith("score run "):
        shutil.copytree(ROOT / "examples" / "runs" / "qwen2.5-coder-notes", tmp_path / "run")
    ran = warm.run(shlex.split(command), tmp_path)
    assert ran.code == 0, ran.err
    assert ran.out


def test_there_are_eight_and_each_is_on_the_page() -> None:
    assert len(SCRIPTS) >= 8
    for script in SCRIPTS:
        assert any(f"examples.extending.{script.stem}:" in command for command in COMMANDS), script.stem


def test_the_page_names_every_group_of_entry_points() -> None:
    assert {role.group for role in ROLES} == set(
        re.findall(r"`(distrivote\.[a-z_]+)` \|$", PAGE, re.MULTILINE)
    )


def test_a_package_with_entry_points_adds_names(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="builds the template of a package")
    target = tmp_path / "installed"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "-q",
         "--disable-pip-version-check", "--target", str(target), str(FOLDER / "plugin")],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    code = (
        f"import sys; sys.path.append({str(target)!r})\n"
        "import distrivote\n"
        "from distrivote.confidence import measure_named\n"
        "from distrivote.names import METHOD, found\n"
        "tally = distrivote.vote(['12', '35', '35'], [9.0, 4.0, 4.5], method='power:p=3')\n"
        "print(tally.answer, tally.method, measure_named('brevity').name)\n"
        "print(distrivote.parse_method('power-gmm').name, found(METHOD, 'power').origin)\n"
        "try:\n"
        "    distrivote.parse_method('powr')\n"
        "except distrivote.InputError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        "12 power:p=3 brevity",
        "power-gmm distrivote-power 0.1.0, distrivote_power:power",
        "unknown method 'powr': did you mean power, borda?",
    ]
