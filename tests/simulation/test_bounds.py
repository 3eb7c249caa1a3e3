"""The theorems against numeric derivatives, quadrature and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from distrivote.errors import InputError
from distrivote.simulation.bounds import (
    VoteBound,
    expected_bound,
    tail_ratio,
    tail_ratio_derivative,
    theory,
    vote_accuracy,
)

SPREADS = st.floats(0.3, 3)
WEIGHTS = st.lists(st.floats(0, 4), min_size=1, max_size=8)


@given(st.floats(-4, 4), SPREADS, SPREADS)
def test_the_ratio_is_that_of_the_tails_above_the_midpoint(delta: float, right: float, wrong: float) -> None:
    middle = delta / 2
    expected = norm.sf(middle, delta, right) / norm.sf(middle, 0, wrong)
    assert tail_ratio(delta, right, wrong) == pytest.approx(expected, rel=1e-9)


@given(st.floats(-4, 4), SPREADS, SPREADS)
def test_the_ratio_rises_as_its_derivative_says(delta: float, right: float, wrong: float) -> None:
    h = 1e-5
    numeric = (tail_ratio(delta + h, right, wrong) - tail_ratio(delta - h, right, wrong)) / (2 * h)
    derivative = tail_ratio_derivative(delta, right, wrong)
    assert derivative > 0
    assert derivative == pytest.approx(numeric, rel=1e-4, abs=1e-9)


@given(st.floats(0, 5), SPREADS)
def test_for_equal_spreads_the_derivative_is_that_of_the_corollary(delta: float, spread: float) -> None:
    z = delta / (2 * spread)
    expected = norm.pdf(z) / (2 * spread * norm.sf(z) ** 2)
    assert tail_ratio_derivative(delta, spread, spread) == pytest.approx(expected, rel=1e-9)


def test_far_tails_do_not_divide_by_zero() -> None:
    assert tail_ratio(1e6) == tail_ratio_derivative(1e6) == math.inf
    assert tail_ratio(-1e6) == 0


@given(st.floats(-3, 6), WEIGHTS, WEIGHTS, SPREADS, SPREADS)
def test_the_bound_rises_as_its_derivative_says(
    delta: float, right: list[float], wrong: list[float], sd_right: float, sd_wrong: float
) -> None:
    bound = VoteBound.of([1.0, *right], wrong, 2.0, sd_right, sd_wrong)
    h = 1e-5
    assert bound.derivative(delta) >= 0
    assert bound.derivative(delta) == pytest.approx((bound(delta + h) - bound(delta - h)) / (2 * h), abs=1e-5)


def brute(delta: float, right: list[float], wrong: list[list[float]], rng: np.random.Generator) -> float:
    """Return the accuracy of the weighted vote over 40,000 draws of every confidence."""
    n = 40_000

    def scores(weights: list[float], mean: float) -> np.ndarray:
        return np.asarray(rng.normal(mean, 1.0, (n, len(weights))) @ np.array(weights))

    best = np.max([scores(weights, 15.0) for weights in wrong], axis=0)
    return float((scores(right, 15.0 + delta) > best).mean())


# Standard error at most 0.0025 in each: five of them.
@pytest.mark.parametrize("delta", [0.0, 0.4, 1.0])
def test_with_one_wrong_answer_the_bound_is_the_accuracy(delta: float) -> None:
    right, wrong = [1.0, 2.0, 0.5, 1.0], [1.5, 1.0, 2.1]
    accuracy = brute(delta, right, [wrong], np.random.default_rng(1))
    assert VoteBound.of(right, wrong)(delta) == pytest.approx(accuracy, abs=0.0125)


@pytest.mark.parametrize("delta", [0.0, 0.4, 1.0, 3.0])
def test_with_several_wrong_answers_the_accuracy_is_not_below_the_bound(delta: float) -> None:
    right, wrong = [1.0] * 5, [[1.0] * 4, [1.0] * 4, [2.0, 3.1]]
    accuracy = brute(delta, right, wrong, np.random.default_rng(2))
    assert accuracy >= VoteBound.of(right, [weight for answer in wrong for weight in answer])(delta) - 0.0125


def test_one_wrong_answer_alone_bounds_nothing() -> None:
    """Why S_g has to be the sum over all wrong trajectories."""
    right, wrong = [1.0] * 5, [[1.0] * 5] * 6
    accuracy = brute(0.0, right, wrong, np.random.default_rng(3))
    assert VoteBound.of(right, wrong[0])(0.0) > accuracy + 0.2
    assert VoteBound.of(right, [1.0] * 30)(0.0) <= accuracy


def test_the_expected_bound_is_the_mean_over_how_many_are_right() -> None:
    expected = sum(
        binom.pmf(n, 12, 0.4) * norm.cdf((0.7 * n + 15 * (2 * n - 12)) / math.sqrt(12)) for n in range(1, 13)
    )
    assert expected_bound(0.7, 12, 0.4) == pytest.approx(expected)
    assert expected_bound(0.7, 12, 0.0) == 0


@pytest.mark.parametrize("share", [0.0, 0.4, 0.6, 1.0])
def test_the_expected_bound_of_thousands_of_trajectories_is_that_of_scipy(share: float) -> None:
    n = np.arange(1, 2001)
    bounds = norm.cdf((1.0 * n + 15 * (2 * n - 2000)) / math.sqrt(2000))
    expected = float(np.sum(binom.pmf(n, 2000, share) * bounds))
    assert expected_bound(1.0, 2000, share) == pytest.approx(expected, rel=1e-9)


def test_without_a_wrong_trajectory_the_bound_is_1() -> None:
    assert VoteBound.of([2.0], [])(0.0) == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e308])
def test_the_bound_is_that_of_the_weights_whatever_their_unit(size: float) -> None:
    bound, usual = VoteBound.of([size], [size / 2, size]), VoteBound.of([1.0], [0.5, 1.0])
    assert bound(7.0) == pytest.approx(usual(7.0))
    assert bound.derivative(7.0) == pytest.approx(usual.derivative(7.0))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.6])
def test_the_simulated_accuracy_meets_the_bound_for_one_wrong_answer(share: float) -> None:
    accuracy = vote_accuracy(2.0, 32, share, 1, np.random.default_rng(4), n_draws=40_000)
    assert accuracy == pytest.approx(expected_bound(2.0, 32, share), abs=0.0125)


def test_the_result_lies_nowhere_below_the_bound() -> None:
    result = theory(np.random.default_rng(0), n_draws=2000)
    assert all(row["gap"] > -0.05 for row in result.tables[0].rows)  # standard error at most 0.011
    assert max(row["gap"] for row in result.tables[0].rows) > 0.5
    names = {column.name for column in result.tables[0].columns}
    assert all(names == set(row) for row in result.tables[0].rows)
    assert {row["series"] for row in result.charts[0].rows} == {
        "lower bound",
        "1 wrong answer",
        *(f"{n} wrong answers" for n in (2, 3, 8)),
    }
    assert any("does not prove" in note for note in result.notes)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="sd_right is 0"):
        tail_ratio(1.0, 0.0)
    with pytest.raises(InputError, match="a weight is negative"):
        VoteBound.of([1.0], [-1.0])
    with pytest.raises(InputError, match="no right trajectory"):
        VoteBound.of([0.0], [1.0])
