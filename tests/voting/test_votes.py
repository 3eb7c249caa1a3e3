"""Every vote against numbers worked out by hand, and against its slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
import naive
from strategies import LAW, answered_pools, humped, pools, wide_pools

VOTES = ["sc", "wsc", "bon", "borda", "root", "mob", "mob-poly", "hier"]
VARIANTS = ["borda:p=1", "root:0.3", "mob:0.1", "mob:q=0.5", "hier:intervals=3"]


def same_as_twin(pool, method):
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    twin = naive.vote(pool.answers, pool.confidences, method)
    assert tally.answer == twin.winner
    assert tally.scores == pytest.approx(twin.scores, rel=1e-9, abs=1e-12)
    assert tally.n_kept == twin.n_kept


# Worked out by hand


def test_majority_counts_trajectories_and_gives_a_tie_to_the_answer_seen_first():
    tally = distrivote.vote(["c", "b", "a", "a", "b"], [9, 1, 1, 1, 1], method="sc")
    assert tally.answer == "b"
    assert tally.scores == {"c": 1, "b": 2, "a": 2}


def test_majority_needs_no_confidences():
    assert distrivote.vote(["a", "b", None, "b"], method="sc").answer == "b"


def test_weighted_vote_adds_up_confidences():
    # b: 2 + 2.5 = 4.5 beats a: 4
    tally = distrivote.vote(["a", "b", "b", "c"], [4, 2, 2.5, 1], method="wsc")
    assert tally.answer == "b"
    assert tally.scores == {"b": 4.5, "a": 4, "c": 1}


def test_scores_come_best_first():
    tally = distrivote.vote(["a", "b", "b", "c"], [4, 2, 2.5, 1], method="wsc")
    assert list(tally.scores) == ["b", "a", "c"]


def test_sums_that_differ_only_by_rounding_are_equal():
    # 0.1 + 0.2 is 0.30000000000000004 in floats; a was seen first.
    tally = distrivote.vote(["a", "b", "b"], [0.3, 0.1, 0.2], method="wsc")
    assert tally.answer == "a"


def test_sums_that_differ_by_more_than_rounding_are_not_equal():
    tally = distrivote.vote(["a", "b"], [1.0, 1.0 + 1e-11], method="wsc")
    assert tally.answer == "b"


def test_best_of_n_takes_the_surest_trajectory():
    tally = distrivote.vote(["a", "a", "b"], [3, 4, 5], method="bon")
    assert tally.answer == "b"
    assert tally.scores == {"b": 5, "a": 4}


def test_best_of_n_takes_the_surest_where_its_confidence_is_0():
    assert distrivote.vote(["a", "b", "c"], [-2.0, 0.0, -1.0], "bon").answer == "b"


def test_best_of_n_takes_the_earlier_of_two_equally_sure_trajectories():
    # a is seen first, but its trajectory with confidence 5 comes after that of b.
    tally = distrivote.vote(["a", "b", "a"], [1, 5, 5], method="bon")
    assert tally.answer == "b"
    assert tally.scores == {"a": 5, "b": 5}


def test_borda_points_are_roots_of_the_ranks():
    # N = 4: the surest casts 4^0.5 = 2, then 3^0.5, 2^0.5 and 1.
    tally = distrivote.vote(["c", "b", "a", "b"], [1, 7, 9, 5], method="borda")
    assert tally.answer == "b"
    assert tally.scores == pytest.approx({"b": math.sqrt(3) + math.sqrt(2), "a": 2, "c": 1})


def test_borda_power_can_be_set():
    # p = 1: a casts 4, b 3 + 2 = 5, c 1.
    tally = distrivote.vote(["c", "b", "a", "b"], [1, 7, 9, 5], method="borda:p=1")
    assert tally.scores == pytest.approx({"b": 5, "a": 4, "c": 1})


def test_of_equal_confidences_the_earlier_trajectory_ranks_as_surer():
    tally = distrivote.vote(["a", "b", "c"], [5, 5, 5], method="borda:p=1")
    assert tally.answer == "a"
    assert tally.scores == pytest.approx({"a": 3, "b": 2, "c": 1})


def test_equal_borda_points_go_to_the_answer_seen_first():
    # p = 1, N = 3: b casts 3, a 1 + 2.
    tally = distrivote.vote(["a", "b", "a"], [1, 3, 2], method="borda:p=1")
    assert tally.answer == "a"


def test_root_vote_is_the_root_of_the_count_times_the_mean_confidence():
    # a: 4 votes with a mean of 3: 2 * 3 = 6. b: one vote of 6.5. c: 9 votes of 1.5: 3 * 1.5 = 4.5.
    answers = ["c"] * 9 + ["a"] * 4 + ["b"]
    confidences = [1.5] * 9 + [1, 2, 4, 5, 6.5]
    tally = distrivote.vote(answers, confidences, method="root")
    assert tally.answer == "b"
    assert tally.scores == pytest.approx({"b": 6.5, "a": 6, "c": 4.5})


def test_root_power_can_be_set():
    # p = 2: 16 * 3, 1 * 6.5, 81 * 1.5; p = 0: the means alone.
    answers, confidences = ["c"] * 9 + ["a"] * 4 + ["b"], [1.5] * 9 + [1, 2, 4, 5, 6.5]
    for method in ("root:2", "root:p=2"):
        tally = distrivote.vote(answers, confidences, method=method)
        assert tally.scores == pytest.approx({"c": 121.5, "a": 48, "b": 6.5})
    assert distrivote.vote(answers, confidences, method="root:0").scores == {"b": 6.5, "a": 3, "c": 1.5}


def test_equal_root_scores_go_to_the_answer_seen_first():
    # 4 ** 0.5 * 1 is 1 ** 0.5 * 2.
    for answers, confidences in ((["b", *"aaaa"], [2, 1, 1, 1, 1]), ([*"aaaa", "b"], [1, 1, 1, 1, 2])):
        assert distrivote.vote(answers, confidences, method="root").answer == answers[0]


def test_the_negated_root_vote_prefers_what_is_rare_and_unsure():
    # Below the cut: b twice (-1.2 and -1.3) scores -1.77, c once (-1.5) scores -1.5 and is rejected.
    answers, confidences = [*"aaa", *"bb", "c"], [9, 9.1, 9.2, 1.2, 1.3, 1.5]
    tally = distrivote.vote(answers, confidences, method="root-gmm-reject")
    assert (tally.negative_answer, tally.rejected, tally.answer) == ("c", "c", "a")


@LAW
@given(pool=answered_pools)
def test_root_votes_with_a_power_of_one_are_weighted_votes(pool):
    weighted, root = (distrivote.vote(pool.answers, pool.confidences, method=m) for m in ("wsc", "root:1"))
    assert root.scores == pytest.approx(weighted.scores, rel=1e-12)
    assert root.answer == weighted.answer


@LAW
@given(pool=answered_pools, power=st.floats(0, 3), more=st.floats(0.01, 50), data=st.data())
def test_a_surer_trajectory_never_lowers_the_root_score_of_its_answer(pool, power, more, data):
    places = [i for i, answer in enumerate(pool.answers) if answer is not None]
    place = data.draw(st.sampled_from(places))
    surer = [c + more * (i == place) for i, c in enumerate(pool.confidences)]
    before, after = (
        distrivote.vote(pool.answers, c, f"root:{power}").scores for c in (pool.confidences, surer)
    )
    assert after.pop(pool.answers[place]) >= before.pop(pool.answers[place]) * (1 - 1e-12)
    assert after == before


def test_majority_of_bests_weighs_ranks_by_how_often_they_win():
    # n = 4, b on the ascending ranks 1 to 3 and a on rank 4. Rank i wins best-of-m with
    #   m = 1: (1, 1, 1, 1) / 4      a: 1/4     = 0.25
    #   m = 2: (1, 3, 5, 7) / 16     a: 7/16    = 0.4375
    #   m = 3: (1, 7, 19, 37) / 64   a: 37/64   = 0.578125
    #   m = 4: (1, 15, 65, 175)/256  a: 175/256 = 0.68359375
    # Candidates 4, 3, floor(2.25) = 2, floor(1.6875) = 1. With two answers the change is twice that
    # of a: 0.2109375 from 4 to 3, 0.28125 from 3 to 2, 0.375 from 2 to 1. So m = 4.
    tally = distrivote.vote(["b", "b", "b", "a"], [1, 2, 3, 4], method="mob")
    assert tally.answer == "a"
    assert tally.scores == pytest.approx({"a": 175 / 256, "b": 81 / 256})


def test_majority_of_bests_of_four_different_answers_shows_the_four_weights():
    # Changes: 4 to 3 (3 + 13 + 11 + 27) / 256 = 54/256; 3 to 2 (3 + 5 + 1 + 9) / 64 = 72/256;
    # 2 to 1 (3 + 1 + 1 + 3) / 16 = 128/256.
    tally = distrivote.vote(["d", "b", "c", "a"], [2, 8, 4, 6], method="mob")
    assert tally.scores == pytest.approx(
        {"b": 175 / 256, "a": 65 / 256, "c": 15 / 256, "d": 1 / 256}, rel=1e-12
    )


def test_majority_of_bests_takes_the_smaller_pair_when_two_change_equally():
    # Ascending ranks: a b a b c b a; candidates 7, 5, 3, 2, 1.
    #   m = 1: a 3/7, b 3/7, c 1/7            = (21, 21, 7) / 49
    #   m = 2: ranks weigh 1 3 5 7 9 11 13    : (19, 21, 9) / 49     change 4/49 from m = 1
    #   m = 3: ranks weigh 1 7 19 37 61 91 127: (147, 135, 61) / 343 change (14 + 12 + 2)/343 = 4/49
    #   m = 5 and m = 7 change by more than 0.2.
    # The pair (2, 1) wins the tie, and m = 2 elects b; m = 3 would elect a.
    tally = distrivote.vote(list("ababcba"), [1, 2, 3, 4, 5, 6, 7], method="mob")
    assert tally.answer == "b"
    assert tally.scores == pytest.approx({"b": 21 / 49, "a": 19 / 49, "c": 9 / 49})


def test_majority_of_bests_with_a_coarse_grid_compares_fewer_candidates():
    # n = 4, q = 0.1: candidates 4 and 1 only, so m = 4 whatever the answers.
    tally = distrivote.vote(["b", "a", "a", "b"], [1, 2, 3, 4], method="mob:q=0.1")
    assert tally.scores == pytest.approx({"b": 176 / 256, "a": 80 / 256})


def test_majority_of_bests_of_one_trajectory_is_its_answer():
    assert distrivote.vote(["a"], [3.0], method="mob").scores == {"a": 1.0}


def test_polynomial_majority_of_bests_takes_the_root_of_the_pool_size():
    # n = 4, m = 2: rank 4 wins with 7/16, the others together with 9/16.
    tally = distrivote.vote(["b", "b", "b", "a"], [1, 2, 3, 4], method="mob-poly")
    assert tally.answer == "b"
    assert tally.scores == pytest.approx({"a": 7 / 16, "b": 9 / 16})


def test_polynomial_majority_of_bests_rounds_the_root_down():
    # n = 8, m = 2: rank i wins with (2i - 1) / 64.
    tally = distrivote.vote(list("abcdefgh"), range(1, 9), method="mob-poly")
    assert list(tally.scores.values()) == pytest.approx([i / 64 for i in range(15, 0, -2)])


# Against the twin


@pytest.mark.parametrize("method", VOTES + VARIANTS)
@LAW
@given(pool=pools)
def test_vote_equals_its_slow_twin(method, pool):
    same_as_twin(pool, method)


@pytest.mark.parametrize("method", VOTES)
@LAW
@given(pool=wide_pools)
def test_vote_equals_its_slow_twin_over_two_hundred_orders_of_magnitude(method, pool):
    same_as_twin(pool, method)


@pytest.mark.parametrize("method", VOTES)
def test_vote_equals_its_slow_twin_on_ten_thousand_trajectories(method):
    same_as_twin(humped(np.random.default_rng(4), 10_000, n_answers=300), method)


@pytest.mark.parametrize("method", VOTES)
def test_vote_equals_its_slow_twin_on_many_ties(method):
    rng = np.random.default_rng(5)
    for _ in range(200):
        pool = humped(rng, int(rng.integers(1, 40)))
        same_as_twin(pool._replace(confidences=[round(c) for c in pool.confidences]), method)


@pytest.mark.parametrize("method", VOTES)
def test_vote_without_any_answer_has_no_winner_and_no_scores(method):
    for answers in ([], [None], [None, None]):
        tally = distrivote.vote(answers, [math.nan] * len(answers), method=method)
        assert tally.answer is None
        assert tally.scores == {}
        assert tally.n_unanswered == len(answers)


@pytest.mark.parametrize("method", VOTES)
def test_confidence_of_an_unanswered_trajectory_counts_nowhere(method):
    answers, confidences = ["a", "b", "b"], [5.0, 2.0, 1.0]
    alone = distrivote.vote(answers, confidences, method=method)
    for confidence in (math.nan, 0.001, 1000.0):
        with_unanswered = distrivote.vote(
            [None, *answers, None], [confidence, *confidences, confidence], method=method
        )
        assert with_unanswered.answer == alone.answer
        assert with_unanswered.scores == alone.scores
