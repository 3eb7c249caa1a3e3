"""vLLM's RequestOutput as JSON: token ids that became texts, one question per prompt."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers.base import ImportOptions, id_of_question
from distrivote.store.importers.records import LeftOutWarning
from distrivote.store.importers.vllm_dumps import FORMAT
from distrivote.store.runs.rows import Row, row_of
from distrivote.store.runs.schema import MEASURES
from foreign_files import lines, trajectory, vllm, written


def read(folder: Path, name: str, content: bytes) -> list[Row]:
    return list(FORMAT.read(written(folder, name, content), ImportOptions()))


@pytest.mark.parametrize("name", ["dump.json", "dump.jsonl"])
def test_samples_are_measured_like_their_trajectories(tmp_path: Path, name: str) -> None:
    dumps = [vllm("2 + 2?", ""), vllm("Größe?", "no answer that anybody could find in here at all")]
    rows = read(
        tmp_path, name, json.dumps(dumps, indent=1).encode() if name == "dump.json" else lines(*dumps)
    )
    first, second = id_of_question("2 + 2?"), id_of_question("Größe?")
    assert [row.question_id for row in rows] == [first, first, second, second]
    assert [row.question for row in rows] == ["2 + 2?"] * 2 + ["Größe?"] * 2
    assert [row.answer for row in rows] == ["4", None, "4", None]
    assert [row.finish_reason for row in rows] == ["stop", "length"] * 2
    expected = row_of(Problem("2 + 2?", first), trajectory())
    for column in MEASURES.values():
        assert getattr(rows[0], column) == getattr(expected, column)
    assert rows[0].confidence > 0
    assert np.isnan(rows[1].confidence)


def test_a_prompt_of_token_ids_is_a_question_too(tmp_path: Path) -> None:
    one, other = vllm(None), vllm(None)
    other["prompt_token_ids"] = [1]
    rows = read(tmp_path, "a.jsonl", lines(one, other, one))
    assert rows[0].question_id == rows[2].question_id != rows[1].question_id
    named = vllm(None) | {"prompt_token_ids": None, "request_id": 12}
    assert read(tmp_path, "a.jsonl", lines(named))[0].question_id == "12"


SAMPLE = vllm()["outputs"][0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outputs": None}, "outputs is missing"),
        ({"outputs": "x"}, "outputs is 'x'"),
        ({"outputs": [3]}, "holds 3"),
        ({"prompt": None, "prompt_token_ids": None, "request_id": None}, "which question"),
        ({"prompt": 3}, "prompt is 3"),
        ({"outputs": [SAMPLE | {"text": 3}]}, "sample 0: its text"),
        ({"outputs": [SAMPLE | {"token_ids": [0, 3]}]}, "2 token_ids but 4 logprobs"),
        ({"outputs": [SAMPLE | {"token_ids": 3}]}, "are not lists"),
        ({"outputs": [SAMPLE | {"logprobs": [3] * 4}]}, "whose fields are token ids"),
        ({"outputs": [SAMPLE | {"logprobs": [{"x": {}}] * 4}]}, "whose fields are token ids"),
        ({"outputs": [SAMPLE | {"token_ids": [[], 3, 6, 9]}]}, "line 2"),
        ({"outputs": [SAMPLE | {"text": "other" * 99}]}, "do not spell"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, "a.jsonl", lines(vllm(), vllm() | change))
    assert "a.jsonl, line 2" in str(caught.value)


def test_a_request_without_outputs_is_left_out_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "d.jsonl", lines(vllm(), vllm() | {"outputs": []}))
    with pytest.warns(LeftOutWarning, match="1 of 2 requests had no outputs and is left out"):
        assert len(list(FORMAT.read(path, ImportOptions()))) == 1
