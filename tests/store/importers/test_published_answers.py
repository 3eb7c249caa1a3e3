"""Answers that others have published without texts, and records of a prompt with its responses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers import all_answers, answer_tokens, graded_answers, responses, scorio
from distrivote.store.importers.base import Format, ImportOptions, id_of_question
from distrivote.store.importers.registry import sources
from distrivote.store.runs.rows import Row, row_of
from foreign_files import TEXT, lines, scorio_with_entries, trajectory, written
from foreign_files import all_answers as all_answers_record
from foreign_files import answer_tokens as answer_tokens_record
from foreign_files import graded_answers as graded_record
from foreign_files import responses as responses_record
from foreign_files import scorio as scorio_record


def read(folder: Path, kind: Format, *records: Any) -> list[Row]:
    return list(kind.read(written(folder, "a.jsonl", lines(*records)), ImportOptions()))


def test_all_answers_come_with_tokens_and_the_measures_that_are_ours(tmp_path: Path) -> None:
    rows = read(tmp_path, all_answers.FORMAT, all_answers_record())
    assert [(row.question_id, row.answer, row.n_tokens) for row in rows] == [
        ("0", "4", 120), ("0", None, 0), ("0", "5", 90),
    ]  # fmt: skip
    np.testing.assert_array_equal([row.confidence for row in rows], [17.5, np.nan, 12.25])
    assert (rows[0].confidence_bottom_groups, rows[0].confidence_lowest_group) == (9.0, 8.5)
    assert math.isnan(rows[2].confidence_tail)
    assert {row.ground_truth for row in rows} == {"4"}


def test_answers_without_confidences_have_lengths_only(tmp_path: Path) -> None:
    record = {"problem_num": 7, "gold_answer": "D", "all_answers": [["D", 752], ["C", 9]]}
    rows = read(tmp_path, all_answers.FORMAT, record)
    assert [(row.answer, row.n_tokens) for row in rows] == [("D", 752), ("C", 9)]
    assert all(math.isnan(row.confidence) for row in rows)


def test_grades_that_a_file_has_are_kept(tmp_path: Path) -> None:
    rows = read(tmp_path, graded_answers.FORMAT, graded_record())
    assert [(row.answer, row.correct) for row in rows] == [("4", True), ("5", False), (None, False)]


def test_the_mean_over_an_answers_tokens_is_its_confidence(tmp_path: Path) -> None:
    folder = tmp_path / "deepconf_qid7_rid0"
    folder.mkdir()
    path = written(folder, "answer_token_conf_budget64.json", json.dumps(answer_tokens_record()).encode())
    (folder / "conf_exp_budget64.json").write_text('{"ground_truth": "4"}')
    rows = list(answer_tokens.FORMAT.read(path, ImportOptions()))
    assert [(row.question_id, row.answer, row.ground_truth) for row in rows] == [
        ("7", "4", "4"), ("7", None, "4"),
    ]  # fmt: skip
    np.testing.assert_array_equal([row.confidence for row in rows], [20.0, np.nan])


def test_every_response_is_a_sample_of_its_prompt(tmp_path: Path) -> None:
    chat = responses_record() | {"prompt": [{"role": "user", "content": "3 + 3?"}], "id": "six"}
    rows = read(tmp_path, responses.FORMAT, responses_record(), chat)
    assert [row.question_id for row in rows] == [id_of_question("2 + 2?")] * 3 + ["six"] * 3
    assert [row.answer for row in rows[:3]] == ["4", "5", None]
    assert [row.text for row in rows[:2]] == [TEXT, "The answer is 5."]
    assert rows[3].question == "3 + 3?"
    assert rows[1].confidence == rows[1].logprob == pytest.approx(math.exp(-1.0))
    assert rows[1].n_tokens == 2
    assert math.isnan(rows[0].confidence)


@pytest.mark.parametrize(
    ("kind", "record", "change", "said"),
    [
        (all_answers.FORMAT, all_answers_record, {"problem_num": None}, "has no problem_num"),
        (
            all_answers.FORMAT,
            all_answers_record,
            {"all_answers": ["4"], "confidences": None},
            "answer 0 is '4'",
        ),
        (all_answers.FORMAT, all_answers_record, {"confidences": [None]}, "3 answers but 1 confidences"),
        (all_answers.FORMAT, all_answers_record, {"confidences": [1, 2, 3]}, "answer 0: confidences is 1"),
        (graded_answers.FORMAT, graded_record, {"correct": [1]}, "3 answers but 1 grades"),
        (graded_answers.FORMAT, graded_record, {"correct": [1, 0, "no"]}, "answer 2: correct is 'no'"),
        (graded_answers.FORMAT, graded_record, {"id": " "}, "has no id"),
        (responses.FORMAT, responses_record, {"responses": "4"}, "responses is '4'"),
        (responses.FORMAT, responses_record, {"responses": [4]}, "responses 0 is 4"),
        (responses.FORMAT, responses_record, {"responses": [{"score": 1}]}, "responses 0 has no text"),
        (responses.FORMAT, responses_record, {"prompt": None}, "which question"),
        (
            responses.FORMAT,
            responses_record,
            {"responses": [{"text": "4", "logprobs": [0.5]}]},
            "logprobs, token 0 is 0.5: a log-probability is at most 0",
        ),
    ],
)
def test_a_fault_names_its_place(tmp_path: Path, kind: Format, record: Any, change: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, kind, record(), record() | change)
    assert said in str(caught.value)
    assert "a.jsonl, line 2" in str(caught.value)


def test_a_sum_beyond_a_double_is_no_confidence(tmp_path: Path) -> None:
    huge = {"prompt": "2 + 2?", "responses": [{"text": TEXT, "token_logprobs": [-1e308] * 3}]}
    (row,) = read(tmp_path, responses.FORMAT, huge)
    assert math.isnan(row.confidence)
    assert math.isnan(row.logprob)
    trace = {"extracted_answer": "4", "answer_token_conf": [{"confidence": 1e308}] * 2}
    path = written(tmp_path, "answer_token_conf_qid3.json", json.dumps({"completed": [trace]}).encode())
    (row,) = answer_tokens.FORMAT.read(path, ImportOptions())
    assert (row.answer, math.isnan(row.confidence)) == ("4", True)


TOP = [{"token": "4", "logprob": -0.1}, {"token": "5", "logprob": -2.5}]
ONE_REPLY = {
    "question_id": "q1",
    "question": "What is 2 + 2?",
    "ground_truth": "4",
    "response": r"So \boxed{4}",
    "logprobs": {"content": [{"token": r"So \boxed{4}", "logprob": -0.1, "top_logprobs": TOP}]},
}


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "texts"])
def test_a_row_may_be_one_reply_with_its_log_probabilities(kind: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [ONE_REPLY, ONE_REPLY | {"response": r"\boxed{5}", "logprobs": None}]
    if kind == "texts":
        rows = [each | {"logprobs": json.dumps(each["logprobs"])} for each in rows[:1]]
    path = tmp_path / ("a.parquet" if kind == "parquet" else "a.jsonl")
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    (source,) = sources([str(path)])
    assert source.format is responses.FORMAT
    first, *others = source.format.read(path, ImportOptions(extract="boxed"))
    assert (first.question_id, first.answer, first.ground_truth) == ("q1", "4", "4")
    assert first.confidence == pytest.approx((0.1 + 2.5) / 2)
    assert [each.answer for each in others] == ["5"] * (kind != "texts")
    assert all(math.isnan(each.confidence) for each in others)
    # With answers it is a plain table; named as this format, the answers are what the replies say.
    named = written(tmp_path, "b.jsonl", lines(ONE_REPLY | {"answer": "7"}))
    assert sources([str(named)])[0].format is not responses.FORMAT
    assert [each.answer for each in responses.FORMAT.read(named, ImportOptions())] == ["7"]


def test_a_row_of_trace_votes_with_the_geometric_mean_probability(tmp_path: Path) -> None:
    unanswered = {**scorio_record(), "extracted_answer": "NotFound", "is_correct": 0, "seed": 1235}
    several = {**scorio_record(), "data_id": 22, "ground_truth_accepted": ["4", "four"], "is_correct": 0}
    first, second, third = read(tmp_path, scorio.FORMAT, scorio_record(), unanswered, several)
    assert (first.question_id, first.answer, first.ground_truth, first.correct) == ("sums/3", "4", "4", True)
    assert (first.seed, first.model, first.n_tokens) == (1234, "some-model_low", 4)
    assert first.confidence == first.logprob == math.exp(-0.25)
    assert (second.answer, second.correct) == (None, False)
    assert (third.question_id, third.ground_truth, third.correct) == ("sums/22", None, False)


def test_entries_at_each_token_give_every_measure_of_a_row_of_gpqa(tmp_path: Path) -> None:
    path = tmp_path / "q0053.parquet"
    pq.write_table(pa.Table.from_pylist([scorio_with_entries()]), path)
    (source,) = sources([str(path)])
    (found,) = source.format.read(path, ImportOptions())
    expected = row_of(Problem("2 + 2?", "sums/53", "4"), trajectory())
    assert (source.format.name, found.question_id, found.answer) == ("scorio", "sums/53", "4")
    for name in ("confidence", "confidence_tail", "logprob", "entropy", "n_tokens", "text"):
        assert getattr(found, name) == getattr(expected, name), name


def test_only_the_numbers_of_the_entries_are_read(tmp_path: Path) -> None:
    path = tmp_path / "q0053.parquet"
    pq.write_table(pa.Table.from_pylist([scorio_with_entries()]), path)
    (record,) = responses.records_of(path, "", 1, scorio._is_read)
    assert record.fields["tokens"]["completion_topk_logprobs_list"][0][1] == {"logprob": -2.5}
    assert "prompt_avg_logprob" not in record.fields["tokens"]
    assert "sampling" not in record.fields
