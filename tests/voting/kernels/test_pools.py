"""Pools as rectangles: what stands where nobody answered, and who wins."""

from __future__ import annotations

import math

import numpy as np
import pytest

from distrivote.voting.kernels import pools as kernels
from distrivote.voting.kernels.pools import (
    ABSENT,
    Pools,
    best_answers,
    first_seen,
    make_pools,
    ranked_confidences,
    signed_scores,
    sums_by_answer,
    winning_answers,
)


def made(answers: list[list[int]], confidences: list[list[float]], n_answers: int = 2) -> Pools:
    return make_pools(np.array(answers), np.array(confidences), n_answers)


def test_where_nobody_answered_stand_answer_0_and_confidence_1():
    pools = made([[1, -1, 0], [-1, -1, -1]], [[3.0, math.nan, 2.0], [math.nan, 5.0, 1e100]])
    assert pools.answers.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert pools.confidences.tolist() == [[3.0, 1.0, 2.0], [1.0, 1.0, 1.0]]
    assert pools.answered.tolist() == [[True, False, True], [False, False, False]]


def test_there_is_always_a_column_and_an_answer():
    pools = make_pools(np.empty((2, 0), dtype=np.int64), np.empty((2, 0)), 0)
    assert pools.answers.shape == pools.confidences.shape == (2, 1)
    assert not pools.answered.any()
    assert pools.n_answers == 1


def test_members_are_ranked_and_others_are_infinite():
    pools = made([[0, 1, 0, 1]], [[4.0, 2.0, 3.0, 1.0]])
    ranked, sizes = ranked_confidences(pools, np.array([[True, True, True, False]]))
    assert ranked.tolist() == [[2.0, 3.0, 4.0, math.inf]]
    assert sizes.tolist() == [3]


@pytest.mark.parametrize("n_columns", [7, 8, 9, 16, 33])
@pytest.mark.parametrize("many_keys", [1, 100])
def test_long_rows_are_added_up_in_parts(monkeypatch, n_columns, many_keys):
    monkeypatch.setattr(kernels, "_MANY", 8)
    monkeypatch.setattr(kernels, "_MANY_KEYS", many_keys)
    answers = np.arange(2 * n_columns).reshape(2, n_columns) % 3
    weights = np.arange(2.0 * n_columns).reshape(2, n_columns)
    sums = sums_by_answer(make_pools(answers, weights + 1, 3), weights)
    assert sums.tolist() == [[weights[row][answers[row] == a].sum() for a in range(3)] for row in range(2)]


def test_rows_are_some_of_the_pools():
    pools = made([[0, 1], [1, -1], [1, 0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    some = pools.rows(np.array([2, 1]))
    assert some.answers.tolist() == [[1, 0], [1, 0]]
    assert some.answered.tolist() == [[True, True], [True, False]]
    assert some.n_answers == 2


def test_an_answer_without_a_sum_is_absent_whichever_way_the_vote_goes():
    sums = np.array([[2.0, 0.0, 3.0]])
    assert signed_scores(sums, False).tolist() == [[2.0, ABSENT, 3.0]]
    assert signed_scores(sums, True).tolist() == [[-2.0, ABSENT, -3.0]]
    assert sums.tolist() == [[2.0, 0.0, 3.0]]


def test_the_best_answer_and_the_rows_where_others_score_the_same():
    scores = np.array(
        [[1.0, 3.0], [3.0, 3.0 - 3e-12], [3.0, 3.0 - 4e-12], [ABSENT, ABSENT], [-2.0, -2.0], [ABSENT, 1.0]]
    )
    winners, tied = best_answers(scores)
    assert winners.tolist() == [1, 0, 0, -1, 0, 1]
    assert tied.tolist() == [1, 4]


def test_of_equal_scores_the_first_among_the_members_wins():
    scores = np.array([[2.0, 2.0, 1.0]] * 2)
    answers = np.array([[2, 0, 1], [2, 0, 1]])
    members = np.array([[True, True, True], [True, False, True]])
    assert first_seen(scores, answers, members).tolist() == [0, 1]
    assert winning_answers(scores, answers, members).tolist() == [0, 1]
