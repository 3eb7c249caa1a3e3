"""Results of a file: the truth of an answer, the counts, and their interval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.store.results import votes as results_module
from distrivote.store.results.tables import json_lines, long_table, tab_lines
from distrivote.store.results.votes import Accuracy, Bar, Totals, hold_elections, results_of
from distrivote.store.tables import parquet as table_parquet
from distrivote.store.tables.lookup import ballot_of
from distrivote.store.tables.questions import Questions, stream_questions
from distrivote.store.tables.source import Columns, open_table
from distrivote.store.tables.truth import Judge
from distrivote.voting.methods import parse_method
from distrivote.voting.probability import Calibration
from distrivote.voting.vote import elect, tally_on, vote
from strategies import LAW, Pool, pools


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("42", " 42 ", True),
        ("42", "42.0", True),
        ("042", "42", True),
        ("1e2", "+100", True),
        (".5", "0.50", True),
        ("9007199254740993", "9007199254740992", False),
        ("1/2", "0.5", True),
        (r"\frac{\sqrt{570}}{12}", r"\sqrt{\frac{95}{24}}", True),
        ("x", "y", False),
        ("1e99999", "1e99998", False),
        ("nan", "nan", True),
    ],
)
def test_an_answer_is_right_by_the_notion_by_which_answers_are_compared(
    one: str, other: str, same: bool
) -> None:
    assert Judge().verdict(one, other) is Judge().verdict(other, one) is same
    assert Judge("text").verdict(one, other) is (one.strip() == other.strip())


def test_the_interval_is_wilsons() -> None:
    # Wilson's interval for 28 of 29, by the formula in Brown, Cai and DasGupta (2001).
    low, high = Accuracy(28, 29).interval
    assert (round(low, 4), round(high, 4)) == (0.8282, 0.9939)
    assert Accuracy(0, 5).interval[0] == pytest.approx(0.0)
    assert Accuracy(5, 5).interval[1] == pytest.approx(1.0)


def test_every_question_of_many_batches_is_voted_on_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parquet, "BATCH_ROWS", 50)
    monkeypatch.setattr(results_module, "_MOST_THREADS", 3)
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 40, 60)
    ids = np.repeat(np.arange(60), sizes)
    answers = [["x", "y", "z", None][i] for i in rng.integers(0, 4, len(ids))]
    confidences = rng.normal(12, 2, len(ids)).clip(1)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"question_id": ids, "answer": answers, "confidence": confidences}), path)
    methods = ["dis-gmm", "wsc"]
    totals = Totals(tuple(methods))
    tables = []
    with open_table(str(path), Columns()) as table:
        for results in hold_elections(stream_questions(table.batches()), methods):
            totals.add(results)
            tables.append(long_table(results, None))
    rows = pa.concat_tables(tables).to_pylist()
    assert [row["question_id"] for row in rows] == np.repeat(np.arange(60), 2).tolist()
    for row in rows:
        chosen = np.flatnonzero(ids == row["question_id"])
        one = vote([answers[i] for i in chosen], confidences[chosen], method=row["method"])
        assert row["answer"] == one.answer
        assert row["majority"] == one.majority
        assert row["rejected"] == one.rejected
        assert row["share"] == pytest.approx(one.share)
        assert (row["n_kept"], row["n_cast"]) == (one.n_kept, one.n_cast)
        assert row["n_unanswered"] == one.n_unanswered
    assert totals.n_trajectories == len(ids)
    assert totals.n_unanswered == answers.count(None)


@LAW
@given(pools, st.sampled_from(["dis-gmm", "wsc-gmm", "bon", "dis-top50", "auto"]))
def test_results_of_counted_votes_are_those_of_the_elections(pool: Pool, method: str) -> None:
    numbers = {label: number for number, label in enumerate(["unused", *sorted(set(pool.answers) - {None})])}
    one = Questions(
        ids=pa.array(["q"]),
        by=None,
        offsets=np.array([0, len(pool.answers)]),
        classes=np.array([numbers.get(answer, -1) for answer in pool.answers], dtype=np.int64),
        labels=pa.array(list(numbers)),
        confidences=np.array(pool.confidences, dtype=np.float64),
        truths=pa.array(["a"]),
        correct=None,
    )
    ballot, calibration = ballot_of(one), Calibration()
    counted, majority = (tally_on(ballot, parse_method(name), calibration) for name in (method, "sc"))
    bar = Bar(calibration, 0.5)
    mine = long_table(results_of(one, [counted], majority, bar), None).to_pylist()
    # Beliefs that are learned from the one question itself are left out: `auto` takes the usual ones.
    outcomes = elect(one.classes, one.confidences, one.offsets, [method, "sc"], calibration=calibration)
    (row,) = mine
    (winner,), (rejected,) = outcomes[method].winner.tolist(), outcomes[method].rejected.tolist()
    assert (row["answer"] or row["withheld"]) == (None if winner < 0 else one.labels[winner].as_py())
    assert row["abstained"] == (winner >= 0 and outcomes[method].probability[0] < 0.5)
    assert row["rejected"] == (None if rejected < 0 else one.labels[rejected].as_py())
    assert row["share"] == pytest.approx(outcomes[method].share[0])
    assert row["probability"] == pytest.approx(outcomes[method].probability[0])
    for name in ("n_kept", "n_cast", "n_unmeasured"):
        assert row[name] == getattr(outcomes[method], name)[0]
    totals, elected = Totals((method,), bar), outcomes[method]
    totals.add(results_of(one, [counted], majority, bar))
    assert totals.n_overruling == elected.overrules[0]
    assert (counted.separation is None) == np.isnan(elected.separation[0])
    if counted.separation is not None:
        assert counted.separation == pytest.approx(elected.separation[0])


def test_an_error_in_a_vote_is_not_lost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(results_module, "elect", fail)
    path = tmp_path / "a.csv"
    path.write_text("question_id,answer,confidence\n1,x,2\n")
    with open_table(str(path), Columns()) as table, pytest.raises(ZeroDivisionError):
        list(hold_elections(stream_questions(table.batches()), ["wsc"]))


def test_text_is_made_from_slices_as_from_whole_tables() -> None:
    table = pa.table({"a": ["x", None, "y\tz", "é"], "b": [1, 2, None, 4], "c": [True, None, False, True]})
    whole = bytes(tab_lines(table)).decode().splitlines(keepends=True)
    assert whole == ["x\t1\ttrue\n", "\t2\t\n", "y\\tz\t\tfalse\n", "é\t4\ttrue\n"]
    assert bytes(tab_lines(table.slice(1, 2))).decode() == "".join(whole[1:3])
    assert bytes(json_lines(table.slice(2, 1))).decode() == '{"a": "y\\tz", "b": null, "c": false}\n'
