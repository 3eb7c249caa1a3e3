"""A researcher with saved samples: which vote is better on them, and is the difference real?"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from journeys.walk import ROOT, Walk, mentioned


@pytest.mark.slow
def test_a_researcher_votes_compares_and_takes_the_numbers_home(tmp_path: Path) -> None:
    mentioned("distrivote vote", "--explain", "-o votes.parquet", "distrivote evaluate", "question_id")
    walk = Walk(tmp_path)
    rows = [json.loads(line) for line in (ROOT / "examples" / "answers.jsonl").read_text().splitlines()]
    with (tmp_path / "mine.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["problem", "reply", "certainty", "truth"])
        table.writeheader()
        for row in rows:
            values = (row["question_id"], row["answer"], row["confidence"], row["ground_truth"])
            table.writerow(dict(zip(table.fieldnames, values, strict=True)))
    names = (
        "--question-column problem --answer-column reply --confidence-column certainty --truth-column truth"
    )
    voted = walk.types(f"distrivote vote mine.csv {names} --method sc --method dis-gmm --method auto")
    assert "bat-and-ball" in voted
    assert "likely wrong" in walk.types(f"distrivote vote mine.csv {names} --explain bat-and-ball")
    walk.types(f"distrivote vote mine.csv {names} -o votes.parquet")
    walk.types(f"distrivote import mine.csv {names} -o run --benchmark riddles")
    assert "riddles" in walk.types("distrivote runs .")
    walk.types("distrivote evaluate run --budget 16 --repeats 16 -e main -o report.html")
    walk.types("distrivote evaluate run --budget 16 --repeats 16 -e trust -o trust.csv")
    assert "<html" in (tmp_path / "report.html").read_text()[:500]
    assert (tmp_path / "trust.csv").stat().st_size > 100
