"""Logs of Inspect AI: both kinds give the same rows; epochs are answers to one question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers.base import ImportOptions
from distrivote.store.importers.inspect_logs import FORMAT
from distrivote.store.importers.records import LeftOutWarning
from distrivote.store.runs.rows import Row, row_of
from distrivote.store.runs.schema import MEASURES
from foreign_files import (
    TEXT,
    inspect_archive,
    inspect_log,
    inspect_sample,
    lines,
    trajectory,
    written,
    zstandard_archive,
)


def as_json(*samples: Any) -> bytes:
    return json.dumps(inspect_log(*samples), indent=2).encode()


def as_zstandard(*samples: Any) -> bytes:
    header = inspect_log()
    del header["samples"]
    members = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
    members = {"_journal/start.json": header, **members, "summaries.json": [], "header.json": header}
    return zstandard_archive({name: json.dumps(each).encode() for name, each in members.items()})


def read(folder: Path, *samples: Any) -> list[Row]:
    return list(FORMAT.read(written(folder, "log.json", as_json(*samples)), ImportOptions()))


@pytest.mark.parametrize(
    ("name", "write"), [("a.json", as_json), ("a.eval", inspect_archive), ("a.eval", as_zstandard)]
)
def test_every_kind_of_log_gives_the_same_rows(tmp_path: Path, name: str, write) -> None:
    samples = (
        inspect_sample("q é", 2, "", "I", logprobs=False)
        if name == "a.json"
        else inspect_sample("q", 2, "", "I", False),
        inspect_sample(7, 1),
        inspect_sample(7, 2, "The answer is 5.", 0, logprobs=False),
    )
    rows = list(FORMAT.read(written(tmp_path, name, write(*samples)), ImportOptions()))
    assert [row.question_id for row in rows] == ["sums-7", f"sums-{samples[0]['id']}", "sums-7"]
    assert [row.answer for row in rows] == ["4", None, "5"]
    assert [row.correct for row in rows] == [True, False, False]
    assert [row.n_tokens for row in rows] == [4, 9, 9]
    assert {row.ground_truth for row in rows} == {"4"}
    assert {row.question for row in rows} == {"2 + 2?"}
    expected = row_of(Problem("", "q"), trajectory())
    assert rows[0].confidence > 0
    for column in MEASURES.values():
        assert getattr(rows[0], column) == getattr(expected, column)
    assert np.isnan(rows[1].confidence)


def test_content_in_parts_is_thinking_and_text(tmp_path: Path) -> None:
    parts = [
        {"type": "reasoning", "reasoning": "Hm, \\boxed{3}"},
        {"type": "text", "text": "attachment://k"},
        {"type": "image", "image": "attachment://i"},
    ]
    sample = inspect_sample(content=parts, logprobs=False) | {"attachments": {"k": TEXT}}
    sample["input"] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "2 + 2?"}]},
    ]
    (row,) = read(tmp_path, sample)
    assert (row.text, row.answer, row.question) == ("Hm, \\boxed{3}\n</think>\n\n" + TEXT, "4", "2 + 2?")


@pytest.mark.parametrize(
    ("value", "correct"),
    [("C", True), ("I", False), ("N", False), ("P", None), (1, True), (0.0, False), (True, True), (0.5, None),
     (float("nan"), None), ([1], None), ({"a": 1}, None), (None, None), ("maybe", None)],
)  # fmt: skip
def test_a_verdict_is_taken_where_there_is_one(tmp_path: Path, value: Any, correct: bool | None) -> None:
    assert read(tmp_path, inspect_sample(value=value))[0].correct is correct


def test_the_first_scorer_with_a_verdict_counts(tmp_path: Path) -> None:
    scores = {"length": {"value": 17}, "match": {"value": "I"}, "includes": {"value": "C"}}
    assert read(tmp_path, inspect_sample() | {"scores": scores})[0].correct is False
    assert read(tmp_path, inspect_sample() | {"scores": None})[0].correct is None


def test_a_verdict_is_about_the_first_choice(tmp_path: Path) -> None:
    sample = inspect_sample()
    sample["output"]["choices"] *= 2
    assert [row.correct for row in read(tmp_path, sample)] == [True, None]


@pytest.mark.parametrize(
    ("target", "truth"), [("4", "4"), (["4"], "4"), (["4", "four"], None), ([], None), (4, "4")]
)
def test_one_target_is_the_truth(tmp_path: Path, target: Any, truth: str | None) -> None:
    assert read(tmp_path, inspect_sample() | {"target": target})[0].ground_truth == truth


def test_samples_that_failed_are_left_out_and_counted(tmp_path: Path) -> None:
    failed = inspect_sample(8) | {"error": {"message": "no such tool"}}
    failed["output"]["choices"] = []
    with pytest.warns(LeftOutWarning, match="1 of 2 samples ended in an error .*'no such tool'"):
        assert len(read(tmp_path, failed, inspect_sample())) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[]", "no list of samples"),
        (b'{"version": 2, "eval": {}}', "no list of samples"),
        (as_json(), "holds no samples"),
        (as_json(3), "sample 1 is 3"),
        (as_json(inspect_sample(), inspect_sample() | {"id": None}), "sample 2: id is missing"),
        (as_json(inspect_sample() | {"output": {}}), "sample 1: output has no list of choices"),
        (as_json(inspect_sample() | {"output": {"choices": [{}]}}), "sample 1: a choice has no message"),
        (as_json(inspect_sample() | {"input": 3}), "sample 1: a text is 3"),
        (as_json(inspect_sample())[:-30], "is not valid JSON"),
        (inspect_archive(), "holds no samples"),
        (inspect_archive(inspect_sample() | {"output": 3}), "1_epoch_1.json: output has no list"),
        (zstandard_archive({"samples/1_epoch_1.json": b'{"id": '}), "1_epoch_1.json is not valid JSON"),
        (zstandard_archive({"samples/1_epoch_1.json": b"[" * 100_000}), "1_epoch_1.json can't be read"),
        (zstandard_archive({"samples/1_epoch_1.json": b'"\xff"'}), "1_epoch_1.json: byte 2 is not UTF-8"),
    ],
)
def test_a_fault_names_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = written(tmp_path, "a.eval", content)
    with pytest.raises(InputError, match=said) as caught:
        list(FORMAT.read(path, ImportOptions()))
    assert "a.eval" in str(caught.value)


def test_json_lines_are_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not valid JSON"):
        list(FORMAT.read(written(tmp_path, "a.json", lines({}, {})), ImportOptions()))
