"""What the confidences of a pool say for each answer: against plain loops, and by its laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import naive
from distrivote.voting.kernels.evidence import evidence_of
from distrivote.voting.kernels.pools import make_pools
from strategies import LABELS, LAW, Pool, plain_pools, tied_pools


def evidence(pool: Pool):
    classes = [-1 if answer is None else LABELS.index(answer) for answer in pool.answers]
    pools = make_pools(np.array([classes]), np.array([pool.confidences]), len(LABELS))
    return [values[0] for values in evidence_of(pools)]


def slow(pool: Pool) -> dict[str, tuple[int, float, float]]:
    """Return counts, gaps and precisions by label."""
    answers, confidences = naive.answered(pool.answers, pool.confidences)
    found = naive.evidence(answers, confidences)
    return {label: (answers.count(label), *found.get(label, (0.0, 0.0))) for label in LABELS}


@pytest.mark.parametrize("pools", [plain_pools, tied_pools], ids=["plain", "tied"])
def test_evidence_is_that_of_plain_loops(pools):
    @LAW
    @given(pools)
    def check(pool):
        counts, gaps, precisions = evidence(pool)
        for index, label in enumerate(LABELS):
            expected = slow(pool)[label]
            found = (counts[index], gaps[index], precisions[index])
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)

    check()


def test_gap_of_two_answers_by_hand():
    # Logarithms 2, 2 and 0, 0: no variance within, 1 in all, so sd = sqrt(4 * 1 / (2 + 4)).
    pool = Pool(["a", "a", "b", "b"], [math.e**2, math.e**2, 1.0, 1.0])
    counts, gaps, precisions = evidence(pool)
    assert counts[:2].tolist() == [2, 2]
    assert gaps[:2] == pytest.approx([2 / math.sqrt(4 / 6), -2 / math.sqrt(4 / 6)])
    assert precisions[:2] == pytest.approx([1 / (2 * (0.36 + 0.5))] * 2)


@LAW
@given(plain_pools)
def test_scale_and_power_of_the_confidences_do_not_matter(pool):
    other = Pool(pool.answers, [3.0 * math.sqrt(value) for value in pool.confidences])
    for one, two in zip(evidence(pool), evidence(other), strict=True):
        assert one == pytest.approx(two, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("confidence", [1e-300, 1.0, 1e300])
def test_equal_confidences_say_nothing(confidence):
    _, gaps, precisions = evidence(Pool(["a", "b", "b"], [confidence] * 3))
    assert not gaps.any()
    assert not precisions.any()
