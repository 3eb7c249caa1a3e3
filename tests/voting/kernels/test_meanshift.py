"""The mean-shift split: scikit-learn's clusters, parted between the outermost centres."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import distrivote
import naive
from distrivote.errors import MissingPackageError
from strategies import humped


def split(confidences):
    confidences = [float(c) for c in confidences]
    return distrivote.vote(["a"] * len(confidences), confidences, method="wsc-meanshift").split


def test_two_far_groups_are_parted():
    # 10 values: the bandwidth is the mean distance to the 3rd nearest (itself included), about 0.2.
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


def test_split_equals_its_slow_twin():
    rng = np.random.default_rng(29)
    for n in [4, 5, 8, 12]:
        for rounded in (False, True):
            confidences = humped(rng, n, share_unanswered=0).confidences
            if rounded:
                confidences = [round(c * 2) / 2 for c in confidences]
            positive = naive.meanshift(confidences)
            assert split(confidences).n_positive == sum(positive), confidences


def test_without_scikit_learn_the_package_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(MissingPackageError, match="meanshift"):
        distrivote.vote(list("ab"), [1.0, 2.0], method="wsc-meanshift")
