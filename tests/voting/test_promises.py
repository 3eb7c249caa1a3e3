"""Promises about errors: the exact bound, the order of tests, and the promise itself by simulation."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import InputError, Poll, Trajectory
from distrivote.defaults import PROMISE_CHANCE
from distrivote.voting.abstaining import asked_probability
from distrivote.voting.probability import Calibration
from distrivote.voting.promises import (
    THRESHOLDS,
    Promise,
    Risk,
    binomial_tail,
    check_max_error,
    promise_of,
)
from strategies import LAW


@LAW
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 99))
def test_the_tail_is_the_sum_of_the_binomial(k: int, n: int, percent: int) -> None:
    p = Fraction(percent, 100)
    exact = sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(min(k, n) + 1))
    assert binomial_tail(k, n, percent / 100) == pytest.approx(float(exact), rel=1e-9)


def counts(*risks: tuple[int, int]) -> Promise:
    """Return a promise with these (n_given, n_wrong) at equally many thresholds."""
    steps = [1 - i / 10 for i in range(1, len(risks) + 1)]
    return Promise(
        "auto", 8, 8, 500, tuple(Risk(least, *risk) for least, risk in zip(steps, risks, strict=True))
    )


def test_a_level_that_was_not_lost_goes_to_the_next_threshold() -> None:
    # 0.95 ** 60 = 0.046 is at most 0.1 / 2, and so is what comes with both halves of the level.
    assert counts((60, 0), (46, 0)).least_probability(0.05) == pytest.approx(0.8)
    # Alone the second has 0.05, and 0.95 ** 46 = 0.094 is more.
    with pytest.raises(InputError, match=r"can't prove that at most 0\.05"):
        counts((10, 0), (46, 0)).least_probability(0.05)


def test_a_threshold_after_a_failed_one_is_tested_with_its_own_level() -> None:
    assert counts((3, 0), (100, 0), (200, 90)).least_probability(0.1) == pytest.approx(0.8)


def test_counts_are_of_given_answers() -> None:
    answered = np.array([True, True, True, False])
    probability, right = np.array([0.97, 0.75, 0.2, 0.99]), np.array([True, False, True, False])
    found = promise_of("sc", [4, 8, 6, 5], answered, probability, right)
    by_threshold = {risk.least: (risk.n_given, risk.n_wrong) for risk in found.risks}
    assert tuple(by_threshold) == THRESHOLDS
    assert (by_threshold[0.95], by_threshold[0.7], by_threshold[0.0]) == ((1, 0), (2, 1), (3, 1))
    assert (found.fewest, found.most, found.n_questions) == (4, 8, 4)


def test_the_promise_is_kept() -> None:
    """In each of 2,000 worlds with 300 labelled questions the risk of what is chosen is known.

    Scores are uniform, and errors are such that the threshold 0.5 has a risk just above the limit: taking it
    or a lower one is a failure. With the promised 10% more than 250 failures have a chance of 0.0002 (3.7
    standard deviations of 13.4). Some have to fail, or the test would say nothing.
    """
    rng = np.random.default_rng(1)
    limit, n_failed, n_chosen = 0.1, 0, 0

    def risk_of(score: np.ndarray) -> np.ndarray:
        return np.where(score >= 0.7, 0.03, np.where(score >= 0.5, 0.21, 0.6))

    # The mean of 0.03 on (0.7, 1) and 0.21 on (0.5, 0.7) is 0.102; from 0.6 on it is 0.075.
    for _ in range(2000):
        score = rng.random(300)
        right = rng.random(300) >= risk_of(score)
        found = promise_of("auto", [8], np.ones(300, dtype=bool), score, right)
        try:
            least = found.least_probability(limit)
        except InputError:
            continue
        n_chosen += 1
        n_failed += least <= 0.5
    assert n_chosen > 200
    assert 0 < n_failed <= 250


def test_no_threshold_is_good_and_one_is_seldom_taken() -> None:
    """The error is 11% whatever the score, and the limit 10%: every choice is a failure.

    With the promised 10% more than 130 failures of 1,000 have a chance of 0.001 (3.2 standard deviations).
    """
    rng = np.random.default_rng(2)
    n_failed = 0
    for _ in range(1000):
        score, right = rng.random(400), rng.random(400) >= 0.11
        found = promise_of("auto", [8], np.ones(400, dtype=bool), score, right)
        try:
            found.least_probability(0.1)
        except InputError:
            continue
        n_failed += 1
    assert n_failed <= 130
    assert PROMISE_CHANCE == 0.1


def test_a_promise_is_about_one_method() -> None:
    calibration = Calibration(promise=counts((300, 0)))
    assert asked_probability(0.0, 0.1, calibration, "auto") == pytest.approx(0.9)
    assert asked_probability(0.95, 0.1, calibration, "auto") == 0.95
    assert asked_probability(0.2, None, None, "auto") == 0.2
    with pytest.raises(InputError, match="is about auto, and the method is sc"):
        asked_probability(0.0, 0.1, calibration, "sc")
    with pytest.raises(InputError, match="needs labelled questions"):
        asked_probability(0.0, 0.1, Calibration(), "auto")


@pytest.mark.parametrize("wrong", [0.0, 1.0, -1.0, float("nan")])
def test_a_largest_error_is_a_share(wrong: float) -> None:
    with pytest.raises(InputError, match="give a share between 0 and 1"):
        check_max_error(wrong)


def test_a_poll_withholds_by_the_promise() -> None:
    calibration = Calibration(promise=counts((300, 0)))
    poll = Poll("2 + 2?", budget=2, steering=None, calibration=calibration, max_error=0.1)
    poll.add(Trajectory("\\boxed{4}"))
    solution = poll.finish()
    assert solution.min_probability == pytest.approx(0.9)
    assert solution.withheld is not None
    with pytest.raises(InputError, match="a rule ends them early"):
        Poll("2 + 2?", calibration=calibration, max_error=0.1, stop_when="gain")
