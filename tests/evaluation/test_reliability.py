"""Reliability, Brier score, calibration error and risk against coverage, on claims known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from distrivote.evaluation.reliability import (
    area_under_risk,
    bins_of,
    brier_score,
    calibration_error,
    risk_coverage,
)


def test_claims_that_come_true_as_often_as_they_say_have_no_error() -> None:
    p = np.array([0.75] * 4 + [0.25] * 4)
    right = np.array([True, True, True, False, True, False, False, False])
    assert calibration_error(p, right) == 0.0
    assert brier_score(p, right) == pytest.approx(0.1875)


def test_certain_claims_belong_to_the_last_bin() -> None:
    (only,) = bins_of(np.array([1.0, 0.95]), np.array([True, False]))
    assert (only.low, only.high, only.n, only.came_true) == (0.9, 1.0, 2, 0.5)


def test_no_claims_have_no_numbers() -> None:
    nothing, nobody = np.empty(0), np.empty(0, dtype=bool)
    assert math.isnan(calibration_error(nothing, nobody))
    assert math.isnan(brier_score(nothing, nobody))
    assert risk_coverage(nothing, nobody) == []
    assert math.isnan(area_under_risk([]))


def test_equal_claims_are_answered_together() -> None:
    parts = risk_coverage(np.array([0.5, 0.5, 0.8]), np.array([True, False, True]))
    assert [(part.at_least, part.coverage) for part in parts] == [(0.8, 1 / 3), (0.5, 1.0)]
    assert [part.accuracy for part in parts] == [1.0, pytest.approx(2 / 3)]


def test_the_area_under_risk_rewards_the_better_order() -> None:
    right = np.array([True, True, False, False])
    good = area_under_risk(risk_coverage(np.array([0.9, 0.8, 0.2, 0.1]), right))
    bad = area_under_risk(risk_coverage(np.array([0.1, 0.2, 0.8, 0.9]), right))
    # Wrong shares at coverage 1/4 ... 1: 0, 0, 1/3, 1/2 and 1, 1, 2/3, 1/2.
    assert good == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)
    assert bad == pytest.approx((1 + 1 + 2 / 3 + 1 / 2) / 4)
