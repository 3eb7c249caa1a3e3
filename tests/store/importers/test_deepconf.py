"""DeepConf's and SelfStepConf's pickles: what a trace becomes."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.store.importers.base import ImportOptions
from distrivote.store.importers.deepconf import FORMAT, STEPS

CONFS = np.round(np.random.default_rng(1).gamma(9, 1.2, 3_000), 3)


def trace(**changes: Any) -> dict[str, Any]:
    return {
        "stop_reason": "stop",
        "text": "So \\boxed{42}",
        "token_ids": list(range(3_000)),
        "num_tokens": 3_000,
        "confs": list(CONFS),
        "extracted_answer": "42",
    } | changes


def saved(
    folder: Path, *traces: Any, name: str = "deepthink_offline_qid7_rid0_20250101_000000.pkl", **top: Any
) -> Path:
    content = {
        "all_traces": list(traces),
        "final_traces": [],
        "question": "What is 6 * 7?",
        "ground_truth": "42",
        "qid": 7,
        "config": {"window_size": 2048},
    } | top
    path = folder / name
    path.write_bytes(pickle.dumps(content))
    return path


def rows(path: Path) -> list[Any]:
    return list(FORMAT.read(path, ImportOptions()))


def test_a_trace_becomes_a_row_with_all_measures_of_its_tokens(tmp_path: Path) -> None:
    (row,) = rows(saved(tmp_path, trace()))
    assert (row.question_id, row.answer, row.ground_truth) == ("7", "42", "42")
    assert (row.question, row.text, row.n_tokens, row.finish_reason, row.k) == (
        "What is 6 * 7?",
        "So \\boxed{42}",
        3_000,
        "stop",
        20,
    )
    windows = [CONFS[i : i + 2048].mean() for i in range(3_000 - 2048 + 1)]
    assert row.confidence_mean == pytest.approx(CONFS.mean())
    assert row.confidence_tail == pytest.approx(CONFS[-2048:].mean())
    assert row.confidence_lowest_group == pytest.approx(min(windows))
    assert row.confidence_bottom_groups == pytest.approx(np.mean(sorted(windows)[: len(windows) // 10]))
    assert row.confidence == row.confidence_tail
    assert np.allclose(row.token_confidences, CONFS)


def test_steps_give_the_confidence_where_there_are_some(tmp_path: Path) -> None:
    (row,) = rows(saved(tmp_path, trace(step_confs=[9.0, 8.0, 11.5])))
    assert row.confidence == 11.5
    assert row.step_confidences.tolist() == [9.0, 8.0, 11.5]
    (row,) = rows(saved(tmp_path, trace(group_confs=[9.0, 12.5])))
    assert row.confidence == 12.5


def test_sliding_windows_are_not_taken_for_steps(tmp_path: Path) -> None:
    windows = [float(CONFS[i : i + 2048].mean()) for i in range(3_000 - 2048 + 1)]
    (row,) = rows(saved(tmp_path, trace(group_confs=windows, min_conf=min(windows))))
    assert row.step_confidences is None
    assert row.confidence == row.confidence_tail


def test_traces_are_the_final_ones_where_there_are_no_others(tmp_path: Path) -> None:
    path = saved(tmp_path, final_traces=[trace(extracted_answer="41"), trace()])
    assert [row.answer for row in rows(path)] == ["41", "42"]


def test_the_question_is_named_by_the_file_if_nothing_else_says_it(tmp_path: Path) -> None:
    (row,) = rows(saved(tmp_path, trace(), qid=None, name="deepthink_online_qid12_rid0_x.pkl"))
    assert row.question_id == "12"
    (row,) = rows(saved(tmp_path, trace(), qid=None, name="mine.pkl"))
    assert row.question_id == "mine"


def test_missing_parts_stay_missing(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        trace(extracted_answer=None, confs=[], text=None, num_tokens=0),
        trace(extracted_answer="", confs=None, correctness=np.bool_(True)),
        trace(confs=[float("nan")] * 3, extracted_answer=np.int64(5)),
    )
    first, second, third = rows(path)
    assert (first.answer, first.answer_class, first.n_tokens, first.k) == (None, -1, 0, None)
    assert np.isnan(first.confidence)
    assert (second.answer, second.correct) == (None, True)
    assert third.answer == "5"
    assert np.isnan(third.confidence)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "truncated"),
        (b"\x80\x04cut", "damaged|truncated|code"),
        (pickle.dumps([1, 2]), "not hold the dict"),
        (pickle.dumps({"a": 1}), "all_traces"),
        (pickle.dumps({"all_traces": [1]}), "trace 0 is not a dict"),
        (pickle.dumps({"all_traces": [{"confs": ["a"]}]}), "confs is not a list of numbers"),
        (pickle.dumps({"all_traces": [{"confs": [[1.0], [2.0]]}]}), "confs is not a list of numbers"),
        (pickle.dumps({"all_traces": [Path("x")]}), "not a plain value"),
    ],
)
def test_what_is_no_file_of_deepconf_is_refused_in_a_sentence(
    content: bytes, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says):
        rows(path)


def test_a_file_of_steps_has_steps_and_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "logitsprocessor_question_3_1.pkl"
    step = {"step_start_idx": [0, 4], "step_end_idx": [4, 9], "step_confs": [9.5, 8.5], "confs": [9.0] * 9}
    path.write_bytes(pickle.dumps({"step": step, "answer_count": 1, "answer_weight": 2.0}))
    assert STEPS.is_one(path, path.read_bytes())
    assert not FORMAT.is_one(path, path.read_bytes())
    (row,) = STEPS.read(path, ImportOptions())
    assert (row.question_id, row.answer, row.n_tokens) == ("3", None, 9)
    assert (row.step_ends.tolist(), row.step_confidences.tolist()) == ([4, 9], [9.5, 8.5])


def test_traces_that_are_an_array_are_named(tmp_path: Path) -> None:
    path = tmp_path / "deepthink_offline_qid1_rid0_20250101_000000.pkl"
    path.write_bytes(pickle.dumps({"qid": 1, "all_traces": np.arange(3), "final_traces": []}))
    with pytest.raises(InputError, match="has no list of all_traces or final_traces"):
        list(FORMAT.read(path, ImportOptions()))


def test_ends_of_steps_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "logitsprocessor_question_q1_1.pkl"
    step = {"step_confs": [9.0, 7.5], "step_end_idx": [math.nan, 4.0], "confs": [9.0]}
    path.write_bytes(pickle.dumps({"step": step}))
    (row,) = STEPS.read(path, ImportOptions())
    assert row.step_ends is None
