"""search-and-learn's completions: its reward model's score of each is the confidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.store.importers.base import ImportOptions, id_of_question
from distrivote.store.importers.search_and_learn import FORMAT
from distrivote.store.runs.rows import Row
from foreign_files import TEXT, lines, search_and_learn, written


def read(folder: Path, *records: object) -> list[Row]:
    return list(FORMAT.read(written(folder, "a.jsonl", lines(*records)), ImportOptions()))


def test_every_completion_is_a_sample_with_its_score(tmp_path: Path) -> None:
    rows = read(tmp_path, search_and_learn())
    assert {row.question_id for row in rows} == {"test/sums/1.json"}
    assert {row.ground_truth for row in rows} == {"4"}
    assert [row.text for row in rows[:2]] == [TEXT, ""]
    assert [row.answer for row in rows] == ["4", None, "5"]
    assert [row.confidence for row in rows] == [0.9, 0.1, 0.2]
    assert [row.n_tokens for row in rows] == [9, 0, 5]
    assert all(np.isnan(row.logprob) for row in rows)


def test_without_an_aggregate_the_last_step_counts(tmp_path: Path) -> None:
    record = search_and_learn() | {"scores": [[0.5, 0.75], [], 0.25]}
    del record["agg_scores"], record["unique_id"]
    rows = read(tmp_path, record)
    np.testing.assert_array_equal([row.confidence for row in rows], [0.75, np.nan, 0.25])
    assert rows[0].question_id == id_of_question("2 + 2?")
    del record["scores"]
    assert all(np.isnan(row.confidence) for row in read(tmp_path, record))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"completions": None}, "completions is missing"),
        ({"completions": ["a", 3, "b"]}, "completion 1 is 3"),
        ({"agg_scores": [0.5]}, "3 completions but 1 agg_scores"),
        ({"agg_scores": [0.5, "x", 0.1]}, "completion 1: agg_scores is 'x'"),
        ({"agg_scores": None, "scores": [[0.5], [[]], []]}, "completion 1: scores is a list"),
        ({"completion_tokens": [1, 2.5, 3]}, "completion 1: completion_tokens is 2.5"),
        ({"problem": []}, "problem is a list"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, search_and_learn(), search_and_learn() | change)
    assert "a.jsonl, line 2" in str(caught.value)
