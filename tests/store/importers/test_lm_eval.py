"""Samples of lm-evaluation-harness: repeats, one filter only, questions named by task and document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.store.importers.base import ImportOptions
from distrivote.store.importers.lm_eval import FORMAT
from distrivote.store.runs.rows import Row
from foreign_files import TEXT, lines, lm_eval, written

NAME = "samples_gsm8k_cot_2026-11-15T23-46-50.130395.jsonl"


def read(folder: Path, name: str, *records: object, reading: ImportOptions = ImportOptions()) -> list[Row]:  # noqa: B008
    return list(FORMAT.read(written(folder, name, lines(*records)), reading))


def test_the_repeats_of_one_filter_count(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        NAME,
        lm_eval(0),
        lm_eval(1, replies=("The answer is 5.", "Weiß nicht, und das ist auch gut so, lange Zeile.")),
        lm_eval(0, "flexible-extract"),
        lm_eval(1, "flexible-extract"),
    )
    assert [row.question_id for row in rows] == ["gsm8k_cot-0"] * 2 + ["gsm8k_cot-1"] * 2
    assert [row.answer for row in rows] == ["4", None, "5", None]
    assert [row.text for row in rows[:2]] == [TEXT, ""]
    assert {row.ground_truth for row in rows} == {"4"}
    assert {row.question for row in rows} == {"2 + 2?"}
    assert all(np.isnan(row.confidence) and row.correct in (None, False) for row in rows)


def test_the_name_of_the_task_comes_from_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, "mine.jsonl", lm_eval(3))[0].question_id == "3"
    assert read(tmp_path, "samples_a_b.jsonl", lm_eval(3))[0].question_id == "a_b-3"


def test_the_answer_is_read_as_asked(tmp_path: Path) -> None:
    rows = read(tmp_path, NAME, lm_eval(replies=("so 7 of 8",)), reading=ImportOptions(extract="number"))
    assert rows[0].answer == "8"


def test_the_prompt_stands_in_for_a_document_without_question(tmp_path: Path) -> None:
    assert read(tmp_path, NAME, lm_eval() | {"doc": {"x": 1}})[0].question == "Q: 2 + 2?\nA:"
    assert read(tmp_path, NAME, lm_eval() | {"doc": 3, "arguments": [["Q"]]})[0].question is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"doc_id": None}, "doc_id is missing"),
        ({"doc_id": {}}, "doc_id is a JSON object"),
        ({"target": ["4"]}, "target is a list"),
        ({"resps": None}, "resps is missing"),
        ({"resps": "x"}, "resps is 'x'"),
        ({"resps": ["x"]}, "lists of texts"),
        ({"resps": [[["-1.25", "False"]], [["-2.5", "True"]]]}, "log-likelihoods"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, NAME, lm_eval(), lm_eval() | change)
    assert f"{NAME}, line 2" in str(caught.value)
