"""Whole methods against the slow twin, and the laws that hold for all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
import naive
from distrivote.voting.methods import METHODS
from strategies import (
    FEW,
    LAW,
    MANY,
    Pool,
    answered_pools,
    humped,
    humped_pools,
    pools,
    wide_pools,
)

EVERY = [*naive.METHODS, *naive.VARIANTS]
COMPOSED = [
    name for name in EVERY if naive.METHODS.get(name, naive.VARIANTS.get(name)).split is not naive.no_split
]
"""Methods with a filter; plain votes have their own tests."""

methods = st.sampled_from(EVERY)


def same_as_twin(pool: Pool, method: str) -> None:
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    twin = naive.vote(pool.answers, pool.confidences, method)
    assert tally.answer == twin.winner
    assert tally.rejected == twin.rejected
    assert tally.n_kept == twin.n_kept
    assert tally.scores == pytest.approx(twin.scores, rel=1e-9, abs=1e-12)


def winner(pool: Pool, method: str):
    return distrivote.vote(pool.answers, pool.confidences, method=method).answer


def test_twins_cover_every_method():
    assert set(METHODS) == set(naive.METHODS)


# Against the twin


@pytest.mark.parametrize("method", COMPOSED)
@LAW
@given(pool=pools)
def test_method_equals_its_slow_twin(method, pool):
    same_as_twin(pool, method)


@pytest.mark.parametrize("method", COMPOSED)
@FEW
@given(pool=wide_pools)
def test_method_equals_its_slow_twin_over_two_hundred_orders_of_magnitude(method, pool):
    same_as_twin(pool, method)


@pytest.mark.parametrize("method", EVERY)
def test_method_equals_its_slow_twin_on_realistic_pools(method):
    rng = np.random.default_rng(10)
    for n in [2, 3, 5, 16, 17, 64, 128, 128]:
        same_as_twin(humped(rng, n), method)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dis-top50", "dis-gmm", "dis-kmeans"])
def test_distrivoting_equals_its_slow_twin_on_ten_thousand_trajectories(method):
    same_as_twin(humped(np.random.default_rng(11), 10_000, n_answers=50), method)


# Laws


def leads_clearly(scores: dict) -> bool:
    first, second = [*sorted(scores.values(), reverse=True), 0.0, 0.0][:2]
    return first - second > 1e-9 * first


@MANY
@given(method=methods, pool=humped_pools, data=st.data())
def test_order_of_trajectories_does_not_matter_but_for_ties(method, pool, data):
    # No two confidences of these pools are equal, so only counts and ranks can tie: sc, borda, mob.
    order = data.draw(st.permutations(range(len(pool.answers))))
    shuffled = Pool([pool.answers[i] for i in order], [pool.confidences[i] for i in order])
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    other = distrivote.vote(shuffled.answers, shuffled.confidences, method=method)
    assert other.scores == pytest.approx(tally.scores, rel=1e-9)
    assert other.votes == tally.votes
    assert other.rejected == tally.rejected
    if leads_clearly(tally.scores):
        assert other.answer == tally.answer


@pytest.mark.slow
@MANY
@given(method=methods, pool=pools, exponent=st.integers(-300, 300))
def test_scaling_by_a_power_of_two_changes_no_winner(method, pool, exponent):
    scaled = Pool(pool.answers, [math.ldexp(c, exponent) for c in pool.confidences])
    assert winner(scaled, method) == winner(pool, method)


@MANY
@given(method=methods, pool=answered_pools)
def test_vote_returns_one_of_the_answers_whenever_anything_was_answered(method, pool):
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    assert tally.answer in set(pool.answers) - {None}
    assert set(tally.scores) == set(pool.answers) - {None}
    assert tally.kept_votes[tally.answer] >= 1
    assert next(iter(tally.scores)) == tally.answer


@MANY
@given(method=methods, pool=pools)
def test_tally_counts_every_trajectory_once(method, pool):
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    assert tally.n_cast + tally.n_unanswered == len(pool.answers)
    assert tally.votes == {a: pool.answers.count(a) for a in set(pool.answers) - {None}}
    assert all(tally.kept_votes[a] <= tally.votes[a] for a in tally.votes)
    assert tally.majority == naive.vote(pool.answers, None, "sc").winner


@MANY
@given(method=methods, pool=pools)
def test_dropping_unanswered_trajectories_changes_nothing(method, pool):
    answered = Pool(*naive.answered(pool.answers, pool.confidences))
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    other = distrivote.vote(answered.answers, answered.confidences, method=method)
    assert (other.answer, other.rejected) == (tally.answer, tally.rejected)
    assert other.scores == pytest.approx(tally.scores, rel=1e-12)


@pytest.mark.parametrize("method", EVERY)
def test_confidences_a_few_roundings_apart_are_still_split_and_voted_on(method):
    rng = np.random.default_rng(12)
    for _ in range(20):
        n = int(rng.integers(2, 20))
        steps = rng.integers(0, 8, n)
        same_as_twin(
            Pool(
                [str(a) for a in rng.integers(0, 3, n)],
                [float(1 + int(k) * np.finfo(float).eps) for k in steps],
            ),
            method,
        )


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize(
    "confidences",
    [
        [1e-100, 1e90, 9e99, 1e100],
        [1e-100, 2e-100, 1e-98, 1.1e-98],
        [9.7e99, 1e99, 9.75e99, 9.2e99],
        [1e-100, 1.0, 1e100, 2.0],
    ],
)
def test_smallest_and_largest_confidences_are_voted_on_like_any_others(method, confidences):
    tally = distrivote.vote(["b", "c", "a", "d"], confidences, method=method)
    twin = naive.vote(["b", "c", "a", "d"], confidences, method)
    assert (tally.answer, tally.rejected, tally.n_kept) == (twin.winner, twin.rejected, twin.n_kept)


def test_a_pool_without_confidences_changes_nothing_for_its_huge_neighbour():
    classes = [2, 1, 0, 2, 1, 0]
    confidences = [4.1e99, 9.5e99, 8.4e99, 1e100, 9.7e99, 9.5e99]
    alone = distrivote.vote_batch([classes], [confidences], ["auto"])
    beside = distrivote.vote_batch([classes, [0]], [confidences, [np.nan]], ["auto"])
    assert beside["auto"][0] == alone["auto"][0]
    huge, usual = (distrivote.vote(["a", "b", "b"], [c, None, c], "auto") for c in (1e100, 1.0))
    assert (huge.answer, huge.kept_votes) == (usual.answer, usual.kept_votes)
