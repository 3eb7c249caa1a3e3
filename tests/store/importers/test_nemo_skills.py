"""Generations of NeMo-Skills: the file's own answers and verdicts, its seed, its counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.store.importers.base import ImportOptions, id_of_question
from distrivote.store.importers.nemo_skills import FORMAT
from distrivote.store.runs.rows import Row
from foreign_files import TEXT, lines, nemo, written


def read(folder: Path, name: str, *records: object) -> list[Row]:
    return list(FORMAT.read(written(folder, name, lines(*records)), ImportOptions()))


def test_a_line_is_a_sample(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "output-rs12.jsonl", nemo())
    assert (row.question_id, row.question, row.text, row.seed) == ("sum-1", "2 + 2?", TEXT, 12)
    assert (row.answer, row.ground_truth, row.correct, row.n_tokens) == ("4", "4", True, 9)
    assert np.isnan(row.confidence)


def test_the_answer_is_the_file_s_where_it_says_one(tmp_path: Path) -> None:
    said = nemo() | {"predicted_answer": "\\frac{1}{2}", "symbolic_correct": False}
    none = nemo() | {"predicted_answer": None, "symbolic_correct": None}
    left = nemo()
    del left["predicted_answer"], left["symbolic_correct"]
    rows = read(
        tmp_path, "output-rs0.jsonl", said, none, left, nemo() | {"generation": "", "predicted_answer": ""}
    )
    assert [row.answer for row in rows] == ["\\frac{1}{2}", None, "4", None]
    assert [row.correct for row in rows] == [False, False, None, True]  # the last as the file has it
    assert [row.answer_class for row in rows] == [None, -1, None, -1]


def test_questions_without_ids_are_told_apart_by_text_or_line(tmp_path: Path) -> None:
    bare = {"generation": TEXT, "expected_answer": "4"}
    rows = read(
        tmp_path,
        "output.jsonl",
        bare | {"question": "Größe?"},
        bare,
        bare | {"problem_id": 7, "problem": "?"},
    )
    assert [row.question_id for row in rows] == [id_of_question("Größe?"), "line-2", "7"]
    assert rows[0].seed is None


def test_thinking_that_was_split_off_is_part_of_the_text(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "output-rs0.jsonl", nemo() | {"reasoning_content": "Hm."})
    assert row.text == "Hm.\n</think>\n\n" + TEXT


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"generation": 3}, "its content is a int"),
        ({"predicted_answer": []}, "predicted_answer is a list"),
        ({"expected_answer": {}}, "expected_answer is a JSON object"),
        ({"symbolic_correct": "yes"}, "symbolic_correct is 'yes'"),
        ({"num_generated_tokens": "9"}, "num_generated_tokens is '9'"),
        ({"problem": 3}, "problem is 3"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, "output-rs0.jsonl", nemo(), nemo() | change)
    assert "output-rs0.jsonl, line 2" in str(caught.value)


def test_a_line_without_generation_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1 has no generation"):
        read(tmp_path, "output-rs0.jsonl", {"problem": "?"})
