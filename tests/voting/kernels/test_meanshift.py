"""The mean-shift split: numbers by hand, its slow twin, and scikit-learn as referee."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sklearn.cluster._mean_shift as theirs
from hypothesis import given
from sklearn.cluster import MeanShift, estimate_bandwidth

import distrivote
import naive
from distrivote.voting.kernels import meanshift
from strategies import LAW, Pool, answered_pools, decimal_pools, humped, packed, tied_pools, wide_pools

N_SHAPES = 7


def shaped(rng: np.random.Generator, shape: int, n: int) -> np.ndarray:
    """Return n sorted confidences of one of N_SHAPES shapes, three of them full of equal values."""
    match shape:
        case 0:
            values = np.abs(rng.normal(12, 2, n)) + 0.1
        case 1:
            values = np.where(rng.random(n) < 0.5, rng.normal(10, 1, n), rng.normal(15, 0.7, n))
        case 2:
            values = rng.lognormal(1, 0.8, n)
        case 3:
            values = rng.integers(1, 12, n).astype(float)
        case 4:
            values = rng.integers(2, 40, n) / 2
        case 5:
            values = rng.choice([4.0, 4.25, 9.5, 11.0], n)
        case _:
            values = 12 + np.round(rng.normal(0, 2, n), 3)
    return np.sort(np.abs(values) + 0.25)


def split(confidences):
    confidences = [float(c) for c in confidences]
    return distrivote.vote(["a"] * len(confidences), confidences, method="wsc-meanshift").split


def centres_of(values: np.ndarray) -> tuple[float, list[float]]:
    """Return the bandwidth and the centres of one row."""
    sizes = np.array([len(values)])
    radii = meanshift.bandwidths(values[None], sizes)
    return float(radii[0]), meanshift.cluster_centres(values[None], sizes, radii)[0].tolist()


# Worked out by hand


def test_the_bandwidth_is_the_mean_distance_to_the_third_of_ten():
    # Of 1 to 10 the outermost two need 2 to reach their third nearest, all others 1: (2 + 8 + 2) / 10.
    assert meanshift.bandwidths(np.arange(1.0, 11.0)[None], np.array([10])).tolist() == [1.2]


def test_two_far_groups_are_parted():
    low, high = [1.0, 1.1, 1.2, 1.3, 1.4], [9.0, 9.1, 9.2, 9.3, 9.4]
    result = split(low + high)
    assert (result.n_negative, result.n_positive) == (5, 5)
    assert result.cut == pytest.approx((1.4 + 9.0) / 2)


def test_clusters_above_the_midpoint_of_the_outermost_centres_are_positive():
    # Centres near 1.2, 4.2 and 9.2: the midpoint is 5.2, so the middle group is negative.
    groups = [c + d for c in (1.0, 4.0, 9.0) for d in (0.0, 0.1, 0.2, 0.3, 0.4)]
    assert split(groups).n_positive == 5
    # With the middle group near 7.2 it is positive.
    groups = [c + d for c in (1.0, 7.0, 9.0) for d in (0.0, 0.1, 0.2, 0.3, 0.4)]
    assert split(groups).n_positive == 10


def test_centres_come_by_the_number_of_their_values_and_of_equal_ones_the_larger_first():
    values = np.array([[1.0] * 2 + [5.0] * 3 + [8.0] * 3])
    found = meanshift.cluster_centres(values, np.array([8]), np.array([0.5]))
    assert found.tolist() == [[8.0, 5.0, 1.0]]


def test_a_window_holds_what_lies_at_exactly_one_bandwidth():
    # Windows of radius 1 around 1 (x3) and 2 (x1) hold both: 1.25. Around 3 (x2): 2 and 3, mean 8/3, which
    # then holds 2 and 3 only. 1.25 has four values, 8/3 three; they are more than 1 apart.
    values, sizes = np.array([1.0, 1.0, 1.0, 2.0, 3.0, 3.0]), np.array([6])
    assert meanshift.cluster_centres(values[None], sizes, np.array([1.0])).tolist() == [[1.25, 8 / 3]]
    # At a radius of 7, windows around 1 and 8 hold both; below that each stays alone, 7 apart.
    values, sizes = np.array([1.0, 8.0]), np.array([2])
    assert meanshift.cluster_centres(values[None], sizes, np.array([7.0])).tolist() == [[4.5]]
    assert meanshift.cluster_centres(values[None], sizes, np.array([6.75])).tolist() == [[8.0, 1.0]]


def test_a_centre_takes_away_another_at_exactly_one_bandwidth(monkeypatch):
    # Without a move, 1 and 3 keep windows of one value each, with means 1 and 3, and the larger comes first.
    monkeypatch.setattr(meanshift, "_windows", lambda *_: (np.arange(2), np.arange(1, 3)))
    values, sizes = np.array([[1.0, 3.0]]), np.array([2])
    assert meanshift.cluster_centres(values, sizes, np.array([2.0])).tolist() == [[3.0]]
    assert meanshift.cluster_centres(values, sizes, np.array([1.75])).tolist() == [[3.0, 1.0]]


def test_a_value_between_two_centres_belongs_to_the_one_chosen_first():
    ranked, sizes = np.array([[1.0, 3.0, 5.0]]), np.array([3])
    assert meanshift._n_negative(ranked, sizes, np.array([[1.0, 5.0]])).tolist() == [2]
    assert meanshift._n_negative(ranked, sizes, np.array([[5.0, 1.0]])).tolist() == [1]


def test_windows_stop_after_three_hundred_moves(monkeypatch):
    # One move brings 1 and 2 to the mean of what is within 1.5 of them, and there they are taken as they are.
    values, sizes = np.array([1.0, 2.0, 3.0, 4.0]), np.array([4])
    monkeypatch.setattr(meanshift, "MAX_MOVES", 0)
    assert meanshift.cluster_centres(values[None], sizes, np.array([1.25])).tolist() == [[3.0, 1.5]]


@pytest.mark.parametrize(
    "confidences",
    [
        [5.0],
        [5.0, 5.0, 5.0],
        [3.0, 7.0],  # one neighbour each, itself: a bandwidth of 0
        [1.0] * 10 + [9.0] * 10,  # all neighbours at distance 0
    ],
)
def test_nothing_is_split_without_a_bandwidth(confidences):
    assert split(confidences).n_negative == 0


# Against the twin


def same_as_twin(confidences: list[float]) -> None:
    ranked = np.array(sorted(confidences))
    radius = naive.bandwidth(confidences)
    if ranked[0] < ranked[-1]:
        assert meanshift.bandwidths(ranked[None], np.array([len(ranked)])).tolist() == [radius]
    positive = naive.meanshift(confidences)
    fitted = meanshift.mean_shift_splits(ranked[None], np.array([len(ranked)]))
    assert fitted.lowest_positive[0] == min(c for c, p in zip(confidences, positive, strict=True) if p)
    if radius > 0 and ranked[0] < ranked[-1]:
        found = centres_of(ranked)[1]
        assert found == pytest.approx(naive.shifted_centres(confidences, radius), rel=1e-12)


@LAW
@given(pool=answered_pools)
def test_clusters_equal_those_of_the_slow_twin(pool: Pool):
    same_as_twin(naive.answered(*pool)[1])


@LAW
@given(pool=wide_pools)
def test_clusters_equal_those_of_the_slow_twin_over_six_hundred_orders_of_magnitude(pool: Pool):
    same_as_twin(naive.answered(*pool)[1])


@pytest.mark.parametrize("shape", range(N_SHAPES))
def test_clusters_equal_those_of_the_slow_twin_on_pools_of_many_shapes(shape):
    rng = np.random.default_rng(29)
    for n in (*range(2, 20), 40, 64, 128):
        same_as_twin(shaped(rng, shape, n).tolist())


def test_the_mean_of_a_stretch_is_that_of_its_exact_sum():
    # Tenths do not add up exactly: plain running sums would be wrong in the last digit here and there.
    values = np.sort(np.random.default_rng(35).integers(1, 400, 300) / 10)
    sums = meanshift._Sums(values[None], np.array([300]))
    first, end = (each.ravel() for each in np.meshgrid(np.arange(0, 300, 7), np.arange(1, 301, 7)))
    first, end = first[first < end], end[first < end]
    found = sums.means(np.zeros(len(first), dtype=int), first, end)
    exact = [math.fsum(values[a:b]) / (b - a) for a, b in zip(first, end, strict=True)]
    assert found.tolist() == exact
    running = np.concatenate([[0.0], values.cumsum()])
    assert ((running[end] - running[first]) / (end - first) != exact).any()


def test_a_thousand_values_are_added_up_five_hundred_at_a_time():
    values = shaped(np.random.default_rng(30), 6, 1100)
    assert meanshift.bandwidths(values[None], np.array([1100])).tolist() == [naive.bandwidth(values.tolist())]


def test_the_split_of_a_row_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(31)
    rows = [shaped(rng, i % N_SHAPES, int(rng.integers(1, 60))) for i in range(140)]
    ranked, sizes = packed(rows)
    together = meanshift.mean_shift_splits(ranked, sizes)
    for index, row in enumerate(rows):
        alone = meanshift.mean_shift_splits(row[None], sizes[index : index + 1])
        assert together.lowest_positive[index] == alone.lowest_positive[0]
        np.testing.assert_array_equal(together.highest_negative[index], alone.highest_negative[0])


# Against scikit-learn


class QuickNeighbours:
    """What scikit-learn's mean-shift asks of its search for neighbours, without 0.3 ms of checks a call."""

    def __init__(self, n_neighbors: int = 5, *, radius: float = 1.0, n_jobs: int | None = None) -> None:
        del n_jobs
        self.n_neighbors, self.radius = n_neighbors, radius

    def get_params(self) -> dict[str, float]:
        return {"radius": self.radius}

    def fit(self, points: np.ndarray) -> QuickNeighbours:
        self.points = points[:, 0]
        return self

    def radius_neighbors(self, points, radius=None, *, return_distance):
        assert not return_distance
        radius = self.radius if radius is None else radius
        return [np.flatnonzero(np.abs(self.points - points[0][0]) <= radius)]

    def kneighbors(self, points, return_distance=True):
        assert return_distance
        distances = np.abs(points - self.points)
        order = np.argsort(distances, axis=1, kind="stable")[:, : self.n_neighbors]
        return np.take_along_axis(distances, order, axis=1), order


