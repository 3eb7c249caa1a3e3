"""Self-Certainty's outputs: its confidences are the rows'."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.store.importers.base import ImportOptions, id_of_question
from distrivote.store.importers.self_certainty import FORMAT
from distrivote.store.runs.rows import Row
from foreign_files import TEXT, lines, self_certainty, written


def read(folder: Path, *records: object) -> list[Row]:
    return list(
        FORMAT.read(written(folder, "a.json", json.dumps(records, indent=4).encode()), ImportOptions())
    )


def test_every_output_is_a_sample_with_its_confidence(tmp_path: Path) -> None:
    rows = read(tmp_path, self_certainty(), self_certainty() | {"model_input": "Größe?", "id": 5})
    assert [row.question_id for row in rows] == [id_of_question("2 + 2?")] * 3 + ["5"] * 3
    assert [row.text for row in rows[:2]] == [TEXT, ""]
    assert [row.answer for row in rows[:3]] == ["4", None, "5"]
    assert {row.ground_truth for row in rows} == {"4"}
    for column in ("confidence", "self_certainty"):
        np.testing.assert_array_equal([getattr(row, column) for row in rows[:3]], [17.25, np.nan, 16.5])
    assert [row.whole_distribution for row in rows[:3]] == [True, None, True]
    assert all(np.isnan(row.logprob) for row in rows)


def test_json_lines_are_read_too(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", lines(self_certainty(), self_certainty()))
    assert len(list(FORMAT.read(path, ImportOptions()))) == 6


def test_outputs_without_confidences_have_none(tmp_path: Path) -> None:
    record = self_certainty()
    del record["confidence_list"]
    assert all(np.isnan(row.confidence) for row in read(tmp_path, record))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"output": "x"}, "output is 'x'"),
        ({"output": ["a", 3, "b"]}, "output 1 is 3"),
        ({"confidence_list": [1.5]}, "3 outputs but 1 confidences"),
        ({"confidence_list": [1.5, "x", 2]}, "output 1: confidence_list is 'x'"),
        ({"model_input": None}, "which question"),
        ({"answer": []}, "answer is a list"),
    ],
)
def test_a_fault_names_its_place(tmp_path: Path, change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, self_certainty(), self_certainty() | change)
    assert "a.json, item 2" in str(caught.value)
