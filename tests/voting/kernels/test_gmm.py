"""The batched EM against scikit-learn from the same start, its slow twin, and numbers by hand."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import naive
from distrivote.voting.kernels import gmm
from strategies import LAW, Pool, answered_pools, packed, wide_pools

N_SHAPES = 11


def shaped(rng: np.random.Generator, shape: int, n: int) -> np.ndarray:
    """Return about n confidences of one of N_SHAPES shapes."""
    match shape:
        case 0:
            values = rng.normal(12, rng.uniform(0.1, 3), n)
        case 1:
            share = rng.uniform(0.05, 0.95)
            values = np.where(rng.random(n) < share, rng.normal(10, 1, n), rng.normal(15, 0.7, n))
        case 2:
            values = rng.lognormal(1, 0.8, n)
        case 3:
            values = rng.uniform(1, 2, n)
        case 4:
            values = rng.integers(1, 6, n).astype(float)
            values[0] = 7
        case 5:
            values = rng.standard_t(2, n) + 40
        case 6:
            values = np.concatenate([[30.0], rng.normal(12, 0.5, n - 1)])
        case 7:
            values = np.concatenate([rng.normal(9, 0.01, n // 2), rng.normal(9.3, 2, n - n // 2)])
        case 8:
            # Humps within humps, down to far below the variance that is added.
            widths = 10.0 ** -rng.integers(0, 6, 4)
            values = 5 + rng.normal(0, rng.choice(widths, n))
        case 9:
            # A handful of values, each many times, on a skewed scale.
            values = rng.choice(rng.lognormal(0, 2, 6), n)
            values[0] = 20
        case _:
            # Crowded against the top, with a long tail below: a narrow positive Gaussian.
            values = 10 - rng.uniform(0, 1, n) ** rng.uniform(3, 20)
    return np.sort(np.abs(values) + 0.01)


def scikit_learn_fit(z: np.ndarray, cut: int, max_iter: int = 100) -> GaussianMixture:
    weights, means, variances = naive.starting_point(list(z), cut)
    mixture = GaussianMixture(
        2,
        max_iter=max_iter,
        weights_init=weights,
        means_init=np.reshape(means, (2, 1)),
        precisions_init=1 / np.reshape(variances, (2, 1, 1)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(z[:, None])


@pytest.mark.slow
def test_fit_is_scikit_learns_on_a_thousand_pools_of_many_shapes():
    rng = np.random.default_rng(21)
    sizes = np.where(rng.random(1100) < 0.95, rng.integers(2, 65, 1100), rng.integers(65, 600, 1100))
    rows = [shaped(rng, i % N_SHAPES, int(n)) for i, n in enumerate(sizes)]
    fitted = gmm.fit(*packed(rows))
    n_long = 0
    for i, row in enumerate(rows):
        mean, sd = row.mean(), row.std()
        reference = scikit_learn_fit((row - mean) / sd, naive.two_means_cut(row.tolist()))
        order = np.argsort(reference.means_[:, 0], kind="stable")
        n_long += reference.n_iter_ > 20
        assert fitted.n_rounds[i] == reference.n_iter_, i
        np.testing.assert_allclose(fitted.weights[i], reference.weights_[order], atol=1e-6)
        means = (fitted.means[i] - mean) / sd
        np.testing.assert_allclose(means, reference.means_[order, 0], atol=1e-6)
        sds = fitted.sds[i] / sd
        np.testing.assert_allclose(sds, np.sqrt(reference.covariances_[order, 0, 0]), atol=1e-6)
    assert n_long > 20  # or the pools are too easy to tell the fits apart


@pytest.mark.parametrize("max_rounds", [1, 2, 5])
def test_a_fit_ends_after_the_last_round_as_scikit_learns(monkeypatch, max_rounds):
    monkeypatch.setattr(gmm, "MAX_ROUNDS", max_rounds)
    rows = [shaped(np.random.default_rng(22), shape, 40) for shape in range(N_SHAPES)]
    fitted = gmm.fit(*packed(rows))
    assert fitted.n_rounds.max() == max_rounds
    for i, row in enumerate(rows):
        cut = naive.two_means_cut(row.tolist())
        reference = scikit_learn_fit((row - row.mean()) / row.std(), cut, max_rounds)
        order = np.argsort(reference.means_[:, 0], kind="stable")
        assert fitted.n_rounds[i] == reference.n_iter_, i
        np.testing.assert_allclose(fitted.weights[i], reference.weights_[order], atol=1e-6)
        means = (fitted.means[i] - row.mean()) / row.std()
        np.testing.assert_allclose(means, reference.means_[order, 0], atol=1e-6)


def test_two_values_are_two_narrow_gaussians():
    # z = -1 and 1. Each component sits on its value with the variance 1e-6 that is added, so its sd
    # is 0.001 in z, where sd(C) = 2. The likelihood of round 2 is that of round 1: two rounds.
    fitted = gmm.fit(np.array([[3.0, 7.0]]), np.array([2]))
    np.testing.assert_allclose(fitted.weights, [[0.5, 0.5]], atol=1e-12)
    np.testing.assert_allclose(fitted.means, [[3, 7]], atol=1e-12)
    np.testing.assert_allclose(fitted.sds, [[0.002, 0.002]], rtol=1e-8)
    assert fitted.highest_negative.tolist() == [3]
    assert fitted.lowest_positive.tolist() == [7]
    assert fitted.n_rounds.tolist() == [2]


def test_rows_without_two_different_values_stay_whole():
    ranked = np.array([[5.0, np.inf, np.inf], [5.0, 5.0, 5.0], [5.0, 5.0, 6.0]])
    fitted = gmm.fit(ranked, np.array([1, 3, 3]))
    assert np.isnan(fitted.highest_negative).tolist() == [True, True, False]
    assert fitted.lowest_positive.tolist() == [5, 5, 6]
    assert np.isnan(fitted.weights[:2]).all()


def test_fit_of_a_row_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(23)
    rows = [shaped(rng, i % N_SHAPES, int(rng.integers(2, 100))) for i in range(100)]
    together = gmm.fit(*packed(rows))
    for i, row in enumerate(rows):
        alone = gmm.fit(*packed([row]))
        assert together.lowest_positive[i] == alone.lowest_positive[0]
        assert together.n_rounds[i] == alone.n_rounds[0]
        np.testing.assert_allclose(together.means[i], alone.means[0], rtol=1e-9)


def same_as_twin(confidences: list[float], rtol: float = 1e-6) -> None:
    ranked = sorted(confidences)
    fitted = gmm.fit(np.array([ranked]), np.array([len(ranked)]))
    if ranked[0] == ranked[-1]:
        assert math.isnan(fitted.highest_negative[0])
        return
    z, mean, sd = naive.standardise(ranked)
    twin = naive.fit_gmm(z, naive.two_means_cut(ranked))
    positive = naive.gmm(ranked)
    assert fitted.n_rounds[0] == twin.n_rounds
    np.testing.assert_allclose(fitted.weights[0], twin.weights, atol=rtol)
    np.testing.assert_allclose((fitted.means[0] - mean) / sd, twin.means, atol=rtol)
    np.testing.assert_allclose((fitted.sds[0] / sd) ** 2, twin.variances, atol=rtol)
    assert fitted.lowest_positive[0] == ranked[positive.index(True)]
    if not all(positive):
        assert fitted.highest_negative[0] == ranked[positive.index(True) - 1]


@LAW
@given(pool=answered_pools)
def test_fit_equals_its_slow_twin(pool: Pool):
    same_as_twin(naive.answered(*pool)[1])


@LAW
@given(pool=wide_pools)
def test_fit_equals_its_slow_twin_over_six_hundred_orders_of_magnitude(pool: Pool):
    same_as_twin(naive.answered(*pool)[1])


@pytest.mark.parametrize("shape", [1, 4])
def test_fit_equals_its_slow_twin_on_ten_thousand_values(shape):
    same_as_twin(shaped(np.random.default_rng(24), shape, 10_000).tolist())


def test_gaussians_that_pass_each_other_change_their_names():
    # The upper one grows wide around the narrow lower one, and its mean ends up below.
    same_as_twin([1, 3, 4, 5, 6, 6, 6, 7, 11])


def test_between_the_means_the_likelier_gaussian_decides_and_outside_the_nearer_mean():
    # Means -1 and 1; the positive one is 99 times as heavy and ten times as wide, so that it is likelier
    # everywhere, also at -2 and at -1, which stay negative.
    parameters = gmm._Parameters(
        *(np.array([[a], [b]]) for a, b in ((0.01, 0.99), (-1.0, 1.0), (1.0, 100.0)))
    )
    z = np.array([[-2.0, -1.0, -0.5, 1.0]])
    assert gmm._first_positive(z, parameters, np.ones((1, 4), dtype=bool)).tolist() == [2]
    # The other way round the negative one is likelier everywhere, and only 1 is at the positive mean.
    parameters = gmm._Parameters(
        *(np.array([[a], [b]]) for a, b in ((0.99, 0.01), (-1.0, 1.0), (100.0, 100.0)))
    )
    assert gmm._first_positive(z, parameters, np.ones((1, 4), dtype=bool)).tolist() == [3]
    # Beyond the size of a row everything counts as positive.
    assert gmm._first_positive(z, parameters, np.array([[True, True, False, False]])).tolist() == [2]


@pytest.mark.parametrize("exponent", [-330, -300, -1, 1, 300, 320])
def test_fit_scales_with_its_values(exponent):
    rng = np.random.default_rng(25)
    ranked, sizes = packed([shaped(rng, i % N_SHAPES, 40) for i in range(40)])
    fitted = gmm.fit(ranked, sizes)
    scaled = gmm.fit(np.ldexp(ranked, exponent), sizes)
    np.testing.assert_array_equal(scaled.n_rounds, fitted.n_rounds)
    np.testing.assert_array_equal(scaled.lowest_positive, np.ldexp(fitted.lowest_positive, exponent))
    np.testing.assert_allclose(scaled.means, np.ldexp(fitted.means, exponent), rtol=1e-9)
    np.testing.assert_allclose(scaled.sds, np.ldexp(fitted.sds, exponent), rtol=1e-9)


def test_likelihood_never_falls_from_start_to_end():
    # EM's law, by the twin's density; the 1e-6 on the variances may cost a little.
    rng = np.random.default_rng(26)
    for i in range(40):
        row = shaped(rng, i % N_SHAPES, 50)
        z, mean, sd = naive.standardise(row.tolist())
        fitted = gmm.fit(*packed([row]))
        start = naive.starting_point(z, naive.two_means_cut(row.tolist()))
        end = (
            fitted.weights[0],
            (fitted.means[0] - mean) / sd,
            (fitted.sds[0] / sd) ** 2,
        )
        assert mean_log_likelihood(z, *end) >= mean_log_likelihood(z, *start) - 1e-3


def mean_log_likelihood(z, weights, means, variances) -> float:
    logs = []
    for x in z:
        parts = [naive.log_density(x, weights[k], means[k], variances[k]) for k in (0, 1)]
        logs.append(float(np.logaddexp(*parts)))
    return math.fsum(logs) / len(logs)
