"""The answers of a file under one label: as if every question were compared by itself."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.equality import Equality
from distrivote.answers.equivalence import classify
from distrivote.errors import MissingPackageError
from distrivote.evaluation.loading import load_pool_sets
from distrivote.store.results.votes import hold_elections
from distrivote.store.tables import classes as table_classes
from distrivote.store.tables.classes import questions_of
from distrivote.store.tables.questions import Questions, hold_questions, stream_questions
from distrivote.store.tables.source import AnswerTable, Columns, open_table
from formulas import ANSWERS, FORMULA, OTHER, TRUTH, hide_math_verify
from strategies import LAW

needs_math_verify = pytest.mark.skipif(find_spec("math_verify") is None, reason="needs math-verify")


def written(path: Path, questions: dict[str, list[str | None]], truth: str | None = None) -> str:
    lines = [
        {"question_id": name, "answer": answer, "confidence": 9.0 + i % 3, "ground_truth": truth}
        for name, answers in questions.items()
        for i, answer in enumerate(answers)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def read(path: str, same: str | Equality | None = None) -> tuple[dict[str, list[str | None]], list[str]]:
    """Return the label of every answer, by question, and the notes."""
    with open_table(path, Columns(), same) as table:
        found = labels_of(list(questions_of(table, stream_questions)))
        return found, table.notes


def labels_of(blocks: list[Questions]) -> dict[str, list[str | None]]:
    found = {}
    for block in blocks:
        for i, name in enumerate(block.ids.to_pylist()):
            classes = block.classes[block.offsets[i] : block.offsets[i + 1]]
            found[name] = block.labels.take(pa.array(classes, mask=classes < 0)).to_pylist()
    return found


@needs_math_verify
def test_formulas_of_a_file_are_one_answer(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"q": [*ANSWERS], "r": ["1", "2"]}, TRUTH)
    found, notes = read(path)
    assert found == {"q": [FORMULA] * 9 + ["2"] * 6, "r": ["1", "2"]}
    assert notes == []
    assert read(path, "notation")[0]["q"] == ANSWERS
    with open_table(path, Columns(), None) as table:
        verdicts = [each.majority for each in hold_elections(questions_of(table, hold_questions), ["sc"])]
    assert [each.answer.to_pylist() for each in verdicts] == [[FORMULA, "1"]]
    assert [each.right.tolist() for each in verdicts] == [[1, 0]]
    pools = load_pool_sets([path]).pool_sets[0].pools
    assert pools[0].correct.mean() == pytest.approx(9 / 15)
    assert load_pool_sets([path], same="notation").pool_sets[0].pools[0].correct.mean() == 0


def test_notations_of_a_file_are_one_answer_under_the_most_frequent_of_the_question(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl", {"a": ["1/2", "0.5", "0.5", None, "7"], "b": ["1/2", "7", "0.5"]}, "0.5"
    )
    assert read(path)[0] == {"a": ["0.5", "0.5", "0.5", None, "7"], "b": ["1/2", "7", "1/2"]}
    with open_table(path, Columns()) as table:
        (results,) = hold_elections(questions_of(table, hold_questions), ["sc"])
    assert results.majority.right.tolist() == [1, 1]


def test_text_keeps_them_apart_and_says_how_to_merge_them(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"a": ["1/2", "0.5", "7"], "b": ["7", " 7 "], "c": ["0.5", "8"]})
    found, notes = read(path, "text")
    assert found == {"a": ["1/2", "0.5", "7"], "b": ["7", "7"], "c": ["0.5", "8"]}
    assert notes == [
        "answers that look equal are kept separate in 1 question, such as '1/2' and '0.5':"
        ' `same="notation"` makes them equal'
    ]


def test_choices_are_one_by_their_letters_and_ones_own_rule_sees_every_answer(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"a": ["B", "(b)", "B.", "C"], "b": ["12", "13"]})
    assert read(path, "choice")[0] == {"a": ["B", "B", "B", "C"], "b": ["12", "13"]}
    assert read(path, Equality("first", key=lambda a: a[0]))[0]["b"] == ["12", "12"]


@needs_math_verify
def test_too_many_formulas_are_left_to_notation_unless_math_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_classes, "MOST_WORK", 2)
    path = written(tmp_path / "a.jsonl", {"a": [FORMULA, OTHER], "b": ["x+1", "1+x", "0.5", "1/2"]})
    found, notes = read(path)
    assert found == {"a": [FORMULA] * 2, "b": ["x+1", "1+x", "0.5", "0.5"]}
    assert notes == [
        "the formulas of 1 question are compared by notation, because the file has many of them:"
        ' `same="math"` compares all as mathematics'
    ]
    assert read(path, "math") == ({"a": [FORMULA] * 2, "b": ["x+1", "x+1", "0.5", "0.5"]}, [])


def test_plain_answers_are_passed_on_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("looked at one by one")

    monkeypatch.setattr(table_classes, "classify", refused)
    monkeypatch.setattr(table_classes, "form_of", refused)
    plain: list[str | None] = ["12", "-7", "0", "0.5", "12.25", "A", "paris", None]
    path = written(tmp_path / "a.jsonl", {"a": plain})
    assert read(path)[0] == {"a": plain}


@needs_math_verify
def test_doubtful_grades_of_a_file_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"q": ["(2, 1)", "(2, 1)", "7"]}, "1, 2")
    notes = load_pool_sets([path]).notes
    assert "a: 2 gradings were doubtful: equal to the right answer one way and not another, so wrong" in notes


def test_without_math_verify_a_file_with_formulas_as_truths_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_math_verify(monkeypatch)
    path = written(tmp_path / "a.jsonl", {"q": ["2", "3"]}, TRUTH)
    for use in (lambda: read(path), lambda: load_pool_sets([path])):
        with pytest.raises(MissingPackageError, match=r"pip install '.\[math\]'"):
            use()
    assert read(path, "notation")[0] == {"q": ["2", "3"]}
    path = written(tmp_path / "b.jsonl", {"q": [FORMULA, OTHER]}, "2")
    assert "compared by notation only" in read(path)[1][0]


labels = st.sampled_from(
    [
        "1",
        "1.0",
        "01",
        "2",
        "0.5",
        "1/2",
        "A",
        "a",
        "(A)",
        "yes",
        "Yes",
        " yes",
        "0.333333",
        "1/3",
        "paris",
        None,
    ]
)


@LAW
@given(
    st.lists(st.lists(labels, min_size=1, max_size=8), min_size=1, max_size=5),
    st.sampled_from(["text", "notation", "choice"]),
)
def test_a_file_is_compared_as_its_questions_are_one_by_one(pools: list[list[str | None]], same: str) -> None:
    n = [len(pool) for pool in pools]
    batch = pa.RecordBatch.from_pydict(
        {
            "question": pa.array(np.repeat(np.arange(len(pools)), n)),
            "answer": pa.array(
                [answer for pool in pools for answer in pool], pa.string()
            ).dictionary_encode(),
            "confidence": pa.array(np.full(sum(n), 9.0)),
        }
    )

    class Given(AnswerTable):
        def batches(self):  # type: ignore[no-untyped-def]
            yield batch

    table = Given(Path("none"), "none", "parquet", Columns(), same)
    for group in (stream_questions, hold_questions):
        found = labels_of(list(questions_of(table, group)))
        for number, pool in enumerate(pools):
            expected = classify(pool, same).answers
            assert [answer and answer.strip() for answer in found[number]] == expected
