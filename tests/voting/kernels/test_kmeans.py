"""The exact two-means split against trying every cut."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
import naive
from distrivote.voting.kernels.kmeans import standardise
from strategies import LAW, humped


def n_negative(confidences) -> int:
    confidences = [float(c) for c in confidences]
    tally = distrivote.vote(["a"] * len(confidences), confidences, method="wsc-kmeans")
    return tally.split.n_negative


def squares(values) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum((v - mean) ** 2 for v in values)


def cut_by_definition(confidences) -> int:
    """Return the lowest cut with the least sum of squares within both sides."""
    values = sorted(Fraction(c) for c in confidences)
    cuts = [k for k in range(1, len(values)) if values[k - 1] < values[k]]
    return min(cuts, key=lambda k: (squares(values[:k]) + squares(values[k:]), k), default=0)


@pytest.mark.parametrize(
    ("confidences", "expected"),
    [
        ([1, 2, 8, 9, 10], 2),  # 0.5 + 2 within
        ([1, 2, 3], 1),  # both cuts leave 0.5: the lower one
        ([1, 3, 5, 7], 2),  # 2 + 2 against 0 + 8
        ([1, 2, 3, 4, 5], 2),  # 0.5 + 2, and 2 + 0.5 for a cut at 3: the lower one
        ([0.1, 0.2, 0.3], 1),  # the same tie, with values that floats do not hold exactly
        ([1, 1, 1, 9], 3),
        ([1, 9, 9, 9], 1),
        ([5, 5], 0),
        ([5], 0),
        ([3, 7], 1),
    ],
)
def test_cut_worked_out_by_hand(confidences, expected):
    assert n_negative(confidences) == expected


@pytest.mark.slow
def test_every_pool_of_up_to_six_small_numbers_is_cut_where_the_squares_are_least():
    for n in range(1, 7):
        for pool in itertools.combinations_with_replacement(range(1, 7), n):
            assert n_negative(pool) == cut_by_definition(pool), pool


@LAW
@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=30))
def test_cut_leaves_the_least_squares(confidences):
    assert n_negative(confidences) == confidences_below(naive.kmeans(confidences))


@LAW
@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=20))
def test_cut_has_the_least_squares_by_definition(confidences):
    assert n_negative(confidences) == cut_by_definition(confidences)


def confidences_below(positive: list[bool]) -> int:
    return len(positive) - sum(positive)


def test_equal_values_are_never_parted():
    rng = np.random.default_rng(27)
    for _ in range(100):
        confidences = np.sort(rng.integers(1, 4, 12)).astype(float)
        cut = n_negative(confidences)
        assert cut == 0 or confidences[cut - 1] < confidences[cut]


def test_ten_thousand_values_are_cut_like_by_the_twin():
    pool = humped(np.random.default_rng(28), 10_000, share_unanswered=0)
    assert n_negative(pool.confidences) == naive.two_means_cut(pool.confidences)


@pytest.mark.parametrize("scale", [1e-100, 1e-50, 1e50, 1e99])
def test_cut_survives_extreme_scales(scale):
    assert n_negative([1 * scale, 2 * scale, 8 * scale, 9 * scale]) == 2


@pytest.mark.parametrize("padding", [0, 2])
def test_values_a_few_roundings_apart_are_standardised_like_any_others(padding):
    # 0, 1 and 4 roundings above 1: a mean of 5/3 and a variance of (25 + 4 + 49) / 27 of them.
    eps = np.finfo(np.float64).eps
    row = [1.0, 1 + eps, 1 + 4 * eps] + [np.inf] * padding
    z, centres, scales = standardise(np.array([row]), np.array([3]))
    sd = math.sqrt(78 / 27)
    assert z[0] == pytest.approx([-5 / 3 / sd, -2 / 3 / sd, 7 / 3 / sd] + [0.0] * padding, rel=1e-9)
    assert centres == pytest.approx([1.0])
    assert scales == pytest.approx([sd * eps])
