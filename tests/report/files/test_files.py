"""A report as files: tidy tables, JSON, and nothing half-written."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from distrivote.errors import InputError, MissingPackageError
from distrivote.evaluation.results import Column, Result, Table
from distrivote.report.files import files as result_files
from distrivote.report.files.files import (
    check_result_file,
    report_json,
    tidy_table,
    wide_lines,
    write_report,
)
from distrivote.store.tables.cells import guarded
from report.made_up import EVIL, METHODS, made_up_report

REPORT = made_up_report()


def test_the_tidy_table_has_a_line_per_cell() -> None:
    lines = tidy_table(REPORT).to_pylist()
    assert len(lines) == 9 * 5 + 4 * 4
    (found,) = [
        line
        for line in lines
        if (line["experiment"], line["label"], line["column"]) == ("main", "DIS-GMM", "GPQA-D")
    ]
    assert found["value"] == pytest.approx(METHODS["DIS-GMM"] - 0.02)
    assert found["low"] < found["value"] < found["high"]
    assert found["spread"] == 0.0023
    assert found["text"] is None
    assert found["row"] == 7
    assert found["paper"] is None
    beside = {line["label"]: line["paper"] for line in lines if line["column"] == "Avg."}
    assert beside["DIS-GMM"] == pytest.approx(METHODS["DIS-GMM"] + 0.004)
    assert beside["MoB"] is None


def test_missing_cells_and_nan_are_null() -> None:
    lines = [line for line in tidy_table(REPORT).to_pylist() if line["column"] == "difference"]
    assert [line["value"] for line in lines] == [-0.31, None, None, 12.5]


def test_parquet_and_csv_hold_the_same(tmp_path: Path) -> None:
    for suffix in ("parquet", "csv"):
        write_report(REPORT, str(tmp_path / f"r.{suffix}"))
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = pq.read_table(tmp_path / "r.parquet").to_pylist()
    assert [row["text"] for row in rows] == [guarded(row["text"] or "") for row in expected]
    assert [float(row["value"]) for row in rows if row["value"]] == [
        row["value"] for row in expected if row["value"] is not None
    ]


def test_json_holds_everything_but_the_time_it_took() -> None:
    document = json.loads(report_json(REPORT))
    assert document["settings"]["n_repeats"] == 64
    assert [result["experiment"] for result in document["results"]] == [r.experiment for r in REPORT.results]
    assert document["results"][2]["tables"][0]["rows"][0]["question"] == EVIL
    assert document["results"][2]["tables"][0]["rows"][2]["difference"] is None
    assert "seconds" not in document["results"][0]
    assert [chart["kind"] for chart in document["results"][1]["charts"]] == ["histogram", "points"]


@pytest.mark.parametrize("suffix", ["json", "csv", "parquet", "md", "tex"])
def test_the_same_results_are_the_same_bytes_however_long_they_took(tmp_path: Path, suffix: str) -> None:
    slower = replace(REPORT, results=tuple(replace(result, seconds=99.0) for result in REPORT.results))
    write_report(REPORT, str(tmp_path / f"a.{suffix}"))
    write_report(slower, str(tmp_path / f"b.{suffix}"))
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_a_pipe_gets_a_block_per_table() -> None:
    lines = list(wide_lines(REPORT))
    assert lines[0][:6] == ["experiment", "table", "method", "HMMT2025", "HMMT2025_sd", "HMMT2025_low"]
    assert lines[1][:3] == ["main", "accuracy", "SC"]
    assert float(lines[1][3]) == pytest.approx(0.639)
    assert lines[10] == []
    assert lines[11][0] == "experiment"
    assert len(lines) == 16


def test_a_benchmark_may_be_called_like_a_column() -> None:
    table = Table("t", "T", (Column("table", "table", "percent"),), ({"table": 0.5},))
    report = replace(REPORT, results=(Result("main", "M", (table,)),))
    assert next(wide_lines(report)) == ["experiment", "table", "table_"]


def test_a_file_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")

    def broken(*_: object) -> str:
        raise RuntimeError("no")

    monkeypatch.setattr(result_files, "report_json", broken)
    with pytest.raises(RuntimeError):
        write_report(REPORT, str(path))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("r.docx", "end its name in .html, .parquet, .csv, .json, .md or .tex"),
        ("r", "can't tell the format"),
        ("no/such/r.csv", "make the folder"),
        ("run.csv", "is the file that is read"),
    ],
)
def test_a_file_that_can_not_be_written_is_said_before_the_work(
    tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "run.csv").write_text("x")
    with pytest.raises(InputError, match=words):
        check_result_file(str(tmp_path / name), [str(tmp_path / "run.csv")])


def test_a_page_without_altair_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith(("altair", "distrivote.report.files.page", "distrivote.report.chart")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingPackageError, match=r"needs altair.*'\.\[report\]'"):
        check_result_file(str(tmp_path / "r.html"), [])
