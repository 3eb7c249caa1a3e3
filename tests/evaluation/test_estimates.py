"""Means, intervals and paired comparisons, against SciPy and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import bootstrap

from distrivote.evaluation.estimates import (
    MIN_QUESTIONS,
    N_RESAMPLES,
    Sample,
    compare,
    compare_by_pool,
    estimate,
    resamples,
    whole_pool_sample,
)


def sample(values: list[float], benchmark: str = "b", names: list[str] | None = None) -> Sample:
    names = names or [f"q{i}" for i in range(len(values))]
    return whole_pool_sample(benchmark, tuple(names), np.array(values, dtype=np.float64))


def repeated(values: np.ndarray, benchmark: str = "b") -> Sample:
    names = tuple(f"q{i}" for i in range(len(values)))
    n_repeats = values.shape[1]
    return Sample(
        benchmark, names, values.mean(axis=1), values.sum(axis=0), np.full(n_repeats, float(len(values)))
    )


def test_the_spread_is_that_of_the_accuracies_of_the_repeats() -> None:
    values = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    found = estimate([repeated(values)], seed=0)
    assert found.mean == pytest.approx(8 / 12)
    assert found.sd == pytest.approx(np.std([0.75, 0.5, 0.75], ddof=1))


def test_benchmarks_weigh_as_much_as_they_have_questions() -> None:
    found = estimate([sample([1.0] * 30, "small"), sample([0.0] * 198, "large")], seed=0)
    assert found.mean == pytest.approx(30 / 228)
    # Both are the same in every resample, and questions are drawn within their benchmark.
    assert found.low == pytest.approx(30 / 228)
    assert found.high == pytest.approx(30 / 228)


def test_the_interval_is_scipys_percentile_bootstrap() -> None:
    values = np.random.default_rng(5).beta(2, 1, 60)
    found = estimate([sample(values.tolist())], seed=1)
    theirs = bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(2)
    ).confidence_interval
    # The ends have standard errors of about 0.002 for 2,000 resamples.
    assert found.low == pytest.approx(theirs.low, abs=0.012)
    assert found.high == pytest.approx(theirs.high, abs=0.012)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    values = sample(np.random.default_rng(0).random(40).tolist())
    assert estimate([values], seed=3) == estimate([values], seed=3)
    assert estimate([values], seed=3).low != estimate([values], seed=4).low


def test_questions_without_a_value_are_skipped_and_counted() -> None:
    found = estimate([sample([0.5, np.nan, 1.0])], seed=0)
    assert (found.mean, found.n_questions, found.n_skipped) == (0.75, 2, 1)
    nothing = estimate([sample([np.nan])], seed=0)
    assert (nothing.mean, nothing.n_questions, nothing.n_skipped) == (None, 0, 1)


def test_a_single_question_has_no_interval() -> None:
    found = estimate([sample([0.25])], seed=0)
    assert (found.mean, found.sd, found.low, found.high) == (0.25, None, None, None)


def test_a_difference_that_all_questions_share_is_real() -> None:
    base = np.random.default_rng(0).random(30)
    found = compare([sample((base + 0.1).tolist())], [sample(base.tolist())], seed=0)
    assert found is not None
    assert found.real
    assert found.difference == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1)


def test_pairing_finds_what_two_intervals_would_miss() -> None:
    rng = np.random.default_rng(1)
    base = rng.integers(0, 2, 100).astype(float)
    better = base.copy()
    better[np.flatnonzero(base == 0)[:8]] = 1.0
    one, other = sample(better.tolist()), sample(base.tolist())
    found = compare([one], [other], seed=0)
    assert found is not None
    assert found.real
    low, high = estimate([one], seed=0).low, estimate([other], seed=0).high
    assert low is not None
    assert high is not None
    assert low < high


def test_noise_is_not_called_real() -> None:
    # 40 comparisons of equal methods: about 2 pass by chance, more than 8 once in 3,000 runs.
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 1, (40, 50))
    found = [compare([sample(n.tolist())], [sample([0.0] * 50)], seed=0) for n in noise]
    assert sum(one is not None and one.real for one in found) <= 8


@pytest.mark.parametrize("n", [1, 2, MIN_QUESTIONS - 1])
def test_few_questions_never_make_a_difference_real(n: int) -> None:
    found = compare([sample([1.0] * n)], [sample([0.0] * n)], seed=0)
    assert found is not None
    assert not found.real


def test_questions_are_paired_by_name_and_those_of_one_side_are_left_out() -> None:
    ours = sample([1.0, 0.0, 1.0], names=["a", "b", "c"])
    theirs = sample([0.0, 0.5], names=["b", "c"])
    found = compare([ours], [theirs], seed=0)
    assert found is not None
    assert (found.difference, found.n_questions) == (0.25, 2)
    assert compare([ours], [sample([1.0], names=["z"])], seed=0) is None
    assert compare([ours], [sample([1.0], "another")], seed=0) is None


# Means over pools


def slow_interval_by_pool(pairs: list[tuple[Sample, Sample]], seed: int) -> tuple[float, float]:
    """Resample one question after the other, by name, the same ones in all pools of a benchmark."""
    means = []
    for which in range(N_RESAMPLES):
        pools = []
        for ours, theirs in pairs:
            drawn = resamples(seed, ours.benchmark, len(ours.names))[which]
            gaps = []
            for times, name in zip(drawn, sorted(ours.names), strict=True):
                at = ours.names.index(name)
                gap = float(ours.questions[at] - theirs.questions[at])
                gaps += [gap] * int(times) if not math.isnan(gap) else []
            pools.append(math.fsum(gaps) / max(len(gaps), 1))
        means.append(math.fsum(pools) / len(pools))
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def test_every_pool_has_the_same_weight() -> None:
    large, small = sample([1.0] * 90), sample([0.0] * 10, "other")
    zeros = [replace(each, questions=np.zeros(len(each.names))) for each in (large, small)]
    found = compare_by_pool([(large, zeros[0]), (small, zeros[1])], seed=0)
    assert found is not None
    assert found.difference == found.low == found.high == 0.5
    assert found.n_questions == 100


def test_the_interval_over_pools_is_that_of_its_slow_twin() -> None:
    rng = np.random.default_rng(3)
    names = [f"q{i}" for i in rng.permutation(12)]
    pairs = [
        (sample(rng.random(12).tolist(), bench, names), sample(rng.random(12).tolist(), bench, names))
        for bench in ("a", "a", "b")
    ]
    pairs[1][0].questions[3] = np.nan
    found = compare_by_pool(pairs, seed=5)
    assert found is not None
    assert (found.low, found.high) == pytest.approx(slow_interval_by_pool(pairs, 5))


def test_pools_share_the_questions_of_their_benchmark() -> None:
    rng = np.random.default_rng(4)
    ours, theirs = sample(rng.random(20).tolist()), sample(rng.random(20).tolist())
    one, many = (compare_by_pool([(ours, theirs)] * n, seed=0) for n in (1, 9))
    assert one is not None
    assert many is not None
    assert many.n_questions == one.n_questions == 20
    assert (many.low, many.high) == pytest.approx((one.low, one.high))


def test_pools_without_a_value_do_not_count() -> None:
    nothing = sample([np.nan, np.nan])
    assert compare_by_pool([(nothing, nothing)], seed=0) is None
    found = compare_by_pool([(nothing, nothing), (sample([1.0]), sample([0.5]))], seed=0)
    assert found == (0.5, None, None, 1, False)
