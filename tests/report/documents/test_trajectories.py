"""The document of a trajectory: where its steps are, and what they were compared with."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conforming import conforms
from distrivote import SelfStepConf, Trajectory
from distrivote.report.documents import stored_trajectory_document, trajectory_document
from distrivote.trajectory import Insertion, Interventions
from strategies import LAW


@LAW
@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=20))
def test_places_in_a_text_are_javascripts(tokens: list[str]) -> None:
    tokens = [token.encode("utf-8", "replace").decode() for token in tokens]
    n = len(tokens)
    record = Interventions((Insertion(n // 2, 1),), tuple(range(1, n + 1)), (9.0,) * n)
    trajectory = Trajectory(
        "".join(tokens), tuple(tokens), np.full((n, 20), -9.0), np.zeros(n), interventions=record
    )
    shown = trajectory_document(trajectory, None, 9.0, SelfStepConf())
    conforms(shown, "TrajectoryDocument")
    units = "".join(tokens).encode("utf-16-le")
    starts = [0, *shown["step_text_ends"]]
    assert [units[2 * a : 2 * b].decode("utf-16-le") for a, b in pairwise(starts)] == tokens
    (reflection,) = shown["reflections"]
    there = units[2 * reflection["text_start"] : 2 * reflection["text_end"]].decode("utf-16-le")
    assert there == tokens[n // 2]
    assert reflection["step"] == n // 2


def test_the_line_is_what_each_step_was_held_against() -> None:
    row = {
        "sample": 3, "answer": "4", "confidence": 8.0, "correct": True, "n_tokens": 9,
        "finish_reason": "stop", "server": None, "model": "A", "step_ends": [4, 7, 9],
        "step_confidences": [10.0, 12.0, 8.0], "unfinished": False, "reflections": [],
        "reflection_lengths": [],
    }  # fmt: skip
    shown = stored_trajectory_document(row, (), SelfStepConf(alpha=0.5, delta=0.8))
    conforms(shown, "TrajectoryDocument")
    assert (shown["index"], shown["correct"], shown["model"], shown["text"]) == (3, True, "A", None)
    assert shown["thresholds"] == [None, 8.0, pytest.approx(8.8)]
    assert shown["step_text_ends"] == []


def test_a_reply_without_tokens_has_no_steps() -> None:
    shown = trajectory_document(Trajectory("It is 4.", model="B"), "4", float("nan"), SelfStepConf())
    assert shown["model"] == "B"
    assert (shown["confidence"], shown["step_ends"], shown["thresholds"], shown["n_tokens"]) == (
        None,
        [],
        [],
        0,
    )


def test_steps_are_found_where_no_controller_recorded_them() -> None:
    tokens = ("a\n\n", "b")
    trajectory = Trajectory("a\n\nb", tokens, np.full((2, 20), -3.0), np.zeros(2))
    shown = trajectory_document(trajectory, None, 3.0, None)
    assert (shown["step_ends"], shown["step_text_ends"], shown["thresholds"]) == ([1, 2], [3, 4], [])
