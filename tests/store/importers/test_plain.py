"""Plain tables as runs."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distrivote.errors import InputError
from distrivote.store.importers.base import Reading
from distrivote.store.importers.plain import FORMAT
from distrivote.store.tables import Columns


def test_a_row_keeps_what_the_table_says(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"question_id": "q", "answer": "4", "confidence": 9.5, "ground_truth": "4", "correct": true}\n'
        '{"question_id": "7", "answer": null, "confidence": null}\n'
    )
    first, second = FORMAT.read(path, Reading())
    assert (first.question_id, first.answer, first.confidence) == ("q", "4", 9.5)
    assert (first.ground_truth, first.correct) == ("4", True)
    assert (second.question_id, second.answer, second.answer_class) == ("7", None, -1)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_table_without_confidences_is_read_all_the_same(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"question_id": ["q"], "answer": ["4"]}), path)
    else:
        path.write_text(
            '{"question_id": "q", "answer": "4"}\n' if suffix == "jsonl" else "question_id,answer\nq,4\n"
        )
    (row,) = FORMAT.read(path, Reading())
    assert row.answer == "4"
    assert math.isnan(row.confidence)


def test_columns_can_have_other_names_and_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,said,sure,truth\nq,4,9.5,4\n")
    (row,) = FORMAT.read(path, Reading(columns=Columns("id", "said", "sure", truth="truth")))
    assert (row.question_id, row.answer, row.confidence, row.ground_truth) == ("q", "4", 9.5, "4")
    with pytest.raises(InputError, match="no column 'certain'"):
        list(FORMAT.read(path, Reading(columns=Columns("id", "said", "certain"))))
