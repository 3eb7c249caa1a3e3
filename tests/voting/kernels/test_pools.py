"""Pools as rectangles: what stands where nobody answered, huge and tiny confidences, and who wins."""

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

HUGE, TINY = 2.0**960, 2.0**-900


def made(answers: list[list[int]], confidences: list[list[float]], n_answers: int = 2) -> Pools:
    return make_pools(np.array(answers), np.array(confidences), n_answers)


def test_where_nobody_answered_stand_answer_0_and_confidence_1():
    pools = made([[1, -1, 0], [-1, -1, -1]], [[3.0, math.nan, 2.0], [math.nan, 5.0, 1e300]])
    assert pools.answers.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert pools.confidences.tolist() == [[3.0, 1.0, 2.0], [1.0, 1.0, 1.0]]
    assert pools.answered.tolist() == [[True, False, True], [False, False, False]]
    assert pools.exponents.tolist() == [0, 0]


def test_there_is_always_a_column_and_an_answer():
    pools = make_pools(np.empty((2, 0), dtype=np.int64), np.empty((2, 0)), 0)
    assert pools.answers.shape == pools.confidences.shape == (2, 1)
    assert not pools.answered.any()
    assert pools.n_answers == 1


def test_only_huge_pools_and_pools_of_tiny_confidences_alone_are_scaled():
    rows = [
        [1.0, HUGE],
        [1.0, 2 * HUGE],
        [TINY / 2, TINY / 4],
        [TINY / 2, TINY],
        [TINY, TINY / 2],
        [TINY / 2, 1.0],
    ]
    pools = made([[0, 1]] * 6, rows)
    assert pools.exponents.tolist() == [0, 64, -256, 0, 0, 0]
    assert np.ldexp(pools.confidences, pools.exponents[:, None]).tolist() == rows


def test_who_did_not_answer_does_not_make_a_pool_huge_or_keep_it_from_being_tiny():
    pools = made([[-1, 0, 1]] * 2, [[1e300, 1.0, 2.0], [1.0, TINY / 2, TINY / 4]])
    assert pools.exponents.tolist() == [0, -256]
    assert pools.confidences[:, 0].tolist() == [1.0, 1.0]


def test_confidences_that_vanish_beside_huge_ones_keep_their_order():
    smallest = 5e-324
    pools = made([[0, 0, 1, 1, 1]], [[3 * smallest, 2 * smallest, 1e300, 3 * smallest, 1.0]])
    scaled = pools.confidences[0]
    assert scaled[2] == 1e300 * 2.0**-64
    assert scaled[4] == 2.0**-64
    assert scaled[1] > 0
    assert scaled[0] == scaled[3] == 2 * scaled[1]


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
    pools = made([[0, 1], [1, -1], [1, 0]], [[1.0, 2.0], [3.0, 4.0], [HUGE * 4, 6.0]])
    some = pools.rows(np.array([2, 1]))
    assert some.answers.tolist() == [[1, 0], [1, 0]]
    assert some.answered.tolist() == [[True, True], [True, False]]
    assert some.exponents.tolist() == [64, 0]
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
