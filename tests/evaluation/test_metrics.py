"""Measures against scikit-learn and slow, obvious twins."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from distrivote.errors import InputError
from distrivote.evaluation.metrics import (
    accuracy,
    auroc,
    density_difference,
    pass_at_k,
    predict_accuracy,
    weighted_accuracy,
)

# Few different values, so that ties are common.
TRAJECTORIES = st.lists(
    st.tuples(st.integers(1, 6).map(float), st.booleans(), st.booleans(), st.booleans()),
    min_size=1,
    max_size=14,
)


def columns(rows: list[tuple[float, bool, bool, bool]]) -> tuple[np.ndarray, ...]:
    confidence, correct, members, positive = zip(*rows, strict=True)
    return (
        np.array([confidence]),
        np.array([correct], dtype=bool),
        np.array([members], dtype=bool),
        np.array([positive], dtype=bool),
    )


@given(TRAJECTORIES)
def test_auroc_is_that_of_scikit_learn(rows: list[tuple[float, bool, bool, bool]]) -> None:
    confidence, correct, members, _ = columns(rows)
    ours = auroc(confidence, correct, members)[0]
    right = correct[members]
    if right.all() or not right.any():
        assert math.isnan(ours)
    else:
        assert ours == pytest.approx(roc_auc_score(right, confidence[members]), abs=1e-12)


@given(TRAJECTORIES)
def test_shares_are_what_counting_gives(rows: list[tuple[float, bool, bool, bool]]) -> None:
    confidence, correct, members, positive = columns(rows)
    inside = [row for row in rows if row[2]]

    def share(some: list[tuple[float, bool, bool, bool]]) -> float:
        return sum(row[1] for row in some) / len(some) if some else math.nan

    def same(ours: np.ndarray, theirs: float) -> bool:
        return bool(np.allclose(ours[0], theirs, equal_nan=True, rtol=1e-12))

    assert same(accuracy(correct, members), share(inside))
    total = sum(row[0] for row in inside)
    weighted = sum(row[0] for row in inside if row[1]) / total if inside else math.nan
    assert same(weighted_accuracy(confidence, correct, members), weighted)
    agree = sum(row[1] == row[3] for row in inside) / len(inside) if inside else math.nan
    assert same(predict_accuracy(positive, correct, members), agree)
    sides = [share([row for row in inside if row[3] is side]) for side in (True, False)]
    assert same(density_difference(positive, correct, members), sides[0] - sides[1])


def test_rows_do_not_mix() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.integers(1, 9, (50, 20)).astype(float)
    correct, members = rng.random((2, 50, 20)) < 0.6
    together = auroc(confidence, correct, members)
    apart = [auroc(confidence[i : i + 1], correct[i : i + 1], members[i : i + 1])[0] for i in range(50)]
    np.testing.assert_array_equal(together, apart)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_pass_at_k_is_the_share_of_all_subsets_with_a_right_one(n: int) -> None:
    for k, n_correct in itertools.product(range(1, n + 1), range(n + 1)):
        subsets = list(itertools.combinations(range(n), k))
        hits = sum(any(i < n_correct for i in subset) for subset in subsets) / len(subsets)
        assert pass_at_k(n, np.array([n_correct]), k)[0] == pytest.approx(hits, abs=1e-12)


def test_pass_at_k_of_a_large_pool_neither_overflows_nor_goes_wrong() -> None:
    exact = 1 - math.comb(4096 - 3, 256) / math.comb(4096, 256)
    assert pass_at_k(4096, np.array([3]), 256)[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("k", [0, 5])
def test_a_k_out_of_range_is_named(k: int) -> None:
    with pytest.raises(InputError, match=f"pass@{k} of 4"):
        pass_at_k(4, np.array([1]), k)
