"""Saved responses and batch output: one question per id, failed requests counted, faults with their place."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers import openai_files
from distrivote.store.importers.base import ImportOptions, id_of_question
from distrivote.store.importers.openai_files import FORMAT
from distrivote.store.importers.records import LeftOutWarning
from distrivote.store.runs.rows import Row, row_of
from distrivote.store.runs.schema import MEASURES
from foreign_files import FIFTY, TEXT, batch, chat, chat_logprobs, lines, llama, spoiled, trajectory, written


def read(folder: Path, name: str, content: bytes) -> list[Row]:
    return list(FORMAT.read(written(folder, name, content), ImportOptions()))


def same_measures(row: Row, expected: Row) -> None:
    for column in MEASURES.values():
        assert getattr(row, column) == getattr(expected, column)
    np.testing.assert_array_equal(row.step_ends, expected.step_ends)
    assert (row.answer, row.text, row.n_tokens, row.k) == (
        expected.answer, expected.text, expected.n_tokens, expected.k,
    )  # fmt: skip


def test_a_response_is_measured_like_its_trajectory(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "q7.json", json.dumps(chat(logprobs=chat_logprobs()), indent=2).encode())
    expected = row_of(Problem("", "q7"), trajectory())
    assert (row.question_id, row.answer, row.finish_reason) == ("q7", "4", "stop")
    assert row.confidence == expected.confidence > 0
    same_measures(row, expected)


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.json"])
def test_the_fast_way_gives_what_reading_field_by_field_gives(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [batch(f"q{i}", chat(logprobs=chat_logprobs())) for i in range(3)]
    content = lines(*records) if name == "runs.jsonl" else json.dumps(records).encode()
    fast = read(tmp_path, name, content)
    monkeypatch.setattr(openai_files, "_typed", lambda _: None)
    slow = read(tmp_path, name, content)
    assert len(fast) == len(slow) == 3
    for one, other in zip(fast, slow, strict=True):
        assert (one.question_id, one.finish_reason) == (other.question_id, other.finish_reason)
        same_measures(one, other)


def test_numbers_that_json_does_not_have_are_read_all_the_same(tmp_path: Path) -> None:
    record = batch("q1", chat(logprobs=chat_logprobs()))
    content = json.dumps(record).encode()
    spoilt = content.replace(b'"logprob": -', b'"logprob": NaN, "was": -', 1)
    assert b"NaN" in spoilt
    (row,) = read(tmp_path, "b.jsonl", spoilt)
    assert (row.question_id, row.answer) == ("q1", "4")


def test_a_list_and_lines_without_ids_answer_the_question_of_the_file(tmp_path: Path) -> None:
    responses = [
        chat(),
        chat(""),
        chat(None),
        chat("Ünïcode 🙂, no answer in so many words and more of them"),
    ]
    for name, content in (("q7.json", json.dumps(responses).encode()), ("q7.jsonl", lines(*responses))):
        rows = read(tmp_path, name, content)
        assert [row.question_id for row in rows] == ["q7"] * 4
        assert [row.answer for row in rows] == ["4", None, None, None]
        assert [row.text for row in rows[:3]] == [TEXT, "", ""]
        assert all(np.isnan(row.confidence) for row in rows)


def test_ids_beside_the_response_name_the_question(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        "all.jsonl",
        lines(
            {"question_id": 3, "ground_truth": 4, **chat()},
            {"custom_id": "c", "response": chat()},
            {"question": "2 + 2?", "response": chat()},
            batch("b", chat(logprobs=chat_logprobs())),
        ),
    )
    assert [row.question_id for row in rows] == ["3", "c", id_of_question("2 + 2?"), "b"]
    assert (rows[0].ground_truth, rows[2].question) == ("4", "2 + 2?")
    same_measures(rows[3], row_of(Problem("", "b"), trajectory()))


def test_every_choice_is_a_trajectory(tmp_path: Path) -> None:
    response = chat()
    response["choices"] *= 3
    assert len(read(tmp_path, "a.jsonl", lines(batch("q", response)))) == 3


def test_completions_are_read_too(tmp_path: Path) -> None:
    logprobs = {
        "tokens": ["4", "!"],
        "token_logprobs": [-0.1, -0.2],
        "top_logprobs": [{"4": -0.1, "5": -3.0}, {"!": -0.2, ".": -2.0}],
        "text_offset": [0, 1],
    }
    response = {"object": "text_completion", "choices": [{"text": "4!", "logprobs": logprobs}]}
    (row,) = read(tmp_path, "q.jsonl", lines(response))
    assert (row.answer, row.n_tokens, row.confidence_mean) == ("4!", 2, pytest.approx((3.1 + 2.2) / 4))


def test_llama_cpp_s_own_replies_are_measured_the_same(tmp_path: Path) -> None:
    rows = read(tmp_path, "l.jsonl", lines(llama(), llama() | {"completion_probabilities": None}))
    assert [row.question_id for row in rows] == [id_of_question("2 + 2?")] * 2
    assert (rows[0].question, rows[0].finish_reason) == ("2 + 2?", "length")
    same_measures(rows[0], row_of(Problem("", "q"), trajectory()))
    assert np.isnan(rows[1].confidence)
    assert rows[1].text == TEXT


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_response_without_a_choice_is_left_out_and_counted(tmp_path: Path, wrapped: bool) -> None:
    empty = chat() | {"choices": []}
    responses = [empty, chat(), chat()]
    if wrapped:
        responses = [batch(f"q{n}", response) for n, response in enumerate(responses)]
    content = lines(*responses)
    assert FORMAT.is_one(Path("b.jsonl"), content)
    with pytest.warns(LeftOutWarning, match="1 of 3 requests had failed and is left out.*no choices"):
        assert len(read(tmp_path, "b.jsonl", content)) == 2
    with pytest.raises(InputError, match="holds 1 request and it failed, the first with no choices"):
        read(tmp_path, "e.jsonl", lines(empty))


def test_failed_requests_are_left_out_and_counted(tmp_path: Path) -> None:
    late = {
        "id": "1",
        "custom_id": "c",
        "response": None,
        "error": {"code": "expired", "message": "too late"},
    }
    busy = batch("d", {"error": {"message": "slow down"}}, 429)
    path = written(tmp_path, "b.jsonl", lines(busy, batch("a", chat()), late))
    with pytest.warns(LeftOutWarning, match="2 of 3 requests had failed .* status 429: 'slow down'"):
        rows = list(FORMAT.read(path, ImportOptions()))
    assert [row.question_id for row in rows] == ["a"]
    with pytest.raises(InputError, match="all of them failed, the first with 'too late'"):
        read(tmp_path, "b.jsonl", lines(late, busy))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"a": 1}, "there are no choices"),
        ({"choices": {}}, "there are no choices"),
        ({"choices": [{"message": {"content": 3}}]}, "choice 0: its content"),
        ({"choices": [{"delta": {"content": "a"}}]}, "a chunk of a stream"),
        ({"choices": [{"text": "a", "logprobs": {"tokens": 3}}]}, "line 2"),
        (
            {"choices": [{"text": "a", "logprobs": {"content": [{"token": "a", "logprob": 10**400}]}}]},
            "line 2",
        ),
        ({"choices": [{"text": "a" * 99, "logprobs": {"content": [{"token": "b"}]}}]}, "do not spell"),
        ({"question_id": [], **chat()}, "question_id is a list"),
        ({"question_id": "\ud800", **chat()}, "not Unicode"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, record: dict[str, object], said: str) -> None:
    content = lines(chat()) + json.dumps(record).encode()
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, "a.jsonl", content)
    assert "a.jsonl, line 2" in str(caught.value)


def test_a_line_that_was_cut_off_is_named_and_those_before_it_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", lines(chat(), chat())[:-20])
    rows = FORMAT.read(path, ImportOptions())
    assert next(rows).answer == "4"
    with pytest.raises(InputError, match="line 2 is not valid JSON"):
        next(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("openai")


@FIFTY
@given(
    st.sampled_from([chat(logprobs=chat_logprobs()), batch("q", chat(logprobs=chat_logprobs())), llama()]),
    st.data(),
)
def test_any_value_anywhere_gives_rows_or_a_sentence(folder: Path, record, data) -> None:
    path = written(folder, "a.jsonl", json.dumps(data.draw(spoiled(record))).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        try:
            rows = list(FORMAT.read(path, ImportOptions()))
        except InputError as error:
            assert "a.jsonl" in str(error)  # noqa: PT017
        else:
            assert all(isinstance(row, Row) for row in rows)
