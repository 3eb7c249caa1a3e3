"""What a user installs: the wheel, the lock, and the README's commands in an empty environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BASE = {"aiohttp", "msgspec", "numpy", "packaging", "pyarrow", "rich", "typer"}
"""What everybody installs. A package more is a decision, not an accident."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


def wheel_in(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_pin_of_a_lock_has_hashes(lock: Path) -> None:
    pins = re.split(r"\n(?=[A-Za-z0-9])", lock.read_text())
    pins = [pin for pin in pins if re.match(r"[A-Za-z0-9]", pin)]
    assert pins
    for pin in pins:
        assert re.match(r"[A-Za-z0-9._\[\],-]+==[^\s;\\]+", pin), pin.splitlines()[0]
        assert "--hash=sha256:" in pin, pin.splitlines()[0]


def test_the_build_backend_is_the_one_with_hashes() -> None:
    (backend,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert f"{backend} \\\n" in (ROOT / "requirements" / "build.txt").read_text()
    assert "--require-hashes -r /build.txt" in (ROOT / "Dockerfile").read_text()


def test_the_wheel_asks_for_seven_packages_and_holds_the_package_alone(built: Path) -> None:
    with zipfile.ZipFile(wheel_in(built)) as wheel:
        names = wheel.namelist()
        (about,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = BytesParser().parsebytes(wheel.read(about))
    needed = [line for line in metadata.get_all("Requires-Dist") or () if "extra ==" not in line]
    assert {re.split(r"[^A-Za-z0-9_-]", line)[0] for line in needed} == BASE
    assert all(name.startswith(("distrivote/", "distrivote-")) for name in names)
    shipped = {
        "distrivote/py.typed",
        "distrivote/evaluation/paper/published.csv",
        "distrivote/server/static/index.html",
    }
    assert shipped <= set(names)


def test_the_sdist_holds_what_the_wheel_is_made_of(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/distrivote/__init__.py"} <= inside
    assert not any(name.startswith(("build/", ".venv/", ".git/")) for name in inside)


@pytest.mark.model
def test_the_commands_of_the_readme_run_where_the_wheel_was_installed_with_the_lock(
    built: Path, tmp_path: Path
) -> None:
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    locked = subprocess.run(
        [*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "run.txt")],
        capture_output=True,
        text=True,
    )
    if "No matching distribution" in locked.stderr or "Max retries" in locked.stderr:
        pytest.skip("there is no package index here")
    assert locked.returncode == 0, locked.stderr[-2000:]
    subprocess.run([*pip, "--no-deps", str(wheel_in(built))], check=True)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = kept | {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    commands = [
        command
        for block in CONSOLE.findall((ROOT / "README.md").read_text())
        for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE)
        if not command.startswith("make ")
    ]
    assert len(commands) >= 8
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stderr[-2000:]}"
    where = subprocess.run(
        ["python", "-c", "import distrivote; print(distrivote.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(place) in where.stdout


def test_every_target_of_make_help_fits_80_columns() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "demo" in listed
    assert max(map(len, listed.splitlines())) <= 80
