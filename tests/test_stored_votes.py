"""What bench/json_votes.py and bench/short_votes.py make of replies, on cases counted by hand."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from distrivote.confidence.tokens import TokenValues
from distrivote.store import Run
from distrivote.store.runs.rows import trajectory_of
from distrivote.trajectory import Trajectory

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "bench"))

import json_votes  # noqa: E402
import short_votes  # noqa: E402
from stored_replies import Question, Reply, questions_of, summary, winner  # noqa: E402


def reply(text: str, sure: float = 2.0, finish_reason: str = "stop") -> Reply:
    tokens = tuple(text)
    trajectory = Trajectory(
        text, tokens, np.empty((len(tokens), 0)), np.full(len(tokens), np.nan), finish_reason=finish_reason
    )
    return Reply(trajectory, TokenValues(np.full(len(tokens), sure), 0, 20), sure)


def question(right: str, *replies: Reply) -> Question:
    return Question("q", "?", right, replies)


def test_fields_can_be_right_together_where_no_reply_is() -> None:
    said = ['{"a": 1, "b": 9, "c": 3}', '{"a": 1, "b": 2, "c": 9}', '{"a": 9, "b": 2, "c": 3}', "no JSON"]
    shares = json_votes.shares_of(question('{"a": 1, "b": 2, "c": 3.0}', *map(reply, said)))
    assert shares["JSON"] == 0.75
    assert shares["any object"] == shares["one reply, object"] == shares["sc whole, object"] == 0
    assert shares["one reply, fields"] == pytest.approx((3 * 2 / 3) / 4)
    assert shares["sc whole, fields"] == pytest.approx(2 / 3)
    assert shares["sc by field, object"] == shares["sc by field, fields"] == 1
    assert shares["sc by field, nobody said it"] == 1


def test_a_field_too_many_makes_an_object_wrong_and_no_field() -> None:
    shares = json_votes.shares_of(question('{"a": 1}', reply('{"a": 1, "b": 2}')))
    assert (shares["one reply, object"], shares["one reply, fields"]) == (0, 1)
    assert (shares["auto by field, object"], shares["auto by field, fields"]) == (0, 1)
    shares = json_votes.shares_of(question('{"a": 1}', reply("[1]"), reply("[1]")))
    assert (shares["sc whole, object"], shares["sc whole, fields"], shares["JSON"]) == (0, 0, 1)


def test_without_json_nothing_is_right() -> None:
    shares = json_votes.shares_of(question('{"a": 1}', reply("I can't."), reply('{"a": ')))
    assert set(shares.values()) == {0.0}


def test_plain_words_are_read_and_what_was_cut_off_is_not() -> None:
    said = [reply("Tom has **12** pears."), reply("So 5 + 7 = 12."), reply("The answer is 13.")]
    shares = short_votes.shares_of(question("12", *said, reply("Tom has 5", finish_reason="length")))
    assert shares["ended"] == shares["short, answered"] == 0.75
    assert shares["short, answered of ended"] == 1
    assert (shares["short, one reply"], shares["short, sc"]) == (0.5, 1)


def test_a_vote_on_nothing_has_no_winner() -> None:
    assert winner([None, None], [1.0, 2.0], "sc") is None
    assert winner([None, "b", "a", "a"], [1.0, 2.0, 3.0, 4.0], "sc") == 2


def test_a_summary_pairs_questions() -> None:
    found = summary(
        {"ours": [1.0, 1.0, 0.0], "theirs": [0.0, 1.0, 0.0]}, ["a", "b", "c"], [("ours", "theirs")]
    )
    assert found["n_questions"] == 3
    assert found["percent"]["ours"] == [66.7, 0.0, 100.0]
    assert found["differences"]["ours - theirs"] == [33.3, 0.0, 100.0]


def test_a_stored_run_is_read_with_the_confidences_that_it_has() -> None:
    path = ROOT / "examples" / "runs" / "qwen2.5-coder-humaneval"
    (first, *_) = questions_of(str(path), 2)
    run = Run.open(path)
    assert len(first.replies) == 2
    for each in first.replies:
        row = run.row(first.id, each.trajectory.index)
        assert each.text == row.text == trajectory_of(row).text
        assert each.stored == row.confidence
        # No answer was looked for in this run: its confidence is that of the last step.
        assert math.isclose(each.confidence(None), row.confidence, rel_tol=1e-6)
