"""Somebody curious with a laptop: no model, no server, no samples."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from journeys.walk import Walk, mentioned

pytestmark = pytest.mark.model


def test_a_laptop_owner_asks_looks_why_and_sees_what_else_works(tmp_path: Path) -> None:
    mentioned("make demo", "distrivote ask", "distrivote doctor", "docs/concepts.md")
    walk = Walk(tmp_path)
    ask = 'distrivote ask "Tom has 5 apples and buys 7 more. How many has he?" --budget 8 --max-tokens 48'
    answer = walk.types(ask).strip()
    assert answer
    told = json.loads(walk.types(f"{ask} --json"))
    assert told["answer"] == answer  # the same seed, the same answer
    assert told["majority"] in told["votes"]
    assert "embedded" in walk.types("distrivote doctor")
    # A careful person does not want unsure answers.
    walk.types(f"{ask} --method auto --min-probability 0.9999", code=3)


def test_the_demo_tells_its_story_in_a_pipe_of_80_columns(tmp_path: Path) -> None:
    demo = Path(__file__).parents[2] / "examples" / "demo.py"
    shown = subprocess.run(
        [sys.executable, str(demo)], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert max(map(len, map(str.rstrip, shown.splitlines()))) <= 80
    assert re.search(r"\d\.\d{5}", shown) is None
    shares = dict(re.findall(r"^  (one reply|majority|DistriVoting|auto) +(\d+)%  █", shown, re.M))
    assert int(shares.pop("one reply")) < min(map(int, shares.values()))
    assert len(shares) == 3
    assert "majority voting says 12 too" in shown
    assert (tmp_path / "build" / "demo.html").exists()
