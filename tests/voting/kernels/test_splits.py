"""The common form of a split: where it is cut, and what stands where it is not."""

from __future__ import annotations

import math

import numpy as np

from distrivote.voting.kernels.splits import copy_of, copy_rows, cut_at, no_splits, put_rows, splittable

RANKED = np.array([[1.0, 2.0, 3.0], [4.0, 4.0, 5.0], [6.0, 6.0, math.inf], [7.0, math.inf, math.inf]])
SIZES = np.array([3, 3, 2, 1])


def test_rows_with_two_different_values_can_be_split():
    assert splittable(RANKED, SIZES).tolist() == [0, 1]
    assert splittable(RANKED[:, :1], np.ones(4, dtype=np.int64)).size == 0


def test_a_cut_lies_between_the_negatives_and_the_positives_and_none_of_no_negatives():
    splits = no_splits(RANKED)
    cut_at(splits, np.array([0, 2, 1]), RANKED[[0, 2, 1]], np.array([1, 0, 2]))
    assert splits.lowest_positive.tolist() == [2, 5, 6, 7]
    np.testing.assert_array_equal(splits.highest_negative, [1, 4, math.nan, math.nan])
    assert np.isnan(splits.weights).all()
    assert np.isnan(splits.means).all()
    assert np.isnan(splits.sds).all()
    assert splits.n_rounds.tolist() == [0] * 4


def test_rows_are_copied_and_put_where_they_are_wanted():
    one, other = no_splits(RANKED), no_splits(RANKED + 10)
    target = copy_of(one)
    copy_rows(other, target, np.array([True, False, True, False]))
    assert target.lowest_positive.tolist() == [11, 4, 16, 7]
    put_rows(no_splits(RANKED[:2] + 20), target, np.array([3, 0]))
    assert target.lowest_positive.tolist() == [24, 4, 16, 21]
    assert one.lowest_positive.tolist() == [1, 4, 6, 7]
