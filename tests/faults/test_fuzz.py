"""A few thousand inputs for every reader, extraction and equivalence; bench/fuzz.py has ten million.

Each is made of a seed, so these are always the same.
"""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distrivote.answers.extract import extractor
from distrivote.answers.short import short
from distrivote.errors import InputError
from distrivote.store.importers import deepconf, plain
from distrivote.store.importers.base import ImportOptions
from distrivote.store.runs.run import Run
from distrivote.store.tables.source import Columns, open_table
from faults.crafted_parquet import Column, crafted
from faults.fuzzing import TARGETS, fuzz
from faults.hostile_files import run_folder

NEVER_REFUSED = {
    "extraction",
    "equivalence",
    "mathverify",
    "events",
    "json-answer",
    "fields",
    "kinds",
    "program",
}
N_INPUTS = {
    "extraction": 1500,
    "events": 1500,
    "json-answer": 800,
    "equivalence": 500,
    "run": 15,
    "parquet": 60,
    "mathverify": 5,
}


@pytest.mark.parametrize("target", TARGETS)
def test_spoiled_input_gives_a_result_or_a_sentence(target: str, tmp_path: Path) -> None:
    counts = fuzz(target, 0, N_INPUTS.get(target, 80), tmp_path)
    assert not counts.finds
    assert target in NEVER_REFUSED or 0 < counts.n_refused < counts.n_inputs


# What the long run found, each as the smallest input that shows it.


NO_TEXT = crafted([Column("question_id", "text", "q"), Column("x\udcff", "int32", 1)], 2)


def test_a_column_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(NO_TEXT)
    with (
        pytest.raises(InputError, match="can't be read"),
        open_table(str(tmp_path / "a.parquet"), Columns()) as table,
    ):
        list(table.batches())
    run = run_folder(tmp_path / "run", {"x.parquet": NO_TEXT})
    assert "can't be read" in Run.open(run).notes[0]


def test_codes_without_a_value_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    answers = ["a", "b", "c", "d", "e", "a", "b", "c"]
    table = pa.table({"question_id": ["q"] * len(answers), "answer": answers})
    pq.write_table(table, path, compression="none", write_statistics=False)
    codes = sum(ord(answer) - ord("a") << 3 * at for at, answer in enumerate(answers)).to_bytes(3, "little")
    content = path.read_bytes()
    assert content.count(codes) == 1
    path.write_bytes(content.replace(codes, b"\xff\xff\xff"))
    with (
        pytest.raises(InputError, match=r"code 7 of 5 values.*damaged"),
        open_table(str(path), Columns()) as table,
    ):
        list(table.batches())


def test_half_a_parquet_file_is_refused_by_the_importer_too(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(NO_TEXT[:-20])
    with pytest.raises(InputError, match="can't be read"):
        list(plain.read(path, ImportOptions()))


def test_a_confidence_too_large_for_single_precision_is_infinite_in_its_step(tmp_path: Path) -> None:
    path = tmp_path / "deepthink_offline_qid3_rid0.pkl"
    path.write_bytes(pickle.dumps({"all_traces": [{"step_confs": [1.0, 1e308], "confs": [1e308, 2.0]}]}))
    (row,) = deepconf.read(path, ImportOptions())
    assert row.step_confidences is not None
    assert row.step_confidences.tolist() == [1.0, math.inf]


def test_a_run_with_gaps_in_its_steps_is_damaged(tmp_path: Path) -> None:
    table = pa.table({"question_id": ["q"], "sample": pa.array([0], pa.int32()), "step_ends": [[1, None]]})
    run = run_folder(tmp_path / "run", {})
    pq.write_table(table, run / "parts" / "x.parquet")
    stored = Run.open(run)
    assert not len(stored.table())
    assert "a step_ends has gaps" in stored.notes[0]


def test_an_answer_of_unusual_blanks_is_no_answer() -> None:
    assert extractor("auto")("$</think>\u2028\u2028\u2028") is None
    assert short("\u2028****") is None


def test_a_header_with_a_lone_carriage_return_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"question_id,answer\rtext\nq,1,x\n")
    with pytest.raises(InputError, match=r"a\.csv, line 1"):
        list(plain.read(path, ImportOptions()))


def test_a_line_end_in_a_column_s_name_does_not_break_the_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"x\ny",answer\n1,2\n')
    with pytest.raises(InputError) as caught, open_table(str(path), Columns()) as table:
        list(table.batches())
    assert "\n" not in str(caught.value)