def referee(values: np.ndarray) -> tuple[float, list[float], int]:
    """Return scikit-learn's bandwidth and centres, and how many values the split calls negative."""
    points = values[:, None]
    radius = float(estimate_bandwidth(points))
    if radius == 0:
        return 0.0, [], 0
    fitted = MeanShift(bandwidth=radius).fit(points)
    centres = fitted.cluster_centers_[:, 0]
    positive = centres[fitted.labels_] > (centres.min() + centres.max()) / 2
    return radius, centres.tolist(), int(positive.argmax()) if positive.any() else 0


def same_as_scikit_learn(values: np.ndarray) -> None:
    radius, centres, n_negative = referee(values)
    fitted = meanshift.mean_shift_splits(values[None], np.array([len(values)]))
    assert fitted.lowest_positive[0] == values[n_negative]
    if radius > 0:
        ours = centres_of(values)
        assert ours[0] == pytest.approx(radius, rel=1e-15)
        assert ours[1] == pytest.approx(centres, rel=1e-12)


@pytest.mark.slow
def test_clusters_are_scikit_learns_on_two_thousand_pools(monkeypatch):
    # Its own code, moving and choosing; only the search for neighbours is ours here, else this takes minutes.
    monkeypatch.setattr(theirs, "NearestNeighbors", QuickNeighbours)
    rng = np.random.default_rng(32)
    sizes = np.where(rng.random(2000) < 0.97, rng.integers(2, 33, 2000), rng.integers(33, 129, 2000))
    rows = [shaped(rng, index % N_SHAPES, n) for index, n in enumerate(sizes.tolist())]
    fitted = meanshift.mean_shift_splits(*packed(rows))
    judged = [referee(row) for row in rows]
    assert fitted.lowest_positive.tolist() == [
        row[n_negative] for row, (_, _, n_negative) in zip(rows, judged, strict=True)
    ]
    some = [index for index, (radius, _, _) in enumerate(judged) if radius > 0]
    assert len(some) > 1600
    ranked, sizes = packed([rows[index] for index in some])
    radii = meanshift.bandwidths(ranked, sizes)
    np.testing.assert_allclose(radii, [judged[index][0] for index in some], rtol=1e-15)
    for found, index in zip(meanshift.cluster_centres(ranked, sizes, radii), some, strict=True):
        np.testing.assert_allclose(found[~np.isnan(found)], judged[index][1], rtol=1e-12)


def test_clusters_are_scikit_learns_with_its_own_search():
    rng = np.random.default_rng(33)
    for index in range(2 * N_SHAPES):
        same_as_scikit_learn(shaped(rng, index % N_SHAPES, int(rng.integers(2, 40))))


@pytest.mark.parametrize("pools", [tied_pools, decimal_pools], ids=["whole", "decimal"])
def test_clusters_are_scikit_learns_on_ties(monkeypatch, pools):
    monkeypatch.setattr(theirs, "NearestNeighbors", QuickNeighbours)

    @LAW
    @given(pool=pools)
    def law(pool: Pool) -> None:
        same_as_scikit_learn(np.array(sorted(naive.answered(*pool)[1])))

    law()


def test_clusters_are_scikit_learns_on_realistic_pools(monkeypatch):
    monkeypatch.setattr(theirs, "NearestNeighbors", QuickNeighbours)
    rng = np.random.default_rng(34)
    for n in (16, 64, 128, 256):
        same_as_scikit_learn(np.sort(humped(rng, n, share_unanswered=0).confidences))
