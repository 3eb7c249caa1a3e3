"""Votes and trajectories as JSON: the laws that the page's pictures rest on."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from distrivote import SelfStepConf, Trajectory
from distrivote.server.shapes import steps_json, trajectory_json, vote_json
from distrivote.trajectory import Insertion, Interventions
from distrivote.voting.ballot import Ballot
from distrivote.voting.vote import vote

POOLS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.floats(0.5, 20.0)), min_size=1, max_size=40
)


@given(POOLS, st.sampled_from(["dis-gmm", "auto", "sc", "wsc-top50", "hier-kmeans", "wsc-gmm-reject"]))
@example(list(zip("aacaabca", [14.0, 8.0, 12.0, 6.0, 8.0, 11.0, 10.0, 6.0], strict=True)), "auto")
def test_marks_and_counts_of_a_vote_agree(pool: list[tuple[str | None, float]], method: str) -> None:
    ballot = Ballot.of([answer for answer, _ in pool], [confidence for _, confidence in pool])
    tally = vote(ballot, method=method)
    shown = vote_json(tally, ballot, range(len(pool)))
    json.dumps(shown, allow_nan=False)
    for answer in shown["answers"]:
        mine = [one for one in shown["confidences"] if one["answer"] == answer["answer"]]
        assert len(mine) == answer["all"]
        assert sum(one["likely_right"] is not False for one in mine) == answer["kept"]
        assert sum(one["kept"] for one in mine) == answer["after_reject"]
    assert sum(answer["share"] for answer in shown["answers"]) == pytest.approx(1.0 if tally.votes else 0.0)


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=20))
def test_places_in_a_text_are_javascripts(tokens: list[str]) -> None:
    tokens = [token.encode("utf-8", "replace").decode() for token in tokens]
    n = len(tokens)
    record = Interventions((Insertion(n // 2, 1),), tuple(range(1, n + 1)), (9.0,) * n)
    shown = steps_json(record, tokens, SelfStepConf())
    units = "".join(tokens).encode("utf-16-le")
    starts = [0, *shown["step_text_ends"]]
    assert [units[2 * a : 2 * b].decode("utf-16-le") for a, b in pairwise(starts)] == tokens
    (reflection,) = shown["reflections"]
    there = units[2 * reflection["text_start"] : 2 * reflection["text_end"]].decode("utf-16-le")
    assert there == tokens[n // 2]
    assert reflection["step"] == n // 2


def test_the_line_is_what_each_step_was_held_against() -> None:
    record = Interventions((), (4, 7, 9), (10.0, 12.0, 8.0))
    shown = steps_json(record, (), SelfStepConf(alpha=0.5, delta=0.8))
    assert shown["thresholds"] == [None, 8.0, pytest.approx(8.8)]
    assert shown["step_text_ends"] == []


def test_a_reply_without_tokens_has_no_steps() -> None:
    shown = trajectory_json(Trajectory("It is 4."), "4", float("nan"), SelfStepConf())
    assert (shown["confidence"], shown["step_ends"], shown["thresholds"], shown["n_tokens"]) == (
        None,
        [],
        [],
        0,
    )


def test_steps_are_found_where_no_controller_recorded_them() -> None:
    tokens = ("a\n\n", "b")
    trajectory = Trajectory("a\n\nb", tokens, np.full((2, 20), -3.0), np.zeros(2))
    shown = trajectory_json(trajectory, None, 3.0, None)
    assert (shown["step_ends"], shown["step_text_ends"], shown["thresholds"]) == ([1, 2], [3, 4], [])
