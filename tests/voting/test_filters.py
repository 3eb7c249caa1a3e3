"""The splits, seen through the filters that stand on them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import distrivote
import naive
from strategies import FEW, LAW, Pool, answered_pools, humped, pools, wide_pools

SPLITS = {
    "wsc-top50": naive.top,
    "wsc-top:0.1": naive.VARIANTS["wsc-top:0.1"].split,
    "wsc-top:0.75": naive.VARIANTS["wsc-top:0.75"].split,
    "wsc-gmm": naive.gmm,
    "wsc-kmeans": naive.kmeans,
    "wsc-meanshift": naive.meanshift,
    "wsc": naive.no_split,
}


def same_split(pool: Pool, method: str, twin) -> None:
    """Check who is positive, and the cut that is shown."""
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    answers, confidences = naive.answered(pool.answers, pool.confidences)
    positive = twin(confidences)
    assert tally.n_kept == sum(positive)
    kept = naive.select(answers, positive)
    assert {a: n for a, n in tally.kept_votes.items() if n} == {a: kept.count(a) for a in set(kept)}
    if tally.split is None:
        assert all(positive)
        return
    assert tally.split.n_positive == sum(positive)
    assert tally.split.n_negative == len(positive) - sum(positive)
    if all(positive):
        assert math.isnan(tally.split.cut)
    else:
        below = max(c for c, p in zip(confidences, positive, strict=True) if not p)
        above = min(c for c, p in zip(confidences, positive, strict=True) if p)
        assert tally.split.cut == pytest.approx(below / 2 + above / 2, rel=1e-12)


# Worked out by hand


def test_top_half_of_an_odd_pool_includes_the_median():
    tally = distrivote.vote(list("abcde"), [1, 2, 3, 4, 5], method="wsc-top50")
    assert tally.kept_votes == {"a": 0, "b": 0, "c": 1, "d": 1, "e": 1}
    assert tally.split.cut == 2.5


def test_top_half_of_an_even_pool_starts_above_the_midpoint():
    # The 50th percentile of 1, 2, 4, 8 is 3.
    tally = distrivote.vote(list("abcd"), [8, 1, 4, 2], method="wsc-top50")
    assert tally.n_kept == 2
    assert tally.scores == {"a": 8, "c": 4, "b": 0, "d": 0}


def test_top_fraction_interpolates_between_values():
    # The 90th percentile of 1 to 20 is at index 17.1, 18.1: only 19 and 20 are above it.
    tally = distrivote.vote(list("abcdefghijklmnopqrst"), range(1, 21), method="wsc-top:0.1")
    assert tally.n_kept == 2


def test_everything_that_equals_the_quantile_is_kept():
    # The median of 1, 5, 5, 5, 9 is 5.
    tally = distrivote.vote(list("abcde"), [1, 5, 5, 5, 9], method="wsc-top50")
    assert tally.n_kept == 4


def test_the_top_share_keeps_what_lies_exactly_on_the_quantile():
    # The 30th percentile of 31 values is the 10th of them, though 1 - 0.7 is more than 0.3 in floats.
    for method in ("wsc-top70", "wsc-top:0.7"):
        assert distrivote.vote(["a"] * 31, range(1, 32), method=method).n_kept == 22


@pytest.mark.parametrize("percent", range(1, 101))
def test_the_top_share_is_numpys_percentile_of_the_rest(percent):
    for n in (7, 31, 64, 101):
        confidences = np.arange(1.0, n + 1)
        kept = distrivote.vote(["a"] * n, confidences, method=f"wsc-top{percent}").n_kept
        assert kept == (confidences >= np.percentile(confidences, 100 - percent)).sum(), n


def test_two_means_cut_minimises_the_squares():
    # {1, 2} {8, 9, 10} leaves 0.5 + 2 = 2.5; every other cut leaves more than 30.
    tally = distrivote.vote(list("abcde"), [9, 1, 8, 2, 10], method="wsc-kmeans")
    assert tally.scores == {"e": 10, "a": 9, "c": 8, "b": 0, "d": 0}
    assert tally.split.cut == 5


def test_two_means_takes_the_lower_cut_on_a_tie():
    # {1} {2, 3} and {1, 2} {3} both leave 0.5.
    tally = distrivote.vote(list("abc"), [1, 2, 3], method="wsc-kmeans")
    assert tally.n_kept == 2


def test_gaussians_of_two_far_groups_are_those_of_the_groups():
    # Means 2 and 12; the variances are 2/3 + 1e-6 sd^2 each, where sd^2 = 25 + 2/3.
    tally = distrivote.vote(list("aaabbb"), [1, 2, 3, 11, 12, 13], method="wsc-gmm")
    assert tally.split.means == pytest.approx((2, 12), abs=1e-6)
    assert tally.split.weights == pytest.approx((0.5, 0.5), abs=1e-6)
    sd = math.sqrt(2 / 3 + 1e-6 * (25 + 2 / 3))
    assert tally.split.sds == pytest.approx((sd, sd), rel=1e-5)
    assert tally.split.cut == 7


def test_two_different_values_are_one_negative_and_one_positive():
    for method in ("wsc-gmm", "wsc-kmeans", "wsc-top50"):
        tally = distrivote.vote(["a", "b"], [3, 1], method=method)
        assert (tally.split.n_negative, tally.split.n_positive) == (1, 1), method
        assert tally.scores == {"a": 3, "b": 0}, method


@pytest.mark.parametrize("method", ["wsc-gmm", "wsc-kmeans", "wsc-top50", "wsc-meanshift"])
def test_equal_confidences_and_single_trajectories_are_not_split(method):
    for answers in (["a"], ["a", "b"], ["a", "b", "a", "c"]):
        tally = distrivote.vote(answers, [0.1] * len(answers), method=method)
        assert tally.n_kept == len(answers)
        assert tally.answer == "a"


def test_surest_trajectory_is_positive_even_where_the_negative_gaussian_is_likelier():
    # The positive Gaussian sits on the five 14s with hardly a width, the negative one is wide and
    # takes 4, 10, 10 and 17. But 17 is above the positive mean.
    confidences = [17, 4, 10, 14, 14, 14, 10, 14, 14]
    tally = distrivote.vote(list("zabcdefgh"), confidences, method="wsc-gmm")
    assert tally.split.means[1] == pytest.approx(14, abs=1e-3)
    assert tally.split.means[0] == pytest.approx((4 + 10 + 10 + 17) / 4, abs=0.01)
    assert tally.split.cut == 12
    assert tally.answer == "z"


# Against the twin


@pytest.mark.parametrize("method", SPLITS)
@LAW
@given(pool=answered_pools)
def test_split_equals_its_slow_twin(method, pool):
    same_split(pool, method, SPLITS[method])


@pytest.mark.parametrize("method", SPLITS)
@FEW
@given(pool=wide_pools)
def test_split_equals_its_slow_twin_over_six_hundred_orders_of_magnitude(method, pool):
    same_split(pool, method, SPLITS[method])


@pytest.mark.parametrize("method", SPLITS)
def test_split_equals_its_slow_twin_on_realistic_pools(method):
    rng = np.random.default_rng(7)
    for n in [16, 32, 64, 128, 128, 256] * 3:
        same_split(humped(rng, n), method, SPLITS[method])


@pytest.mark.parametrize("method", [method for method in SPLITS if method != "wsc-meanshift"])
def test_split_equals_its_slow_twin_on_ten_thousand_values(method):
    same_split(humped(np.random.default_rng(8), 10_000), method, SPLITS[method])


@pytest.mark.parametrize("fraction", [0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0])
def test_top_filter_equals_numpys_percentile_for_any_fraction(fraction):
    rng = np.random.default_rng(9)
    for n in [*range(1, 30), 64, 101, 128]:
        confidences = [float(c) for c in rng.permutation(n) + 1]
        tally = distrivote.vote(["a"] * n, confidences, method=f"wsc-top:{fraction}")
        assert tally.n_kept == sum(naive.top(confidences, fraction)), n


@pytest.mark.parametrize("method", ["wsc-top50", "wsc-top:0.01", "wsc-gmm", "wsc-kmeans", "wsc-meanshift"])
@LAW
@given(pool=answered_pools)
def test_filter_keeps_something_when_anything_was_answered(method, pool):
    assert distrivote.vote(pool.answers, pool.confidences, method=method).n_kept >= 1


@pytest.mark.parametrize("method", ["wsc-top50", "wsc-gmm", "wsc-kmeans", "wsc-meanshift"])
@LAW
@given(pool=pools)
def test_every_kept_trajectory_is_surer_than_every_other(method, pool):
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    answers, confidences = naive.answered(pool.answers, pool.confidences)
    if tally.split is not None and tally.split.n_negative:
        kept = [a for a, c in zip(answers, confidences, strict=True) if c > tally.split.cut]
        assert tally.kept_votes == {a: kept.count(a) for a in answers}
        assert len(kept) == tally.split.n_positive
