"""The generative model does what its parameters say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from distrivote.errors import InputError
from distrivote.simulation.model import LEAST, Drawn, Simulation, draw, simulate, with_auroc, with_pass1


def drawn(simulation: Simulation, n_questions: int = 3000, n_trajectories: int = 64) -> Drawn:
    return draw(simulation, n_questions, n_trajectories, np.random.default_rng(5))


def auroc_of(pools: Drawn) -> float:
    answered = pools.classes >= 0
    return float(roc_auc_score(pools.correct[answered], pools.confidences[answered]))


SIMULATIONS = st.builds(
    lambda hard, misled, **others: Simulation(hard_share=hard, confidently_wrong=hard * misled, **others),
    hard=st.floats(0, 1),
    misled=st.floats(0, 1),
    easy_rate=st.floats(0.01, 0.99),
    hard_rate=st.floats(0.01, 0.99),
    concentration=st.floats(0.01, 100),
    separation=st.floats(-5, 5),
    hard_drop=st.floats(-3, 3),
    level_spread=st.floats(0, 3),
    spread_right=st.floats(0.1, 3),
    spread_wrong=st.floats(0.1, 3),
    n_wrong=st.integers(1, 30),
    popularity=st.floats(0, 5),
    unanswered=st.floats(0, 0.99),
    hard_unanswered=st.floats(0, 0.99),
    n_tokens=st.sampled_from([0.0, 1.0, 5000.0]),
)


@settings(max_examples=60, deadline=None)
@given(SIMULATIONS, st.integers(1, 20), st.integers(1, 40), st.integers(0, 2**32))
def test_pools_are_well_formed_for_any_parameters(
    simulation: Simulation, n_questions: int, n_trajectories: int, seed: int
) -> None:
    pools = simulate(simulation, n_questions, n_trajectories, np.random.default_rng(seed)).pools
    assert len(pools) == n_questions == len({pool.question for pool in pools})
    for pool in pools:
        assert pool.n_trajectories == n_trajectories
        answered = pool.classes >= 0
        assert not pool.correct[~answered].any()
        assert np.isnan(pool.confidence[~answered]).all()
        assert (pool.confidence[answered] >= LEAST).all()
        _, first = np.unique(pool.classes[answered], return_index=True)
        assert (np.diff(first) > 0).all(), "classes count in the order of first appearance"
        assert set(pool.classes[answered]) == set(range(len(first)))
        assert len(set(pool.classes[pool.correct])) <= 1, "one answer is right"
        assert not set(pool.classes[pool.correct]) & set(pool.classes[answered & ~pool.correct])
        assert (pool.n_tokens is None) == (simulation.n_tokens == 0)
        if pool.n_tokens is not None:
            assert (pool.n_tokens >= 1).all()


def test_the_same_generator_state_gives_the_same_pools() -> None:
    one, other = drawn(Simulation(n_tokens=100), 20), drawn(Simulation(n_tokens=100), 20)
    for a, b in zip(one, other, strict=True):
        assert a is not None
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hard_drop": 1.0, "confidently_wrong": 0.1, "hard_unanswered": 0.4},
        {"spread_right": 0.5, "spread_wrong": 2.0, "level_spread": 0.0},
        {"separation": -1.0, "hard_share": 0.0, "confidently_wrong": 0.0},
        {"concentration": 0.5, "hard_share": 0.9},
    ],
)
def test_pass1_and_auroc_are_what_the_formulas_say(changes: dict[str, float]) -> None:
    simulation = replace(Simulation(), **changes)
    pools = drawn(simulation)
    # Standard errors over 3,000 questions are at most 0.008 (pass@1) and 0.009: four of them.
    assert pools.correct.mean() == pytest.approx(simulation.pass1, abs=0.032)
    assert auroc_of(pools) == pytest.approx(simulation.auroc, abs=0.036)


@settings(deadline=None)
@given(st.floats(0.05, 0.75), st.floats(0.2, 0.8))
def test_a_simulation_with_given_pass1_and_auroc_is_found(pass1: float, auroc: float) -> None:
    found = with_auroc(with_pass1(Simulation(hard_share=0.2, confidently_wrong=0.0), pass1), auroc)
    assert found.pass1 == pytest.approx(pass1)
    assert found.auroc == pytest.approx(auroc)


def test_the_drop_of_hard_questions_can_follow_the_separation() -> None:
    found = with_auroc(Simulation(), 0.7, drop=1.5)
    assert found.auroc == pytest.approx(0.7)
    assert found.hard_drop == pytest.approx(1.5 * found.separation)


def test_what_cannot_be_reached_is_said_with_its_limits() -> None:
    with pytest.raises(InputError, match=r"pass@1 is 0\.9: .* between 0\.023 and 0\.735"):
        with_pass1(Simulation(), 0.9)
    with pytest.raises(InputError, match=r"AUROC is 0\.9: with 24\.0% of the questions confidently wrong"):
        with_auroc(Simulation(confidently_wrong=0.24), 0.9)


def test_the_number_of_hard_questions_varies_by_one_at_most() -> None:
    simulation = Simulation(
        easy_rate=0.999, hard_rate=0.001, concentration=1e6, hard_share=0.31, unanswered=0, hard_unanswered=0
    )
    counts = []
    for seed in range(200):
        pools = draw(simulation, 30, 8, np.random.default_rng(seed))
        counts.append(int((pools.correct.mean(axis=1) < 0.5).sum()))
    assert set(counts) == {9, 10}
    # Expected 9.3; the mean of 200 coins is off by 4 standard errors once in 16,000 seeds.
    assert np.mean(counts) == pytest.approx(9.3, abs=4 * 0.46 / np.sqrt(200))


def test_wrong_answers_follow_the_popularity_law() -> None:
    simulation = Simulation(easy_rate=0.001, hard_rate=0.001, concentration=1e6, n_wrong=3, popularity=1.0)
    simulation = replace(simulation, unanswered=0.0, hard_unanswered=0.0)
    pools = drawn(simulation, 2000, 256)
    counts = np.sort([np.bincount(row, minlength=4)[:4] for row in pools.classes], axis=1)[:, ::-1]
    shares = counts[:, :3].mean(axis=0) / counts[:, :3].sum(axis=1).mean()
    assert shares == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.01)


def test_in_confidently_wrong_questions_the_gaussians_change_places() -> None:
    misled = Simulation(hard_share=1.0, confidently_wrong=1.0, hard_rate=0.5, level_spread=0.0)
    pools = drawn(misled, 200)
    wrong = (pools.classes >= 0) & ~pools.correct
    difference = pools.confidences[wrong].mean() - pools.confidences[pools.correct].mean()
    assert difference == pytest.approx(misled.separation, abs=0.1)


def test_answers_go_missing_more_often_on_hard_questions() -> None:
    pools = drawn(Simulation(hard_share=1.0, unanswered=0.0, hard_unanswered=0.3), 500)
    assert (pools.classes < 0).mean() == pytest.approx(0.3, abs=0.012)
    pools = drawn(Simulation(hard_share=0.0, confidently_wrong=0.0, unanswered=0.0, hard_unanswered=0.3), 500)
    assert (pools.classes >= 0).all()


def test_lengths_have_their_mean() -> None:
    lengths = drawn(Simulation(n_tokens=8000), 500).n_tokens
    assert lengths is not None
    assert lengths.mean() == pytest.approx(8000, rel=0.02)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"easy_rate": 1.0}, "easy_rate is 1.0: give a number between 0 and 1"),
        ({"hard_rate": 0.0}, "hard_rate is 0.0: give a number between 0 and 1"),
        ({"hard_share": 1.5}, "hard_share is 1.5: give a number from 0 to 1"),
        ({"unanswered": 1.0}, "unanswered is 1.0: give a number from 0 and below 1"),
        ({"concentration": 0.0}, "concentration is 0.0: give a number above 0"),
        ({"spread_right": float("inf")}, "spread_right is inf: give a number above 0"),
        ({"separation": float("nan")}, "separation is nan: give a number that is finite"),
        ({"popularity": -1.0}, "popularity is -1.0: give a number from 0 up"),
        ({"n_wrong": 0}, "n_wrong is 0: give a number from 1 up"),
        ({"hard_share": 0.1, "confidently_wrong": 0.2}, "only hard questions can be confidently wrong"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Simulation(**settings)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_there_is_at_least_one_question_and_one_trajectory(shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="is 0: give a number from 1 up"):
        draw(Simulation(), *shape, np.random.default_rng(0))
