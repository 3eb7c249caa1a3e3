"""Tables of sampled answers: every format gives the same questions, and every fault names its place."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrivote.errors import InputError
from distrivote.store.tables import parquet as table_parquet
from distrivote.store.tables import questions as questions_module
from distrivote.store.tables import text as table_text
from distrivote.store.tables.questions import QuestionCameBack, hold_questions, stream_questions
from distrivote.store.tables.source import Columns, open_table
from distrivote.voting.scales import exp_of

Record = dict[str, Any]
ROWS: list[Record] = [
    {"question_id": "a", "answer": "42", "confidence": 15.5, "ground_truth": "42"},
    {"question_id": "a", "answer": "41", "confidence": 12.25, "ground_truth": "42"},
    {"question_id": "a", "answer": None, "confidence": None, "ground_truth": "42"},
    {"question_id": "b", "answer": 'x,"y"\n', "confidence": 9.0, "ground_truth": "z"},
    {"question_id": "c", "answer": "\\frac{1}{2}", "confidence": 1e-3, "ground_truth": None},
    {"question_id": "c", "answer": "  ", "confidence": 3.0, "ground_truth": None},
]


def write(path: Path, rows: list[Record]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        import csv

        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def grouped(path: Path | str, columns: Columns | None = None, held: bool = False) -> list[Any]:
    """Return [(by, question, [(answer, confidence)], truth, [correct])] as plain values."""
    group = hold_questions if held else stream_questions
    found = []
    with open_table(str(path), columns or Columns()) as table:
        for some in group(table.batches()):
            labels = some.labels.to_pylist()
            for i, question in enumerate(some.ids.to_pylist()):
                rows = slice(some.offsets[i], some.offsets[i + 1])
                answers = [labels[c] if c >= 0 else None for c in some.classes[rows].tolist()]
                confidences = [None if c != c else c for c in some.confidences[rows].tolist()]
                found.append(
                    (
                        None if some.by is None else some.by[i].as_py(),
                        question,
                        list(zip(answers, confidences, strict=True)),
                        None if some.truths is None else some.truths[i].as_py(),
                        None if some.correct is None else some.correct[rows].tolist(),
                    )
                )
    return found


STRICT = Columns(named=True, positive_for="dis-gmm")
"""The column of the confidence must be there, and its values must be positive."""


def fault(path: Path | str, columns: Columns = STRICT) -> str:
    with pytest.raises(InputError) as caught:
        grouped(path, columns)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.exit_code == 2
    return message


# What is read


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_every_format_gives_the_same_questions(tmp_path: Path, suffix: str) -> None:
    found = [entry[:4] for entry in grouped(write(tmp_path / f"answers.{suffix}", ROWS))]
    assert found == [
        (None, "a", [("42", 15.5), ("41", 12.25), (None, None)], "42"),
        (None, "b", [('x,"y"\n', 9.0)], "z"),
        (None, "c", [("\\frac{1}{2}", 1e-3), (None, 3.0)], None),
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_standard_input_is_sniffed_and_leaves_nothing_behind(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / f"answers.{suffix}", ROWS)
    spools = tmp_path / "spools"
    spools.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spools))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert grouped("-") == grouped(path)
    assert list(spools.iterdir()) == []


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    import threading

    path = write(tmp_path / "answers.jsonl", ROWS)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeding = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    feeding.start()
    found = grouped(pipe)
    feeding.join()
    assert found == grouped(path)


def test_semicolons_and_a_byte_order_mark_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    path.write_text("\ufeffquestion_id;answer;confidence\r\n1;42;3,5\r\n")
    assert "line 2: confidence is '3,5'" in fault(path)
    path.write_text("\ufeffquestion_id;answer;confidence\r\n\r\n1;42;3.5\r\n")
    assert grouped(path)[0][:3] == (None, "1", [("42", 3.5)])


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pa.array([42, 7, None]), ["42", "7", None]),
        (pa.array([42.0, -0.0, float("nan")]), ["42", "0", None]),
        (pa.array([0.1, 0.5, None], pa.float32()), ["0.1", "0.5", None]),
        (pa.array([Decimal("42.00"), Decimal("0.10"), None]), ["42", "0.1", None]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array(["x", " ", "y"], pa.large_string()), ["x", None, "y"]),
        (pa.array(["x", "", "x"]).dictionary_encode(), ["x", None, "x"]),
        (pa.array([b"x", b"y", b""], pa.binary()), ["x", "y", None]),
        (pa.nulls(3), [None, None, None]),
        (pa.DictionaryArray.from_arrays([0, 1, 2], ["x", "y", "x"]), ["x", "y", "x"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_parquet_answers_of_every_type_have_labels(
    tmp_path: Path, values: pa.Array, labels: list[str | None]
) -> None:
    table = pa.table({"question_id": [1, 1, 1], "answer": values, "confidence": [1, 2, 3]})
    pq.write_table(table, tmp_path / "typed.parquet")
    (found,) = grouped(tmp_path / "typed.parquet")
    assert [answer for answer, _ in found[2]] == labels


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        (pa.array([3, 3, 1], pa.int16()), [3, 1]),
        (pa.array(["q", "q", "p"], pa.large_string()), ["q", "p"]),
        (pa.array(["q", "q", "p"]).dictionary_encode(), ["q", "p"]),
        (pa.array([2**63, 2**63, 1], pa.uint64()), [str(2**63), "1"]),
        (pa.array([1.5, 1.5, 2.0]), ["1.5", "2"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_parquet_ids_of_every_type_tell_questions_apart(
    tmp_path: Path, values: pa.Array, ids: list[object]
) -> None:
    table = pa.table({"question_id": values, "answer": ["x", "x", "y"], "confidence": [1.0, 2.0, 3.0]})
    pq.write_table(table, tmp_path / "typed.parquet")
    assert [question for _, question, *_ in grouped(tmp_path / "typed.parquet")] == ids


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 3], pa.int8()),
        pa.array([1, 2, 3], pa.float32()),
        pa.array([Decimal("1.0"), Decimal("2.0"), Decimal("3.0")]),
        pa.array(["1", " 2.0 ", "3e0"]),
        pa.array([1.0, 2.0, 3.0]).dictionary_encode(),
    ],
    ids=lambda values: str(values.type),
)
def test_parquet_confidences_of_every_type_are_numbers(tmp_path: Path, values: pa.Array) -> None:
    pq.write_table(
        pa.table({"question_id": [1, 1, 1], "answer": ["x", "x", "y"], "confidence": values}),
        tmp_path / "typed.parquet",
    )
    (found,) = grouped(tmp_path / "typed.parquet")
    assert [confidence for _, confidence in found[2]] == [1.0, 2.0, 3.0]


def test_numbers_in_json_are_one_answer_however_they_are_written(tmp_path: Path) -> None:
    rows = [{"question_id": 1.0, "answer": a, "confidence": "2"} for a in (42, 42.0, 0.5, float("nan"))]
    (found,) = grouped(write(tmp_path / "a.jsonl", rows))
    assert found[1] == 1
    assert [answer for answer, _ in found[2]] == ["42", "42", "0.5", None]


def test_half_a_surrogate_pair_is_spelt_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"question_id": "q", "answer": "\\ud83d", "confidence": 1}\n')
    (found,) = grouped(tmp_path / "a.jsonl")
    assert found[2] == [("\\ud83d", 1.0)]


def test_fields_left_out_of_a_json_line_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"question_id": 1}\n\n{"question_id": 1, "answer": "x", "confidence": 2}\n')
    (found,) = grouped(path)
    assert found[2] == [(None, None), ("x", 2.0)]


def test_correct_is_read_from_flags_numbers_and_words(tmp_path: Path) -> None:
    rows = [
        {"question_id": 1, "answer": "x", "confidence": 1.0, "correct": c}
        for c in (True, 0, "False", "1", None)
    ]
    expected = [1, 0, 0, 1, -1]
    assert grouped(write(tmp_path / "a.jsonl", rows))[0][4] == expected
    assert grouped(write(tmp_path / "a.csv", rows))[0][4] == expected
    texts = [row | {"correct": None if row["correct"] is None else str(row["correct"])} for row in rows]
    assert grouped(write(tmp_path / "a.parquet", texts))[0][4] == expected


# Grouping


def sorted_rows(n_questions: int, rng: np.random.Generator) -> list[Record]:
    return [
        {
            "run": f"run{q % 3}",
            "question_id": q // 2,
            "answer": ["x", "y", "z", None][rng.integers(4)],
            "confidence": float(rng.integers(1, 100)),
            "ground_truth": "x",
            "correct": bool(rng.integers(2)),
        }
        for q in range(n_questions)
        for _ in range(rng.integers(1, 12))
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("by", [None, "run"])
def test_any_order_of_questions_and_any_batch_size_give_the_same(
    tmp_path: Path, suffix: str, by: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = sorted_rows(40, np.random.default_rng(3))
    path = write(tmp_path / f"sorted.{suffix}", rows)
    whole = grouped(path, Columns(by=by))
    assert len(whole) == (40 if by else 20)
    assert grouped(path, Columns(by=by), held=True) == whole
    for module in (table_text, table_parquet):
        monkeypatch.setattr(module, "BATCH_ROWS", 3)
    assert grouped(path, Columns(by=by)) == whole
    monkeypatch.setattr(questions_module, "_BLOCK_ROWS", 5)
    assert grouped(path, Columns(by=by), held=True) == whole


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_an_unsorted_file_is_noticed_and_held(tmp_path: Path, suffix: str) -> None:
    rows = sorted_rows(30, np.random.default_rng(4))
    whole = grouped(write(tmp_path / f"sorted.{suffix}", rows), Columns(by="run"))
    # Deal the questions out in turns: their rows keep their order, and so do their first rows.
    turns: list[list[Record]] = []
    for row in rows:
        key = (row["run"], row["question_id"])
        for turn in turns:
            if all((r["run"], r["question_id"]) != key for r in turn):
                turn.append(row)
                break
        else:
            turns.append([row])
    path = write(tmp_path / f"turns.{suffix}", [row for turn in turns for row in turn])
    with pytest.raises(QuestionCameBack):
        grouped(path, Columns(by="run"))
    assert grouped(path, Columns(by="run"), held=True) == whole


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_question_may_span_batches_and_row_groups(
    tmp_path: Path, dictionary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parquet, "BATCH_ROWS", 64)
    sizes = {"first": 10, "long": 1000, "last": 3}
    names = [name for name, n in sizes.items() for _ in range(n)]
    answers = [f"answer {i % 7}" for i in range(len(names))]
    table = pa.table({"question_id": names, "answer": answers, "confidence": np.arange(1.0, 1014.0)})
    path = tmp_path / "long.parquet"
    pq.write_table(table, path, row_group_size=90, use_dictionary=dictionary)
    found = grouped(path)
    assert [(question, len(rows)) for _, question, rows, *_ in found] == list(sizes.items())
    assert [row for entry in found for row in entry[2]] == [
        (answer, float(i + 1)) for i, answer in enumerate(answers)
    ]


@settings(max_examples=60, deadline=None)
@given(
    ids=st.lists(st.integers(0, 5), min_size=1, max_size=40),
    batch=st.integers(1, 9),
)
def test_streaming_either_equals_holding_or_gives_up(ids: list[int], batch: int) -> None:
    rows = [{"question_id": q, "answer": str(i % 3), "confidence": 1.0} for i, q in enumerate(ids)]
    batches = [
        pa.RecordBatch.from_pydict(
            {
                "question": pa.array([row["question_id"] for row in rows[at : at + batch]]),
                "answer": pa.array([row["answer"] for row in rows[at : at + batch]]).dictionary_encode(),
                "confidence": pa.array([1.0] * len(rows[at : at + batch])),
            }
        )
        for at in range(0, len(rows), batch)
    ]

    def plain(blocks: Iterator[Any]) -> list[Any]:
        return [
            (some.ids[i].as_py(), some.labels.take(pa.array(some.classes[a:b])).to_pylist())
            for some in blocks
            for i, (a, b) in enumerate(zip(some.offsets[:-1], some.offsets[1:], strict=True))
        ]

    expected = {q: [r["answer"] for r in rows if r["question_id"] == q] for q in ids}
    assert plain(hold_questions(batches)) == list(expected.items())
    changes = sum(a != b for a, b in pairwise(ids))
    if changes + 1 == len(expected):
        assert plain(stream_questions(batches)) == list(expected.items())
    else:
        with pytest.raises(QuestionCameBack):
            plain(stream_questions(batches))


# Faults

GOOD = '{"question_id": 1, "answer": "x", "confidence": 2}\n'


def line(**fields: object) -> str:
    return json.dumps({"question_id": 1, "answer": "x", "confidence": 2.0} | fields) + "\n"


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("a.jsonl", "", ["a.jsonl is empty"]),
        ("a.csv", "", ["a.csv is empty"]),
        ("a.parquet", "", ["a.parquet is empty"]),
        ("a.jsonl", "\n  \n", ["is empty"]),
        ("a.csv", "question_id,answer,confidence\n", ["has a header but no rows"]),
        ("a.csv", "id,answer,confidence\n1,x,2\n",
         ["no column 'question_id'", "id, answer, confidence", "`question`"]),
        ("a.csv", "question_id,text,confidence\n1,x,2\n", ["no column 'answer'", "`answer_column`"]),
        ("a.jsonl", '{"question_id": 1, "answer": "x", "score": 3}\n',
         ["no column 'confidence'", "question_id, answer, score", "`confidence`"]),
        ("a.jsonl", '{"id": 1, "answer": "x", "confidence": 3}\n', ["no column 'question_id'", "id, "]),
        ("a.csv", "id,answer\n1,x\n",
         ["no columns 'question_id' and 'confidence' (it has id, answer): name the right ones with"
          " `question` and `confidence`"]),
        ("a.jsonl", '{"id": 1, "said": "x"}\n',
         ["no columns 'question_id', 'answer' and 'confidence' (it has id, said)"]),
        ("a.csv", "question_id,answer,answer,confidence\n1,x,y,2\n", ["2 columns called 'answer'"]),
        ("a.csv", "question_id,answer,confidence\n1,x\n", ["line 2 has 2 fields", "header has 3"]),
        ("a.csv", 'question_id,answer,confidence\n1,"x,2\n3,y,4\n', ["line 2", "not valid CSV"]),
        ("a.csv", "question_id,answer,confidence\n1,x,2\n1,x,high\n",
         ["line 3", "'high'", "not a number"]),
        ("a.csv", "question_id,answer,confidence\n1,x,1_000\n", ["line 2", "'1_000'", "not a number"]),
        ("a.csv", "question_id,answer,confidence\n1,x,2\n,x,2\n", ["line 3", "question_id is missing"]),
        ("a.jsonl", GOOD + line(confidence="high"), ["line 2", "'high'", "not a number"]),
        ("a.jsonl", GOOD + line(confidence=True), ["line 2", "True", "not a number"]),
        ("a.jsonl", GOOD + line(confidence=[1]), ["line 2", "[1]", "not a number"]),
        ("a.jsonl", GOOD + line(confidence=float("inf")), ["line 2", "confidence is inf", "finite"]),
        ("a.jsonl", GOOD + line(confidence=-3.25),
         ["line 2: confidence is -3.25, and dis-gmm needs positive ones: for log-probabilities say"
          ' `confidence_scale="logprob"`; auto and votes by rank (sc, bon, borda, mob) take any numbers']),
        ("a.jsonl", GOOD + line(confidence=0), ["line 2", "confidence is 0"]),
        ("a.jsonl", GOOD + line(answer=None, confidence=-1), ["line 2", "confidence is -1"]),
        ("a.jsonl", GOOD + "\n" + "{oops}\n", ["line 3", "not valid JSON"]),
        ("a.jsonl", "[1, 2]\n", ["line 1", "not a JSON object but [1, 2]"]),
        ("a.json", '[\n{"question_id": 1}\n]\n', ["line 1", "not valid JSON"]),
        ("a.jsonl", GOOD + "[" * 100_000 + "\n", ["line 2", "can't be read as JSON"]),
        ("a.jsonl", GOOD + '{"question_id": ' + "1" * 5000 + "}\n", ["line 2", "can't be read as JSON"]),
        ("a.jsonl", GOOD.encode() + b'{"answer": "\xff"}\n', ["line 2", "not UTF-8"]),
        ("a.csv", b"question_id,answer,confidence\n1,\xe9,2\n", ["line 2", "not UTF-8"]),
        ("a.jsonl", GOOD.encode() + b'{"a": "\0"}\n', ["line 2", "NUL"]),
        ("a.csv", GOOD.encode("utf-16"), ["line 1"]),
        ("a.jsonl", GOOD + line(answer=42), ["line 2", "answer is a number (42)", "a string on line 1"]),
        ("a.jsonl", line(answer=True) + line(answer=1),
         ["line 2", "a number (1)", "a boolean on line 1"]),
        ("a.jsonl", GOOD + line(answer=["x"]), ["line 2", "answer is a list"]),
        ("a.jsonl", GOOD + line(answer={"x": 1}), ["line 2", "answer is a JSON object"]),
        ("a.jsonl", GOOD + line(question_id=None), ["line 2", "question_id is missing"]),
        ("a.jsonl", GOOD + line(question_id="q"), ["line 2", "question_id is a string", "line 1"]),
        ("a.jsonl", line(question_id=1.5), ["line 1", "1.5", "whole numbers"]),
        ("a.jsonl", line(question_id=2**70), ["line 1", "64 bits"]),
        ("a.jsonl", GOOD + line(correct="maybe"), ["line 2", "correct is 'maybe'"]),
        ("a.jsonl", line(ground_truth="7") + line(ground_truth="8"),
         ["question 1 has two right answers", "'7'", "'8'", "`by`"]),
        ("a.parquet", b"PAR1 and then nothing", ["a.parquet can't be read", "truncated"]),
        ("a.parquet", "no magic at all", ["a.parquet can't be read", "truncated"]),
        ("a.jsonl", b"\x1f\x8b\x08 rest", ["packed with gzip", "unpack"]),
    ],
)  # fmt: skip
def test_a_bad_text_file_is_one_sentence_that_names_the_place(
    tmp_path: Path, name: str, content: str | bytes, parts: list[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    message = fault(path)
    for part in parts:
        assert part in message


def columns(**changes: Any) -> dict[str, Any]:
    return {"question_id": [1, 1, 2], "answer": ["x", "y", "x"], "confidence": [1.0, 2.0, 3.0]} | changes


BROKEN = pa.Array.from_buffers(
    pa.string(),
    3,
    [
        None,
        pa.py_buffer(np.array([0, 1, 3, 4], np.int32)),
        pa.py_buffer(b"a\xff\xfeb"),
    ],
)


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        (pa.table(columns()).slice(0, 0), ["has columns but no rows"]),
        (pa.table({"id": [1], "answer": ["x"]}), ["no columns 'question_id' and 'confidence'", "id, answer"]),
        (
            pa.table([pa.array([1])] * 4, ["question_id", "answer", "answer", "confidence"]),
            ["2 columns"],
        ),
        (pa.table(columns(confidence=["1", "high", "3"])), ["row 2", "'high'", "not a number"]),
        (pa.table(columns(confidence=[True, True, True])), ["'confidence'", "bool", "numbers"]),
        (pa.table(columns(confidence=[[1.0], [2.0], [3.0]])), ["'confidence'", "list", "numbers"]),
        (pa.table(columns(confidence=[1.0, 2.0, float("inf")])), ["row 3", "inf", "finite"]),
        (pa.table(columns(confidence=[-0.5, 2.0, 1.0])), ["row 1", "-0.5", '`confidence_scale="logprob"`']),
        (pa.table(columns(confidence=[1, 0, 1])), ["row 2", "confidence is 0"]),
        (pa.table(columns(question_id=[1, None, 2])), ["row 2", "question_id is missing"]),
        (pa.table(columns(question_id=["a", "a", " "])), ["row 3", "question_id is missing"]),
        (pa.table(columns(answer=[["x"], ["y"], []])), ["'answer'", "list", "one string or number"]),
        (pa.table(columns(answer=[{"x": 1}] * 3)), ["'answer'", "struct", "one string or number"]),
        (pa.table(columns(answer=[b"x", b"\xff", b"y"])), ["row 2", "answer is not UTF-8"]),
        (pa.table(columns(answer=BROKEN)), ["row 2", "answer is not UTF-8"]),
        (pa.table(columns(correct=["true", "no", "yes"])), ["row 2", "correct is 'no'"]),
        (pa.table(columns(ground_truth=["7", "8", "9"])), ["question 1 has two right answers"]),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_a_bad_parquet_file_is_one_sentence_that_names_the_place(
    tmp_path: Path, table: pa.Table, parts: list[str]
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    message = fault(path)
    for part in parts:
        assert part in message


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_confidence_may_be_missing(tmp_path: Path, suffix: str) -> None:
    rows: list[Record] = [
        {"question_id": "q", "answer": "x", "confidence": c} for c in (2.0, None, float("nan"), 3.0)
    ]
    (found,) = grouped(write(tmp_path / f"a.{suffix}", rows), STRICT)
    assert [confidence for _, confidence in found[2]] == [2.0, None, None, 3.0]
    assert [answer for answer, _ in found[2]] == ["x"] * 4


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_the_column_of_the_confidence_may_be_missing_if_nobody_named_it(tmp_path: Path, suffix: str) -> None:
    rows: list[Record] = [{"question_id": "q", "answer": "x", "score": 3.0}]
    path = write(tmp_path / f"a.{suffix}", rows)
    with open_table(str(path), Columns()) as table:
        (batch,) = table.batches()
        assert table.lacks == "confidence"
    assert np.isnan(batch.column("confidence").to_numpy()).all()
    for columns in (Columns(named=True), Columns(confidence="sure")):
        assert f"no column {columns.confidence!r}" in fault(path, columns)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_log_probabilities_become_their_exp(tmp_path: Path, suffix: str) -> None:
    rows: list[Record] = [{"question_id": "q", "answer": "x", "confidence": c} for c in (-0.5, 0.0, None)]
    path = write(tmp_path / f"a.{suffix}", rows)
    (found,) = grouped(path, Columns(positive_for="dis-gmm", convert=exp_of))
    assert [confidence for _, confidence in found[2]] == [math.exp(-0.5), 1.0, None]
    (found,) = grouped(path, Columns())
    assert [confidence for _, confidence in found[2]] == [-0.5, 0.0, None]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(("value", "said"), [(0.5, "0 or below"), (-2000.0, "not the sum")])
def test_what_is_no_log_probability_is_named(tmp_path: Path, suffix: str, value: float, said: str) -> None:
    rows: list[Record] = [{"question_id": "q", "answer": "x", "confidence": c} for c in (-0.5, value)]
    message = fault(write(tmp_path / f"a.{suffix}", rows), Columns(convert=exp_of))
    place = {"jsonl": "line 2", "csv": "line 3", "parquet": "row 2"}[suffix]
    assert f"{place}: confidence is {value:g}" in message
    assert said in message


def test_rows_are_numbered_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_parquet, "BATCH_ROWS", 10)
    confidence = np.ones(100)
    confidence[76] = -1
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"question_id": np.arange(100), "answer": ["x"] * 100, "confidence": confidence}), path
    )
    assert "row 77: confidence is -1" in fault(path)


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_a_truncated_parquet_file_is_said_to_be_one(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns(answer=["x" * 1000, "y" * 1000, "z" * 1000])), path)
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    assert "truncated" in fault(path)


def test_a_damaged_page_is_an_error_too(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rng = np.random.default_rng(1)
    n = 50_000
    table = pa.table({"question_id": np.zeros(n, int), "answer": ["x"] * n, "confidence": rng.random(n) + 1})
    pq.write_table(table, path, compression="snappy", use_dictionary=False)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[100:middle] = bytes(middle - 100)
    path.write_bytes(data)
    assert "can't be read" in fault(path)


def test_a_line_without_end_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.jsonl"
    with open(path, "wb") as file:
        file.write(GOOD.encode() + b'{"question_id": "')
        file.truncate(100_000_000)  # a sparse file: the rest is zeros
    assert "line 2 is longer than 64 MB" in fault(path)
    monkeypatch.setattr(table_text, "LONGEST_LINE", 100)
    path = tmp_path / "long.csv"
    path.write_text("question_id,answer,confidence\n1," + "x" * 200 + ",2\n")
    assert "line 2 is longer than" in fault(path)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("no-such-file.jsonl", "No such file"),
        ("", "can't read"),
        ("file.jsonl/inside.jsonl", "Not a directory"),
        ("x" * 300 + ".jsonl", "name too long"),
        ("nul\0byte.jsonl", "null byte"),
        (".", "is a directory"),
    ],
)
def test_a_file_that_cant_be_opened_says_why(tmp_path: Path, path: str, part: str) -> None:
    (tmp_path / "file.jsonl").write_text(GOOD)
    message = fault(f"{tmp_path}/{path}" if path else "")
    assert part in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ROWS)
    path.chmod(0)
    assert "Permission denied" in fault(path)


def test_a_column_cant_be_two_things(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ROWS)
    assert "'answer' is named twice" in fault(path, Columns(answer="answer", truth="answer"))


def test_without_a_confidence_column_majority_voting_is_still_possible(tmp_path: Path) -> None:
    rows = [{"question_id": 1, "answer": "x"}, {"question_id": 1, "answer": "y"}]
    for suffix in ("jsonl", "csv", "parquet"):
        (found,) = grouped(write(tmp_path / f"a.{suffix}", rows), Columns(confidence=None))
        assert found[2] == [("x", None), ("y", None)]


# Several models in one file


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize(
    ("models", "columns", "notes"),
    [
        (["m", "n", "m"], Columns(), ["the column 'model' has 2 values: `by=model` votes on each apart"]),
        (["1", "2", "3"], Columns(), ["the column 'model' has 3 values: `by=model` votes on each apart"]),
        (["m", "m", ""], Columns(), []),
        (["m", "n", "m"], Columns(by="model"), []),
        (["m", "n", "m"], Columns(answer="model"), []),
    ],
)
def test_models_that_vote_together_are_counted(
    name: str, models: list[str], columns: Columns, notes: list[str], tmp_path: Path
) -> None:
    rows = [{"question_id": 1, "answer": "x", "confidence": 2.0, "model": model} for model in models]
    with open_table(str(write(tmp_path / name, rows)), columns) as table:
        for _ in range(2):
            assert sum(batch.num_rows for batch in table.batches()) == 3
            assert table.notes == notes


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize("models", [[["m"], ["n"]], [None, "m"], [{"a": 1}, {"a": 2}], [7, 7]])
def test_a_column_model_that_tells_no_models_apart_is_no_matter(
    name: str, models: list[Any], tmp_path: Path
) -> None:
    rows = [{"question_id": 1, "answer": "x", "confidence": 2.0, "model": model} for model in models]
    with open_table(str(write(tmp_path / name, rows)), Columns()) as table:
        assert sum(batch.num_rows for batch in table.batches()) == 2
        assert table.notes == []


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_no_more_than_a_thousand_models_are_counted(name: str, tmp_path: Path) -> None:
    rows = [{"question_id": 1, "answer": "x", "confidence": 2.0, "model": n} for n in range(5000)]
    with open_table(str(write(tmp_path / name, rows)), Columns()) as table:
        list(table.batches())
        assert table.notes == [
            "the column 'model' has more than 1,000 values: `by=model` votes on each apart"
        ]


def test_a_model_whose_name_is_no_text_is_no_fault(tmp_path: Path) -> None:
    names = pa.array([b"\xff", b"m"]).view(pa.string())
    content = {"question_id": [1, 1], "answer": ["x", "x"], "confidence": [2.0, 2.0], "model": names}
    pq.write_table(pa.table(content), tmp_path / "a.parquet")
    with open_table(str(tmp_path / "a.parquet"), Columns()) as table:
        list(table.batches())
        assert len(table.notes) == 1
