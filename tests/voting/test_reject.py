"""The reject rule: the answer that the likely wrong half prefers is dropped."""

from __future__ import annotations

import pytest
from hypothesis import given

import distrivote
import naive
from strategies import LAW, answered_pools, pools


def test_answer_of_the_negatives_is_dropped_from_the_whole_pool_and_the_rest_split_again():
    # The median of the eight is (4 + 6) / 2 = 5. Positives: 6 7 8 9.
    #   b 6: [6, 6.3]; a 7: (6.9, 7.2]; b 8: (7.8, 8.1]; a 9. a: 16, b: 14, so A_pos = a.
    # Negatives: 1 2 3 4. -C from -4 to -1 in steps of 0.3, each alone: c -4 - 3 = -7,
    #   b -2 - 1 = -3. A_neg = b.
    # b goes, also from the positives: a 7, a 9, c 3, c 4 remain. Their median is 5.5, so that the
    # positives are now 7 and 9: a with 7 + 9.
    answers = ["b", "b", "c", "c", "b", "a", "b", "a"]
    tally = distrivote.vote(answers, [1, 2, 3, 4, 6, 7, 8, 9], method="dis-top50")
    assert tally.answer == "a"
    assert tally.rejected == tally.negative_answer == "b"
    assert tally.scores == {"a": 16, "b": 0, "c": 0}
    assert tally.kept_votes == {"a": 2, "b": 0, "c": 0}
    assert (tally.first_split.n_positive, tally.first_split.cut) == (4, 5)
    assert (tally.split.n_positive, tally.split.n_negative, tally.split.cut) == (2, 2, 5.5)


def test_dropping_an_answer_can_change_the_winner():
    # The median of 1 5 6 7 8 is 6. Positives: b 6 and b 7 each alone in an interval, 13; a 8.
    # So b wins as long as nothing is rejected.
    answers, confidences = ["c", "a", "b", "b", "a"], [1, 5, 6, 7, 8]
    assert distrivote.vote(answers, confidences, method="hier-top50").answer == "b"
    # The negatives a 5 and c 1 prefer c, with -1. Without it the median of 5 6 7 8 is 6.5, and a 8
    # beats b 7.
    tally = distrivote.vote(answers, confidences, method="dis-top50")
    assert (tally.answer, tally.rejected) == ("a", "c")
    assert tally.scores == {"a": 8, "b": 7, "c": 0}


def test_tie_between_the_negatives_goes_to_the_lowest_of_the_negated_confidences():
    # Negatives: a -1 - 2 = -3 and c -3, which comes first of -3, -2, -1. A_pos = b with 21.75.
    # Without c the median of 1 2 10 10.75 11 is 10, so a 10 stays.
    tally = distrivote.vote(list("aacabb"), [1, 2, 3, 10, 10.75, 11], method="dis-top50")
    assert (tally.answer, tally.rejected) == ("b", "c")
    assert tally.scores == {"b": 21.75, "a": 10, "c": 0}


def test_nothing_is_dropped_when_both_sides_prefer_the_same_answer():
    # Positives 3 and 4: a 7. Negatives: a -1, b -2: a. So A_pos stands, b 2 had no say.
    tally = distrivote.vote(["a", "b", "a", "a"], [1, 2, 3, 4], method="dis-top50")
    assert tally.answer == "a"
    assert tally.rejected is None
    assert tally.negative_answer == "a"
    assert tally.scores == {"a": 7, "b": 0}
    assert tally.n_kept == 2


def test_nothing_is_dropped_when_nothing_is_negative():
    tally = distrivote.vote(["a", "b", "b"], [2, 2, 2], method="dis-gmm")
    assert tally.answer == "b"
    assert tally.rejected is None
    assert tally.negative_answer is None
    assert tally.n_kept == 3


def test_one_negative_of_another_answer_is_dropped():
    # z = -1 and 1: 1 is negative. b goes and a is left alone.
    tally = distrivote.vote(["a", "b"], [3, 1], method="dis-gmm")
    assert (tally.answer, tally.rejected, tally.n_kept) == ("a", "b", 1)


def test_negative_answer_with_the_least_total_is_dropped_by_the_weighted_vote():
    # Positives 6 7 8 9: a 6 + 7 = 13, b 17: A_pos = b. Negatives: c -1 - 2 = -3, d -3, a -4: c and
    # d tie and c is seen first. Without c: 3 4 6 7 8 9, median 6.5: a 7, b 17.
    answers = ["c", "c", "d", "a", "a", "a", "b", "b"]
    tally = distrivote.vote(answers, [1, 2, 3, 4, 6, 7, 8, 9], method="wsc-top50-reject")
    assert (tally.answer, tally.rejected) == ("b", "c")
    assert tally.scores == {"b": 17, "a": 7, "c": 0, "d": 0}


def test_rejecting_can_turn_the_weighted_vote():
    # Median of 1 5 6 7 8 is 6. Positives: b 7 + 6 = 13, a 8. Negatives: a -5, b -1: A_neg = b, like
    # A_pos, so nothing is dropped and b wins with 13.
    answers, confidences = ["b", "a", "b", "b", "a"], [1, 5, 6, 7, 8]
    tally = distrivote.vote(answers, confidences, method="wsc-top50-reject")
    assert (tally.answer, tally.rejected) == ("b", None)
    # With c 1 instead of b 1 the negatives prefer c; without it the median of 5 6 7 8 is 6.5, and
    # a 8 beats b 7.
    answers[0] = "c"
    tally = distrivote.vote(answers, confidences, method="wsc-top50-reject")
    assert (tally.answer, tally.rejected) == ("a", "c")
    assert tally.scores == {"a": 8, "b": 7, "c": 0}


@pytest.mark.parametrize(
    "method",
    ["dis-top50", "dis-gmm", "dis-kmeans", "wsc-top50-reject", "wsc-gmm-reject"],
)
@LAW
@given(pool=pools)
def test_rejection_equals_its_slow_twin(method, pool):
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    twin = naive.vote(pool.answers, pool.confidences, method)
    assert tally.rejected == twin.rejected
    assert tally.answer == twin.winner
    assert tally.n_kept == twin.n_kept
    assert tally.scores == pytest.approx(twin.scores, rel=1e-9)


@pytest.mark.parametrize("method", ["dis-top50", "dis-gmm", "dis-kmeans", "wsc-gmm-reject"])
@LAW
@given(pool=answered_pools)
def test_rejected_answer_never_wins_and_has_no_score(method, pool):
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    if tally.rejected is not None:
        assert tally.answer != tally.rejected
        assert tally.rejected == tally.negative_answer
        assert tally.scores[tally.rejected] == 0
        assert tally.kept_votes[tally.rejected] == 0
