"""Draws: seeded, nested, without replacement, and nobody's business but the question's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.errors import InputError
from distrivote.evaluation.draws import check_budget, draw
from evaluation.made_pools import few_surer_right, pool, pool_set


@given(st.text(max_size=8), st.integers(1, 40), st.integers(0, 2**40), st.data())
def test_no_trajectory_is_drawn_twice_and_small_draws_begin_large_ones(
    question: str, n: int, seed: int, data: st.DataObject
) -> None:
    budget = data.draw(st.integers(1, n))
    drawn = draw(question, n, budget, 3, seed)
    assert drawn.shape == (3, budget)
    assert all(len(set(row)) == budget for row in drawn.tolist())
    assert ((drawn >= 0) & (drawn < n)).all()
    np.testing.assert_array_equal(drawn, draw(question, n, n, 3, seed)[:, :budget])


def test_draws_depend_on_the_seed_and_the_question() -> None:
    first = draw("a", 50, 10, 4, seed=0)
    np.testing.assert_array_equal(first, draw("a", 50, 10, 4, seed=0))
    assert (first != draw("a", 50, 10, 4, seed=1)).any()
    assert (first != draw("b", 50, 10, 4, seed=0)).any()


def test_more_repeats_leave_the_first_ones_as_they_were() -> None:
    np.testing.assert_array_equal(draw("a", 50, 10, 4, seed=0), draw("a", 50, 10, 9, seed=0)[:4])


def test_every_trajectory_is_drawn_equally_often() -> None:
    # 4,000 draws of 2 out of 8: 1,000 +- 27 each; beyond 6 sd once in 10^8 seeds.
    counts = np.bincount(draw("a", 8, 2, 4000, seed=3).ravel(), minlength=8)
    assert (np.abs(counts - 1000) < 6 * np.sqrt(4000 * 0.25 * 0.75)).all()


def test_a_budget_beyond_the_pool_names_the_question_and_the_number() -> None:
    with pytest.raises(InputError, match=r"question q7 has 3 trajectories and the budget is 4"):
        draw("q7", 3, 4, 1, seed=0)
    sets = (pool_set(few_surer_right("q1"), pool("q2", [0, 1, 0], [1, 2, 3])),)
    with pytest.raises(InputError, match=r"question q2 of model-made has 3 .* budget is 8.*`budget=3`"):
        check_budget(sets, 8)
    with pytest.raises(InputError, match="from 1"):
        check_budget(sets, 0)
