"""Somebody who reproduces the paper: both arms of a benchmark, stopped and resumed, beside its numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from journeys.walk import Walk, mentioned

pytestmark = pytest.mark.model


def test_a_reproducer_samples_both_arms_and_compares_with_the_paper(tmp_path: Path) -> None:
    mentioned("distrivote generate", "docs/benchmarks.md", "docs/runs.md", "docs/evaluating.md")
    walk = Walk(tmp_path)
    generate = "distrivote generate arithmetic --size 3 --budget 4 --max-tokens 48 --json"
    assert "tokens" in walk.types(f"{generate} -o basic --no-ssc --dry-run")
    walk.types(f"{generate} -o basic --no-ssc --limit 1")
    walk.types(f"{generate} -o basic --no-ssc")  # goes on with the other two
    walk.types(f"{generate} -o ssc --delta 0.95")
    voted = json.loads(walk.types("distrivote vote basic --json"))
    assert len(voted["questions"]) == 3
    assert "arithmetic" in walk.types("distrivote runs .")
    evaluate = "distrivote evaluate basic ssc --budget 4 --repeats 8"
    table = walk.types(f"{evaluate} -e main --against-paper -o main.md && cat main.md")
    assert "DIS-GMM" in table
    walk.types(f"{evaluate} -e length -o length.tex")
