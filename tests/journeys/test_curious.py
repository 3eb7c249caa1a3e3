"""Somebody curious with a laptop: no model, no server, no samples."""

from __future__ import annotations

import json
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
