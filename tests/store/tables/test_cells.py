"""Text cells that no spreadsheet computes, and that our own reader gives back."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrivote.benchmarks import files as benchmark_files
from distrivote.store.results.files import writing
from distrivote.store.tables.cells import bare, guarded, header_line, reader_of
from distrivote.store.tables.source import Columns, open_table

CELLS = st.text(st.sampled_from("'=+-@\t\r\n13.eEx\",;"), max_size=8)
ANSWERS = CELLS.filter(lambda text: bool(text.strip()))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("http://x")', '\'=HYPERLINK("http://x")'),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-x", "'-x"),
        ("-", "'-"),
        ("+1+1", "'+1+1"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-1,5", "'-1,5"),
        ("-٣", "'-٣"),
        ("'=x", "''=x"),
        ("'-x'", "''-x'"),
        *((text, text) for text in ("-3", "+1.5e3", "-.5", "-5.", "'-3", "'x", "x=1", "1-2", "", "'", " =1")),
    ],
)
def test_a_quote_stands_before_what_would_be_computed(text: str, cell: str) -> None:
    assert guarded(text) == cell
    assert bare(cell) == text


@given(st.text() | CELLS)
def test_a_guarded_text_comes_back_and_is_no_formula(text: str) -> None:
    cell = guarded(text)
    assert bare(cell) == text
    assert cell[:1] not in {*"=@\t\r"}
    if cell[:1] in {*"+-"}:
        float(cell)


@given(st.lists(CELLS, min_size=2, max_size=4))
def test_a_header_of_ours_is_known_by_its_marks(names: list[str]) -> None:
    line = header_line(names)
    cells = next(csv.reader(io.StringIO(line, newline="")))
    assert [bare(cell) for cell in cells] == names
    every = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    assert reader_of(every, cells)("'=x") == "'=x"
    needed = io.StringIO(newline="")
    csv.writer(needed).writerow(cells)
    assert reader_of(needed.getvalue().split("\n")[0], cells)("'=x") == "'=x"


def written(path: Path, answers: list[str | None]) -> Path:
    n = len(answers)
    table = pa.table({"question_id": ["-q"] * n, "answer": pa.array(answers, pa.string()), "-a,b": ["@"] * n})
    with writing(str(path)) as writer:
        writer.write(table.slice(0, 1))
        writer.write(table.slice(1))
    return path


def read(path: Path) -> list[Any]:
    with open_table(str(path), Columns(confidence=None, by="-a,b")) as table:
        batches = [batch.to_pydict() for batch in table.batches()]
    assert {name for batch in batches for name in batch["question"] + batch["by"]} == {"-q", "@"}
    return [answer for batch in batches for answer in batch["answer"]]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.none() | ANSWERS, min_size=1, max_size=5))
def test_what_we_write_is_what_we_read(tmp_path_factory: pytest.TempPathFactory, answers: list[str]) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    expected = read(written(path.with_suffix(".parquet"), answers))
    assert expected == read(written(path, answers))
    with open(path, newline="") as file:
        raw = list(csv.reader(file))
    assert [row[1] for row in raw[1:]] == [guarded(answer or "") for answer in answers]


@pytest.mark.parametrize("header", ["question_id,answer", '"question_id","answer"', "'question_id',answer"])
def test_quotes_in_a_file_of_somebody_else_stay(tmp_path: Path, header: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{header.replace(chr(39), '')}\nq,'-x'\nq,'=1+1\nq,-x\n")
    with open_table(str(path), Columns(confidence=None)) as table:
        (batch,) = table.batches()
    assert batch["answer"].to_pylist() == ["'-x'", "'=1+1", "-x"]


def test_a_benchmark_that_we_wrote_is_read_as_it_was(tmp_path: Path) -> None:
    table = pa.table({"id": ["1"], "question": ["-x = 2?"], "answer": ["=2"]})
    with writing(str(tmp_path / "b.csv")) as writer:
        writer.write(table)
    (row,) = benchmark_files.read(tmp_path / "b.csv").rows
    assert row.values == {"id": "1", "question": "-x = 2?", "answer": "=2"}


def test_tab_separated_cells_are_guarded_and_stay_so(tmp_path: Path) -> None:
    with writing(str(tmp_path / "a.tsv")) as writer:
        writer.write(pa.table({"question_id": ["q", "q"], "answer": ["=1", "-3"]}))
    assert (tmp_path / "a.tsv").read_text() == "question_id\tanswer\nq\t'=1\nq\t-3\n"
