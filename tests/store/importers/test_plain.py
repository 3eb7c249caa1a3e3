"""Plain tables as runs."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distrivote.errors import InputError
from distrivote.store.importers.base import ImportOptions
from distrivote.store.importers.plain import FORMAT
from distrivote.store.tables.source import Columns


def test_a_row_keeps_what_the_table_says(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"question_id": "q", "answer": "4", "confidence": 9.5, "ground_truth": "4", "correct": true}\n'
        '{"question_id": "7", "answer": null, "confidence": null}\n'
    )
    first, second = FORMAT.read(path, ImportOptions())
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
    (row,) = FORMAT.read(path, ImportOptions())
    assert row.answer == "4"
    assert math.isnan(row.confidence)


def test_columns_can_have_other_names_and_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,said,sure,truth\nq,4,9.5,4\n")
    (row,) = FORMAT.read(path, ImportOptions(columns=Columns("id", "said", "sure", truth="truth")))
    assert (row.question_id, row.answer, row.confidence, row.ground_truth) == ("q", "4", 9.5, "4")
    with pytest.raises(InputError, match="no column 'certain'"):
        list(FORMAT.read(path, ImportOptions(columns=Columns("id", "said", "certain"))))


def tables(folder: Path, **columns: list[object]) -> list[Path]:
    """Return the same table in each format."""
    table = pa.table(columns)
    pq.write_table(table, folder / "a.parquet")
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    with open(folder / "a.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return [folder / f"a.{suffix}" for suffix in ("parquet", "jsonl", "csv")]


@pytest.mark.parametrize("name", ["text", "response", "completion"])
def test_answers_are_found_in_texts_where_the_table_says_none(tmp_path: Path, name: str) -> None:
    replies = ['My "answer": is \\boxed{4}.', "In confidence: the answer is 5.", "and so on\nand on"]
    paths = tables(tmp_path, question_id=["q"] * 3, **{name: replies}, ground_truth=["4"] * 3)
    for path in paths:
        assert FORMAT.is_one(path, path.read_bytes())
        rows = list(FORMAT.read(path, ImportOptions()))
        assert [row.answer for row in rows] == ["4", "5", None]
        assert [row.text for row in rows] == replies
        assert [row.ground_truth for row in rows] == ["4"] * 3
        assert all(math.isnan(row.confidence) for row in rows)
        rows = list(FORMAT.read(path, ImportOptions("boxed")))
        assert [row.answer for row in rows] == ["4", None, None]


def test_where_a_table_says_answers_they_are_found_in_texts_only_if_somebody_says_how(
    tmp_path: Path,
) -> None:
    for path in tables(
        tmp_path, question_id=["q"], answer=["7"], text=["\\boxed{4} and 5"], confidence=[9.5], correct=[True]
    ):
        (row,) = FORMAT.read(path, ImportOptions())
        assert (row.answer, row.confidence) == ("7", 9.5)
        for extract, answer in (("boxed", "4"), ("number", "5"), ("auto", "4")):
            (row,) = FORMAT.read(path, ImportOptions(extract))
            assert (row.answer, row.confidence, row.correct) == (answer, 9.5, True)


def test_the_column_of_texts_can_be_named_also_if_it_is_that_of_answers(tmp_path: Path) -> None:
    for path in tables(tmp_path, question_id=["q"], answer=["It is \\boxed{4}."]):
        (row,) = FORMAT.read(path, ImportOptions("boxed", text="answer"))
        assert row.answer == "4"
        with pytest.raises(InputError, match="no column 'said'"):
            list(FORMAT.read(path, ImportOptions(text="said")))


def test_what_can_not_be_found_is_one_sentence(tmp_path: Path) -> None:
    for path in tables(tmp_path, question_id=["q"], answer=["It is \\boxed{4}."]):
        with pytest.raises(InputError) as caught:
            list(FORMAT.read(path, ImportOptions("boxed")))
        assert str(caught.value) == (
            f"'boxed' finds answers in replies, and {path} has no column of whole replies (it has"
            " answer, question_id): name the replies with `text`, or leave `extract` out"
        )
    for path in tables(tmp_path, question_id=["q"], said=["4"]):
        with pytest.raises(InputError) as caught:
            list(FORMAT.read(path, ImportOptions()))
        assert str(caught.value) == (
            f"{path} has no column 'answer' and no column of whole replies (it has question_id, said): name"
            " the replies with `text`, or the answers with `answer_column`"
        )
