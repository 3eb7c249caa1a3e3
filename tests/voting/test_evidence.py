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
        counts, gaps, within, votes, leads = evidence_of(pools_of(pool))
        answers, confidences = naive.answered(pool.answers, pool.confidences)
        slow, scores = naive.evidence(answers, confidences), naive.rank_scores(confidences)
        led = naive.leads(answers, confidences)
        for index, label in enumerate(LABELS):
            assert counts[0, index] == votes[0, index] == answers.count(label)
            assert gaps[0, index] == pytest.approx(slow.get(label, 0.0), abs=1e-9)
            assert leads[0, index] == pytest.approx(led.get(label, 0.0), abs=1e-9)
        squares = 0.0
        for label in set(answers):
            own = [score for score, answer in zip(scores, answers, strict=True) if answer == label]
            squares += math.fsum((score - math.fsum(own) / len(own)) ** 2 for score in own)
        assert within[0] == pytest.approx(squares, abs=1e-9)

    check()


def test_scores_and_gaps_of_four_by_hand():
    # Ranks 1 to 4 of 4 are at 1/8, 3/8, 5/8 and 7/8; None takes no place.
    outer, inner = NormalDist().inv_cdf(7 / 8), NormalDist().inv_cdf(5 / 8)
    assert scores_of(1.0, 2.0, 3.0, 9.0) == pytest.approx([-outer, -inner, inner, outer])
    found = evidence_of(pools_of(Pool(["a", "b", None, "a", "b"], [9.0, 1.0, 5.0, 3.0, 2.0])))
    assert found.gaps[0].tolist() == pytest.approx([outer + inner, -outer - inner, 0, 0, 0])
    assert found.within[0] == pytest.approx((outer - inner) ** 2)


def scores_of(*ranked: float) -> list[float]:
    return rank_scores(np.array([ranked]), np.array([len(ranked)]))[0].tolist()


def test_leads_of_four_by_hand():
    # b leads a by ratios of 1.35 and 2.22, and by 1 and exp(0.55): none, all, none and half.
    near, far = math.exp(0.3), math.exp(0.8)
    pool = Pool(["b", "b", "a", "a"], [1.0 * near, near * math.exp(0.25), near, near / far])
    by_pair = [0.0, 1.0, 0.0, 1.0]
    found = evidence_of(pools_of(pool)).leads[0]
    assert found.tolist() == pytest.approx([-sum(by_pair) / 4, sum(by_pair) / 4, 0, 0, 0])
    half = evidence_of(pools_of(Pool(["b", "a"], [math.exp(0.55), 1.0]))).leads[0]
    assert half.tolist() == pytest.approx([-0.5, 0.5, 0, 0, 0])


def test_no_lead_counts_for_more_than_one():
    found = evidence_of(pools_of(Pool(["b", "a"], [1e300, 1e-300]))).leads[0]
    assert found.tolist() == [-1, 1, 0, 0, 0]


@pytest.mark.parametrize("lowest", [-1.0, 0.0])
def test_confidences_that_are_not_positive_have_no_leads(lowest):
    found = evidence_of(pools_of(Pool(["a", "b", "b"], [lowest, 1.0, 9.0])))
    assert found.gaps.any()
    assert not found.leads.any()


def test_sizes_that_do_not_compare_have_no_leads():
    pools = pools_of(Pool(["a", "b", "b"], [1.0, 5.0, 9.0]))
    assert evidence_of(pools).leads.any()
    assert not evidence_of(pools, sized=False).leads.any()


@LAW
@given(plain_pools)
def test_the_unit_of_the_confidences_does_not_matter_for_leads(pool):
    other = Pool(pool.answers, [3.0 * value for value in pool.confidences])
    one, two = (evidence_of(pools_of(each)).leads for each in (pool, other))
    assert one == pytest.approx(two, abs=1e-9)


def test_ties_are_shared_in_every_pool_of_a_batch():
    ranked = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 4.0], [1.0, 2.0, 4.0, 4.0]])
    together = rank_scores(ranked, np.full(3, 4))
    assert together.tolist() == [pytest.approx(scores_of(*row)) for row in ranked]
    assert together[2, 2] == together[2, 3]


def test_equal_confidences_share_the_mean_of_their_scores():
    outer, inner = NormalDist().inv_cdf(7 / 8), NormalDist().inv_cdf(5 / 8)
    assert scores_of(5.0, 7.0, 7.0, 7.0) == pytest.approx([-outer, outer / 3, outer / 3, outer / 3])
    assert scores_of(5.0, 5.0, 7.0, 8.0) == pytest.approx([-(outer + inner) / 2] * 2 + [inner, outer])


@LAW
@given(plain_pools)
def test_scale_and_power_of_the_confidences_do_not_matter_for_gaps(pool):
    other = Pool(pool.answers, [3.0 * value**0.5 for value in pool.confidences])
    # The square root may round two neighbours to one value: only pools that keep their order are compared.
    if len(set(other.confidences)) == len(set(pool.confidences)):
        one, two = (evidence_of(pools_of(each)) for each in (pool, other))
        assert (one.gaps.tolist(), one.within.tolist()) == (two.gaps.tolist(), two.within.tolist())


@pytest.mark.parametrize("confidence", [1e-100, 1.0, 1e100])
def test_equal_confidences_say_nothing(confidence):
    found = evidence_of(pools_of(Pool(["a", "b", "b"], [confidence] * 3)))
    assert not found.gaps.any()
    assert not found.within.any()
    assert not found.leads.any()


def test_pools_of_different_sizes_do_not_meet():
    classes = np.array([[0, 1, 1, -1], [0, 0, 1, 2], [-1, -1, -1, -1]])
    confidences = np.array([[3.0, 1.0, 2.0, 9.0], [4.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
    together = evidence_of(make_pools(classes, confidences, 3))
    for row in range(3):
        alone = evidence_of(make_pools(classes[row : row + 1], confidences[row : row + 1], 3))
        for one, two in zip(together, alone, strict=True):
            assert one[row].tolist() == two[0].tolist()
