"""The vote of the authors' released script, against a slow twin that fits with scikit-learn, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import distrivote
import naive
from distrivote.errors import InputError
from distrivote.voting.filters import GmmFilter, ReleasedGmmFilter
from distrivote.voting.methods import parse_method
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.votes import DriftingVote, HierarchicalVote, WeightedVote
from strategies import FEW, LAW, Pool, humped, pools


def same_as_twin(pool: Pool, method: str) -> None:
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    twin = naive.released_vote(pool.answers, pool.confidences, method)
    assert tally.answer == twin.winner
    assert tally.rejected == twin.rejected
    assert tally.n_kept == twin.n_kept
    assert tally.scores == pytest.approx(twin.scores, rel=1e-9, abs=1e-12)


# Worked out by hand


def test_intervals_drift_after_a_gap():
    # From 11 to 1 in steps of 1. 11 and 10 are in the first interval, [10, 11]. 5 is below it and opens the
    # second, which reaches down to 9 only; so 4.5 opens the third, 4.25 the fourth and 1 the fifth. By equal
    # intervals 5, 4.5 and 4.25 would share one.
    tally = distrivote.vote(["a", "a", "b", "c", "b", "d"], [11, 10, 5, 4.5, 4.25, 1], "hier:released")
    assert tally.scores == {"a": 10.5, "b": 5 + 4.25, "c": 4.5, "d": 1}


def test_an_interval_elects_its_most_frequent_answer_and_gives_it_the_mean_of_all_its_members():
    # In [10, 11]: b twice (10.25, 10.5) against a once (11); by sums b as well. It weighs their mean.
    tally = distrivote.vote(["a", "b", "b", "z"], [11, 10.25, 10.5, 1], "hier:released")
    assert tally.scores == {"b": pytest.approx((11 + 10.25 + 10.5) / 3), "z": 1, "a": 0}
    # a has one vote of 11 and b one of 10: equal counts go to the surer one.
    assert distrivote.vote(["b", "a", "z"], [10, 11, 1], "hier:released").scores["a"] == 10.5


def test_of_equal_confidences_the_later_trajectory_comes_first():
    tally = distrivote.vote(["b", "a", "z"], [11, 11, 1], "hier:released")
    assert tally.scores == {"a": 11, "z": 1, "b": 0}


def test_the_first_of_two_intervals_with_the_same_weight_is_the_higher_one():
    # -C: the negatives' intervals are counted from the least sure downwards. With one value each, 3 and 3
    # can't differ by interval, so take the votes of two answers whose sums are equal: a 9 + 1, b 6 + 4.
    tally = distrivote.vote(["b", "a", "b", "a"], [6, 9, 4, 1], "hier:released")
    assert tally.scores == {"a": 10, "b": 10}
    assert tally.answer == "a"


def test_what_lies_on_the_quantile_is_on_both_sides():
    # The median of 1, 2, 3 is 3's neighbour 2: above are b and c, below a and b. By sums the likely right
    # prefer c (3), the likely wrong by -C a (-1). a leaves; of 2 and 3 the median is 2.5: c.
    tally = distrivote.vote(["a", "b", "c"], [1, 2, 3], "wsc-top50-reject:released")
    assert (tally.first_split.n_positive, tally.first_split.n_negative) == (2, 2)
    assert (tally.rejected, tally.answer, tally.n_kept) == ("a", "c", 1)


def test_equal_confidences_are_on_both_sides_and_a_single_one_is_not_wrong():
    # By -C the likely wrong prefer the answer with fewer votes, and these are all votes.
    assert distrivote.vote(["a", "a", "b"], [5, 5, 5], "wsc-gmm-reject:released").rejected == "b"
    assert distrivote.vote(["a", "a", "b"], [5, 5, 5], "wsc-gmm-reject").rejected is None
    alone = distrivote.vote(["a"], [5], "dis-gmm:released")
    assert (alone.answer, alone.first_split.n_positive, alone.first_split.n_negative) == ("a", 1, 0)


def test_the_order_of_trajectories_matters_to_its_fit():
    # Its seed picks a trajectory by place for the start, so that a vote depends on who came when.
    rng = np.random.default_rng(2)
    kept = set()
    for _ in range(40):
        pool = humped(rng, 24, share_unanswered=0)
        order = rng.permutation(24)
        shuffled = Pool([pool.answers[i] for i in order], [pool.confidences[i] for i in order])
        counts = [distrivote.vote(*each, "wsc-gmm:released").n_kept for each in (pool, shuffled)]
        kept.add(counts[0] == counts[1])
    assert kept == {True, False}


# Against the twin


@pytest.mark.parametrize("method", naive.RELEASED)
@LAW
@given(pool=pools)
def test_released_vote_equals_its_slow_twin(method, pool):
    same_as_twin(pool, method)


@pytest.mark.parametrize("method", naive.RELEASED)
def test_released_vote_equals_its_slow_twin_on_realistic_pools(method):
    rng = np.random.default_rng(10)
    for n in [1, 2, 3, 5, 16, 17, 64, 128, 128, 300]:
        same_as_twin(humped(rng, n), method)


@pytest.mark.slow
@FEW
@given(pool=pools)
def test_a_batch_of_released_votes_equals_one_by_one(pool):
    rng = np.random.default_rng(11)
    batch = [pool, *(humped(rng, n) for n in (1, 7, 40))]
    classes = [[-1 if a is None else hash(a) % 1000 for a in each.answers] for each in batch]
    methods = list(naive.RELEASED)
    winners = distrivote.vote_batch(classes, [each.confidences for each in batch], methods)
    for method in methods:
        for index, each in enumerate(batch):
            one = distrivote.vote_batch([classes[index]], [each.confidences], [method])[method]
            assert winners[method][index] == one[0]


# Names


@pytest.mark.parametrize("name", naive.RELEASED)
def test_names_are_read_and_written_alike(name):
    assert parse_method(name).name == name
    assert parse_method(name).released


def test_released_parts_are_chosen_wherever_the_script_differs():
    assert parse_method("dis-gmm:released") == Pipeline(DriftingVote(), ReleasedGmmFilter(), reject=True)
    assert parse_method("wsc-gmm:released") == Pipeline(WeightedVote(), ReleasedGmmFilter())
    assert parse_method("dis-gmm:intervals=5,released").name == "dis-gmm:released,intervals=5"
    assert not parse_method("dis-gmm").released


@pytest.mark.parametrize("name", ["sc:released", "wsc:released", "borda:released,p=1", "mob:released"])
def test_what_the_script_does_not_do_otherwise_has_no_released_variant(name):
    with pytest.raises(InputError, match="has no part in which the released script differs"):
        parse_method(name)


@pytest.mark.parametrize("name", ["dis-kmeans:released", "wsc-meanshift:released"])
def test_the_script_has_no_other_splits(name):
    with pytest.raises(InputError, match="splits by gmm or top only"):
        parse_method(name)


def test_parts_of_the_script_and_others_are_not_mixed():
    for vote, filter in ((HierarchicalVote(), ReleasedGmmFilter()), (DriftingVote(), GmmFilter())):
        with pytest.raises(InputError, match="mixes parts"):
            Pipeline(vote, filter, reject=True)


def test_its_explanation_counts_the_intervals_that_there_were():
    tally = distrivote.vote(["a", "a", "b", "c", "b", "d"], [11, 10, 5, 4.5, 4.25, 1], "hier:released")
    assert tally.intervals_won == (1, 5)


def test_batches_and_pools_without_answers_have_no_winners():
    for classes, confidences, expected in (
        (np.empty((0, 5), dtype=int), np.empty((0, 5)), []),
        (np.empty((2, 0), dtype=int), np.empty((2, 0)), [-1, -1]),
        (np.array([[-1, -1], [3, -1]]), np.array([[np.nan, 2.0], [4.0, np.nan]]), [-1, 3]),
    ):
        for method, winners in distrivote.vote_batch(classes, confidences, list(naive.RELEASED)).items():
            assert winners.tolist() == expected, method
