"""A mixture of many Gaussians against scikit-learn's from the same start, and the index against its own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from distrivote.evaluation.mixtures import adjusted_rand, crossed, fit_mixture
from strategies import LAW


def theirs(values: np.ndarray, n_components: int) -> GaussianMixture:
    """Return scikit-learn's fit of standardised values from groups of equal size."""
    z = (values - values.mean()) / values.std()
    groups = np.array_split(np.sort(z), n_components)
    fitted = GaussianMixture(
        n_components,
        weights_init=[len(group) / len(z) for group in groups],
        means_init=[[group.mean()] for group in groups],
        precisions_init=[[[1 / (group.var() + 1e-6)]] for group in groups],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fitted.fit(z[:, None])


@pytest.mark.parametrize("n_components", [1, 2, 3, 8, 30])
def test_the_fit_is_scikit_learns_from_the_same_start(n_components: int) -> None:
    rng = np.random.default_rng(n_components)
    for _ in range(10):
        centres = rng.normal(12, 2, n_components)
        values = rng.permutation(rng.normal(centres, rng.uniform(0.1, 1.5), (40, n_components)).ravel())
        ours, reference = fit_mixture(values, n_components), theirs(values, n_components)
        np.testing.assert_allclose(ours.weights, reference.weights_, atol=1e-6)
        means = (ours.means - values.mean()) / values.std()
        np.testing.assert_allclose(means, reference.means_[:, 0], atol=1e-6)
        z = (values - values.mean()) / values.std()
        assert (ours.labels == reference.predict(z[:, None])).mean() > 0.99


def test_groups_that_lie_apart_are_found() -> None:
    values = np.array([9.0, 1.0, 5.0, 9.1, 1.1, 5.1])
    found = fit_mixture(values, 3)
    assert found.labels.tolist() == [2, 0, 1, 2, 0, 1]
    assert found.means == pytest.approx([1.05, 5.05, 9.05], abs=1e-6)
    assert found.weights == pytest.approx([1 / 3] * 3)
    # A variance of 0.05 ** 2, and 1e-6 of that of all values.
    assert found.sds == pytest.approx(np.sqrt(0.05**2 + 1e-6 * values.var()) * np.ones(3), rel=1e-6)


def test_equal_values_have_one_gaussian() -> None:
    found = fit_mixture(np.full(5, 3.0), 4)
    assert (found.means.tolist(), found.labels.tolist()) == ([3.0], [0] * 5)


def test_pairs_of_groups_are_counted() -> None:
    assert crossed(np.array([0, 0, 1, 1, 1]), np.array([2, 0, 2, 2, 1])).tolist() == [[1, 0, 1], [0, 1, 2]]


@LAW
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_the_index_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(each) for each in zip(*pairs, strict=True))
    assert adjusted_rand(first, second) == pytest.approx(adjusted_rand_score(first, second), abs=1e-12)
