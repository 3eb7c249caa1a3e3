"""Rows of local files: every format gives the same ones, and every fault names its place."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distrivote.benchmarks import load
from distrivote.benchmarks.files import read
from distrivote.errors import InputError

ROWS = [
    {"question_id": "a", "question": "What is 6 * 7?", "answer": "42"},
    {"question_id": "b", "question": 'Two\nlines, "quoted"', "answer": "\\frac{1}{2}"},
    {"question_id": "ü\u2028", "question": "Größe? 你好\u2028 \x0b", "answer": None},
    {"question_id": "d", "question": "long " * 200_000, "answer": "0"},
]


def write(path: Path, rows: list[dict[str, str | None]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with open(path, "w", newline="", encoding="utf-8-sig") as file:
            writer = csv.DictWriter(file, rows[0], delimiter={".tsv": "\t", ".csv": ","}[path.suffix])
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_every_format_gives_the_same_problems(suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"mine{suffix}", ROWS)
    benchmark = load(path)
    assert (benchmark.name, benchmark.source) == ("mine", str(path))
    assert [problem.question for problem in benchmark] == [str(row["question"]).strip() for row in ROWS]
    assert [problem.answer for problem in benchmark] == [row["answer"] for row in ROWS]
    assert [problem.id for problem in benchmark] == ["a", "b", "ü", "d"]
    assert {problem.template for problem in benchmark} == {"math"}


def test_the_first_bytes_tell_the_format_where_the_suffix_does_not(tmp_path: Path) -> None:
    for suffix in (".jsonl", ".csv", ".parquet"):
        path = write(tmp_path / f"mine{suffix}", ROWS)
        assert len(read(path.rename(tmp_path / "mine")).rows) == 4


def test_lines_are_counted_as_an_editor_does(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(b'\r\nquestion,answer\r\n"two\r\nlines",1\r\n\r\nlast,2\r\n')
    assert [row.where.rpartition(", ")[2] for row in read(path).rows] == ["line 3", "line 6"]


QUESTION = b'{"question": "q", "answer": 1, "id": 1}\n'
BAD = [
    ("no-rows.jsonl", b"", "no-rows.jsonl has no rows"),
    ("blank.jsonl", b"\n \n", "blank.jsonl has no rows"),
    ("blank.csv", b"\n\n", "blank.csv has no rows"),
    ("header.csv", b"question,answer\n", "header.csv has no rows"),
    ("cut.jsonl", QUESTION + b'{"question": "q', r"cut.jsonl, line 2 is not valid JSON \(Unterminated"),
    ("list.json", b'["q", 1]\n', "list.json, line 1 is not a JSON object but"),
    ("deep.jsonl", b"[" * 200_000 + b"\n", "deep.jsonl, line 1 (is not valid|can't be read as) JSON"),
    ("digits.jsonl", b'{"answer": ' + b"9" * 5000 + b"}\n", "digits.jsonl, line 1 can't be read as JSON"),
    ("nul.jsonl", QUESTION + b"\0\n", "nul.jsonl, line 2 holds a NUL byte"),
    ("latin.csv", b"question,answer\nGr\xf6\xdfe?,1\n", "latin.csv, line 2: byte 3 is not UTF-8"),
    ("half.jsonl", b'{"question": "\\ud800", "answer": 1}\n', "half.jsonl, line 1: question is not UTF-8"),
    (
        "wide.csv",
        b"question,answer\nWhy, oh why?,1\n",
        "wide.csv, line 2 has 3 fields where the header has 2",
    ),
    ("quote.csv", b'question,answer\n"q"x,1\n', "quote.csv, line 2 is not valid CSV"),
    ("twice.csv", b"question,answer,answer\nq,1,2\n", "twice.csv has 2 columns called 'answer'"),
    ("names.csv", b"prompt,answer\nq,1\n", r"names.csv has no column 'question' \(it has prompt, answer\)"),
    ("names.jsonl", b'{"question": "q", "solution": 1}\n', "names.jsonl has no column 'answer'"),
    (
        "empty.jsonl",
        QUESTION + b'\n{"question": " ", "id": 2}\n',
        r"empty.jsonl, line 3: question is empty \(' '\)",
    ),
    (
        "null.jsonl",
        QUESTION + b'{"question": null, "id": 2}\n',
        r"null.jsonl, line 2: question is empty \(None\)",
    ),
    ("ids.jsonl", QUESTION * 2, "ids.jsonl, line 2: the id '1' is taken by .*ids.jsonl, line 1"),
    ("id.jsonl", QUESTION + b'{"question": "q"}\n', "id.jsonl, line 2: id is empty"),
    ("nested.jsonl", b'{"question": ["q"], "answer": 1}\n', "nested.jsonl, line 1: question is a list"),
    ("cut.parquet", b"PAR1 and no more", "cut.parquet can't be read as a Parquet file"),
    ("empty.parquet", b"", "empty.parquet can't be read as a Parquet file"),
    ("packed.jsonl", b"\x1f\x8b123", "packed.jsonl is packed with gzip"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD, ids=[name for name, _, _ in BAD])
def test_a_fault_is_one_sentence_with_its_place(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert ": " in str(caught.value)


def test_a_fault_in_parquet_names_its_row(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.parquet", [ROWS[0], {**ROWS[1], "question": ""}])
    with pytest.raises(InputError, match=r"mine.parquet, row 2: question is empty"):
        load(path)


def test_a_folder_and_a_missing_file_are_said_to_be_that(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory: name one file of questions"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"can't read .*absent.jsonl \(No such file"):
        load(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match=r"can't read absent.csv \(No such file"):
        load("absent.csv")


def test_columns_of_a_folder_that_looks_like_a_partition_are_not_added(tmp_path: Path) -> None:
    (tmp_path / "answer=7").mkdir()
    path = write(tmp_path / "answer=7" / "mine.parquet", [{"question": "q", "answer": "8"}])
    assert load(path).problems[0].answer == "8"
