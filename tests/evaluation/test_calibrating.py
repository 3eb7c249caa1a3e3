"""Calibrations from labelled pools: enough questions, groups that do not leak, better than what ships."""

from __future__ import annotations

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.evaluation.calibrating import calibrate, groups_of, held_out, rows_of
from distrivote.evaluation.pools import PoolSet
from distrivote.simulation.model import Simulation, simulate
from evaluation.made_pools import few_surer_right, pool, pool_set, random_set


def hard_set(n_questions: int = 60, n: int = 40) -> PoolSet:
    simulation = Simulation(easy_rate=0.7, hard_share=0.5, popularity=2.5, separation=0.5)
    return simulate(simulation, n_questions, n, np.random.default_rng(1))


def test_rows_come_from_draws_of_several_sizes_and_from_whole_pools() -> None:
    rows = rows_of([hard_set(30)])
    assert rows.n_questions == 30
    # Four draws each of 8, 16 and 32, and all 40 once.
    assert len(rows.right) == 30 * (4 * 3 + 1)
    assert (rows.fewest, rows.most) == (8, 40)
    assert np.isfinite(rows.features).all()


def test_questions_of_two_runs_are_different_questions() -> None:
    assert rows_of([hard_set(10), hard_set(10)]).n_questions == 20


def test_all_rows_of_a_question_are_in_one_group() -> None:
    rows = rows_of([hard_set(25)])
    groups = groups_of(rows)
    assert len(np.unique(groups)) == 10
    assert all(len(np.unique(groups[rows.question == number])) == 1 for number in range(25))


def test_a_held_out_group_has_no_say_in_its_own_probabilities() -> None:
    rows = rows_of([hard_set(30)])
    groups = groups_of(rows)
    flipped = rows._replace(right=np.where(groups == 0, ~rows.right, rows.right))
    same = held_out(rows, groups)[groups == 0] == held_out(flipped, groups)[groups == 0]
    assert same.all()


def test_a_calibration_is_better_than_the_share_of_votes_on_unseen_questions() -> None:
    found = calibrate([hard_set(200)], "made-up pools")
    assert found.held_out.brier < found.share.brier
    assert found.held_out.ece < found.share.ece
    assert found.calibration.n_questions == 200
    assert found.calibration.source == "made-up pools"
    assert (found.calibration.fewest, found.calibration.most) == (8, 40)


def test_the_same_runs_give_the_same_calibration() -> None:
    made = [random_set(30)]
    assert calibrate(made, "x") == calibrate(made, "x")


def test_too_few_questions_are_refused() -> None:
    with pytest.raises(InputError, match="19 questions with a known answer: a calibration needs at least 20"):
        calibrate([pool_set(*(few_surer_right(f"q{i}") for i in range(19)))], "x")


def test_votes_that_are_always_right_are_refused() -> None:
    sure = [pool(f"q{i}", [0] * 9 + [1], range(1, 11)) for i in range(20)]
    with pytest.raises(InputError, match="all 20 questions are right: a calibration needs right and wrong"):
        calibrate([pool_set(*sure)], "x")
