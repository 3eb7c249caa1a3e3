"""Pools: which of their classes are right."""

from __future__ import annotations

import numpy as np

from distrivote.evaluation.pools import Pool


def right_classes(classes: list[int], correct: list[bool]) -> list[bool]:
    pool = Pool("q", np.array(classes, dtype=np.int64), np.array(correct), np.ones(len(classes)))
    return pool.right_classes.tolist()  # type: ignore[no-any-return]


def test_a_class_is_right_if_most_of_its_trajectories_say_so() -> None:
    assert right_classes([0, 0, 0, 1, 1, 1], [True, False, True, False, True, False]) == [True, False]


def test_a_class_whose_trajectories_are_of_two_minds_is_wrong() -> None:
    assert right_classes([0, 1, 0], [True, True, False]) == [False, True]


def test_a_class_that_nobody_gave_is_wrong() -> None:
    assert right_classes([2, -1, 0], [True, False, False]) == [False, False, True]
    assert right_classes([-1], [False]) == []
