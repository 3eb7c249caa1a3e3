"""Somebody with a vote of their own: a function in a file, compared with the others, then a package."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from journeys.walk import ROOT, Walk, mentioned

MINE = '''
import numpy as np


def cubes(classes, confidences, p=3.0):
    """Every trajectory votes with a power of its confidence."""
    return np.bincount(classes, weights=confidences**p)
'''


@pytest.mark.slow
def test_a_plugin_writer_tries_a_function_compares_it_and_packages_it(tmp_path: Path) -> None:
    mentioned("docs/extending.md")
    walk = Walk(tmp_path)
    shutil.copy(ROOT / "examples" / "answers.jsonl", tmp_path)
    # A function in a file of the working folder is a method at once.
    (tmp_path / "mine.py").write_text(MINE)
    assert "cubes" in walk.types("distrivote vote answers.jsonl -m mine:cubes -m sc")
    assert "bat-and-ball" in walk.types("distrivote vote answers.jsonl -m mine:cubes:p=2")
    # A slip is one sentence that says what is wrong.
    said = walk.types("distrivote vote answers.jsonl -m mine:cube 2>&1", code=2)
    assert "mine" in said
    assert "cube" in said
    assert "Traceback" not in said
    compared = walk.types(
        "distrivote evaluate answers.jsonl -m mine:cubes --baseline sc --budget 16 --repeats 4 --json"
    )
    assert "mine:cubes" in json.dumps(json.loads(compared))
    # The template becomes a package with another name for the same vote.
    package = tmp_path / "distrivote-cubes"
    shutil.copytree(ROOT / "examples" / "extending" / "plugin", package)
    source = package / "src" / "distrivote_power"
    source.rename(source.with_name("distrivote_cubes"))
    (package / "src" / "distrivote_cubes" / "__init__.py").write_text(MINE)
    about = package / "pyproject.toml"
    lines = about.read_text().replace("distrivote-power", "distrivote-cubes").splitlines()
    start = lines.index('[project.entry-points."distrivote.methods"]')
    about.write_text("\n".join([*lines[: start + 1], 'cubes = "distrivote_cubes:cubes"', ""]))
    (tmp_path / "mine.py").unlink()
    walk.types(
        f"{sys.executable} -m pip install -q --no-deps --no-build-isolation --target site ./distrivote-cubes"
    )
    walk.environment["PYTHONPATH"] = str(tmp_path / "site")
    assert "cubes" in walk.types("distrivote vote answers.jsonl -m cubes -m sc")
    assert "cubes" in walk.types("distrivote doctor 2>&1")
