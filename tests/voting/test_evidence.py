"""What the confidences of a pool say for each answer: against plain loops, by hand, and by its laws."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given

import naive
from distrivote.voting.kernels.evidence import evidence_of, rank_scores
from distrivote.voting.kernels.pools import make_pools
from strategies import LABELS, LAW, Pool, plain_pools, tied_pools, wide_pools


def pools_of(pool: Pool):
    classes = [-1 if answer is None else LABELS.index(answer) for answer in pool.answers]
    return make_pools(np.array([classes]), np.array([pool.confidences]), len(LABELS))


@pytest.mark.parametrize("pools", [plain_pools, tied_pools, wide_pools], ids=["plain", "tied", "wide"])
def test_evidence_is_that_of_plain_loops(pools):
    @LAW
    @given(pools)
    def check(pool):
        counts, gaps, within, votes = evidence_of(pools_of(pool))
        answers, confidences = naive.answered(pool.answers, pool.confidences)
        slow, scores = naive.evidence(answers, confidences), naive.rank_scores(confidences)
        for index, label in enumerate(LABELS):
            assert counts[0, index] == votes[0, index] == answers.count(label)
            assert gaps[0, index] == pytest.approx(slow.get(label, 0.0), abs=1e-9)
        squares = 0.0
        for label in set(answers):
            own = [score for score, answer in zip(scores, answers, strict=True) if answer == label]
            squares += math.fsum((score - math.fsum(own) / len(own)) ** 2 for score in own)
        assert within[0] == pytest.approx(squares, abs=1e-9)

    check()


def test_scores_and_gaps_of_four_by_hand():
    # Ranks 1 to 4 of 4 are at 1/8, 3/8, 5/8 and 7/8; None takes no place.
    outer, inner = NormalDist().inv_cdf(7 / 8), NormalDist().inv_cdf(5 / 8)
    pool = Pool(["a", "b", None, "a", "b"], [9.0, 1.0, 5.0, 3.0, 2.0])
    assert rank_scores(pools_of(pool))[0].tolist() == pytest.approx([outer, -outer, 0.0, inner, -inner])
    _, gaps, within, _ = evidence_of(pools_of(pool))
    assert gaps[0].tolist() == pytest.approx([outer + inner, -outer - inner, 0, 0, 0])
    assert within[0] == pytest.approx((outer - inner) ** 2)


def test_equal_confidences_share_the_mean_of_their_scores():
    outer, inner = NormalDist().inv_cdf(7 / 8), NormalDist().inv_cdf(5 / 8)
    scores = rank_scores(pools_of(Pool(["a", "a", "b", "b"], [5.0, 7.0, 7.0, 7.0])))
    assert scores[0].tolist() == pytest.approx([-outer, outer / 3, outer / 3, outer / 3])
    two = rank_scores(pools_of(Pool(["a", "a", "b", "b"], [5.0, 5.0, 7.0, 8.0])))
    assert two[0].tolist() == pytest.approx([-(outer + inner) / 2] * 2 + [inner, outer])


@LAW
@given(plain_pools)
def test_scale_and_power_of_the_confidences_do_not_matter(pool):
    other = Pool(pool.answers, [3.0 * value**0.5 for value in pool.confidences])
    # The square root may round two neighbours to one value: only pools that keep their order are compared.
    if len(set(other.confidences)) == len(set(pool.confidences)):
        for one, two in zip(evidence_of(pools_of(pool)), evidence_of(pools_of(other)), strict=True):
            assert one.tolist() == two.tolist()


@pytest.mark.parametrize("confidence", [1e-300, 1.0, 1e300])
def test_equal_confidences_say_nothing(confidence):
    _, gaps, within, _ = evidence_of(pools_of(Pool(["a", "b", "b"], [confidence] * 3)))
    assert not gaps.any()
    assert not within.any()


def test_pools_of_different_sizes_do_not_meet():
    classes = np.array([[0, 1, 1, -1], [0, 0, 1, 2], [-1, -1, -1, -1]])
    confidences = np.array([[3.0, 1.0, 2.0, 9.0], [4.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
    together = evidence_of(make_pools(classes, confidences, 3))
    for row in range(3):
        alone = evidence_of(make_pools(classes[row : row + 1], confidences[row : row + 1], 3))
        for one, two in zip(together, alone, strict=True):
            assert one[row].tolist() == two[0].tolist()
