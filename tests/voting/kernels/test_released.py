"""The fit of the released script against scikit-learn's own, label by label."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import naive
from distrivote.voting.kernels import released
from strategies import packed

N_SHAPES = 9


def shaped(rng: np.random.Generator, shape: int, n: int) -> np.ndarray:
    """Return n confidences in random order, of one of N_SHAPES shapes, four of them full of equal values."""
    match shape:
        case 0:
            values = rng.normal(12, 2, n)
        case 1:
            values = np.where(rng.random(n) < 0.5, rng.normal(10, 1, n), rng.normal(15, 0.7, n))
        case 2:
            values = rng.integers(1, 12, n).astype(float)
        case 3:
            values = rng.integers(1, 4, n) / 2
        case 4:
            values = np.round(rng.normal(12, 2, n), 1)
        case 5:
            values = rng.lognormal(1, 0.8, n) * 1000
        case 6:
            # One narrow Gaussian inside of a wide one: the labels overlap.
            values = np.where(rng.random(n) < 0.5, rng.normal(12, 0.02, n), rng.normal(12, 2, n))
        case 7:
            values = np.full(n, 3.0)
        case _:
            values = rng.lognormal(1, 0.8, n)
    return np.abs(values) + 0.01


def filled(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, sizes = packed(rows, fill=0.0)
    return values, np.arange(values.shape[1]) < sizes[:, None], sizes


def made(seed: int, n_rows: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [shaped(rng, i % N_SHAPES, int(rng.integers(2, 129))) for i in range(n_rows)]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def test_the_start_is_that_of_scikit_learn():
    rows = made(1, 360)
    values, inside, sizes = filled(rows)
    labels = released.two_means_labels(values, inside, sizes)
    for index, row in enumerate(rows):
        theirs = KMeans(2, n_init=1, random_state=0).fit(row[:, None]).labels_
        assert labels[index, : len(row)].astype(int).tolist() == theirs.tolist(), index
        assert not labels[index, len(row) :].any()


@pytest.mark.slow
def test_the_fit_is_that_of_scikit_learn():
    rows = made(2, 720)
    values, inside, sizes = filled(rows)
    fitted = released._fit(values, inside, sizes)
    overlapping = 0
    for index, row in enumerate(rows):
        theirs = GaussianMixture(2, random_state=0).fit(row[:, None])
        labels = theirs.predict(row[:, None])
        assert fitted.labels[index, : len(row)].astype(int).tolist() == labels.tolist(), index
        assert fitted.n_rounds[index] == theirs.n_iter_, index
        if row.min() < row.max():
            np.testing.assert_allclose(fitted.means[:, index], theirs.means_[:, 0], rtol=1e-8)
            np.testing.assert_allclose(fitted.weights[:, index], theirs.weights_, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(fitted.variances[:, index], theirs.covariances_[:, 0, 0], rtol=1e-6)
        order = np.argsort(row, kind="stable")
        overlapping += np.count_nonzero(np.diff(labels[order])) > 1
    assert overlapping > 8  # or the odd cut of the script is hardly tried


@pytest.mark.parametrize("max_rounds", [1, 3])
def test_the_fit_ends_after_its_last_round(monkeypatch, max_rounds):
    monkeypatch.setattr(released, "MAX_ROUNDS", max_rounds)
    rows = made(3, 36)
    fitted = released._fit(*filled(rows))
    for index, row in enumerate(rows):
        theirs = GaussianMixture(2, random_state=0, max_iter=max_rounds).fit(row[:, None])
        assert fitted.n_rounds[index] == theirs.n_iter_
        if row.min() < row.max():
            np.testing.assert_allclose(fitted.means[:, index], theirs.means_[:, 0], rtol=1e-8)


@pytest.mark.parametrize("max_rounds", [1, 2])
def test_the_start_ends_after_its_last_round(monkeypatch, max_rounds):
    monkeypatch.setattr(released, "MAX_LLOYD_ROUNDS", max_rounds)
    rows = made(4, 36)
    labels = released.two_means_labels(*filled(rows))
    for index, row in enumerate(rows):
        theirs = KMeans(2, n_init=1, random_state=0, max_iter=max_rounds).fit(row[:, None]).labels_
        assert labels[index, : len(row)].astype(int).tolist() == theirs.tolist(), index


def test_the_cut_is_that_of_the_script():
    rows = [*made(5, 180), np.array([4.0]), np.array([2.0, 2.0])]
    values, _, sizes = filled(rows)
    splits = released.released_splits(values, sizes)
    for index, row in enumerate(rows):
        cut = naive.released_gmm(row.tolist())
        assert splits.lowest_positive[index] == min(c for c in row if c >= cut)
        below = [c for c in row if c <= cut]
        assert splits.highest_negative[index] == pytest.approx(max(below, default=np.nan), nan_ok=True)
        if len(row) > 1:
            assert splits.means[index, 0] <= splits.means[index, 1]
            assert splits.weights[index].sum() == pytest.approx(1)


def test_the_odd_cut_where_labels_overlap():
    # Label 1 has 1 and 9, label 0 has 4 and 6: the middle of 9 and 4, above all of label 0.
    values, labels = np.array([[1.0, 4.0, 6.0, 9.0]]), np.array([[True, False, False, True]])
    inside = np.ones((1, 4), dtype=bool)
    assert released._thresholds(values, inside, labels).tolist() == [6.5]
    # The labels exchanged: the middle of 6 and 1.
    assert released._thresholds(values, inside, ~labels).tolist() == [3.5]
    # Label 1 below label 0, and one label alone.
    assert released._thresholds(values, inside, np.array([[True, True, False, False]])).tolist() == [5.0]
    assert released._thresholds(values, inside, np.zeros((1, 4), dtype=bool)).tolist() == [1.0]


def test_a_fit_does_not_depend_on_its_neighbours():
    rows = made(6, 60)
    values, _, sizes = filled(rows)
    together = released.released_splits(values, sizes)
    for index, row in enumerate(rows):
        alone = released.released_splits(row[None], sizes[index : index + 1])
        assert together.lowest_positive[index] == alone.lowest_positive[0]
        assert together.highest_negative[index] == alone.highest_negative[0]
