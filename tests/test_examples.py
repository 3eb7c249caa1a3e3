"""The scripts in examples/ run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
# Clients need a server and their packages: tests/server/test_drop_in.py runs them.
SCRIPTS = sorted({*FOLDER.glob("*.py")} - {*FOLDER.glob("*_client.py")})


def uses_model(script: Path) -> bool:
    return any(word in script.read_text() for word in ("llamacpp", "distrivote.open("))


def marked(script: Path) -> object:
    return pytest.param(script, id=script.stem, marks=[pytest.mark.model] if uses_model(script) else [])


@pytest.mark.parametrize("script", [marked(script) for script in SCRIPTS])
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    if uses_model(script):
        pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
    result = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout
