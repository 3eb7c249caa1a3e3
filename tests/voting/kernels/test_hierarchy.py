"""The hierarchical vote: interval borders, weights and ties worked out by hand; the negated use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import distrivote
import naive
from distrivote.voting.kernels import drifting, hierarchy
from strategies import LAW, tied_pools, wide_pools


def hier(answers, confidences, method="hier"):
    return distrivote.vote(answers, confidences, method=method)


def test_interval_is_closed_above():
    # From 1 to 11 in steps of 1. 2 is in the first interval [1, 2], where b (2) beats a (1) and
    # weighs 2; c alone in (10, 11] weighs 11.
    assert hier(["a", "b", "c"], [1, 2, 11]).scores == {"c": 11, "b": 2, "a": 0}


def test_interval_is_open_below():
    # 2.5 is in (2, 3], so a wins the first interval and b the second.
    assert hier(["a", "b", "c"], [1, 2.5, 11]).scores == {"c": 11, "b": 2.5, "a": 1}


def test_upper_border_of_an_inner_interval_belongs_to_it():
    # 4 and 3.5 share (3, 4]; 3 is in (2, 3].
    scores = hier(["z", "a", "b", "c", "y"], [1, 3, 3.5, 4, 11]).scores
    assert scores == {"y": 11, "c": 4, "a": 3, "z": 1, "b": 0}


def test_highest_confidence_is_in_the_last_interval():
    # 10.5, 10.75 and 11 share (10, 11]: b has 21.25 against 11 of c, and weighs 10.625.
    scores = hier(["a", "b", "b", "c"], [1, 10.5, 10.75, 11]).scores
    assert scores == {"b": 10.625, "a": 1, "c": 0}


def test_interval_answer_weighs_the_mean_of_its_own_trajectories():
    # In (4, 5]: a 4.25 + 4.5 = 8.75 beats b 5; it weighs 4.375, not 8.75 nor the mean of all.
    scores = hier(["z", "a", "b", "a", "y"], [1, 4.25, 5, 4.5, 11]).scores
    assert scores == {"y": 11, "a": 4.375, "z": 1, "b": 0}


def test_answer_adds_up_the_weights_of_its_intervals():
    # a wins [1, 2] with 1, (4, 5] with 5 and (6, 7] with 7: 13 beats c with 11.
    tally = hier(["a", "a", "a", "c"], [1, 5, 7, 11])
    assert tally.answer == "a"
    assert tally.scores == {"a": 13, "c": 11}


def test_tie_inside_an_interval_goes_to_its_first_trajectory():
    # c comes first of all, but in (10, 11] b does, with 11 each. So b has 11 and c only its 1.
    tally = hier(["c", "b", "c", "z"], [1, 11, 11, 3])
    assert tally.scores == {"b": 11, "z": 3, "c": 1}


def test_tie_between_intervals_goes_to_the_lower_one():
    # b: 4 in (3, 4] and 7 in (6, 7]; a: 11. b is seen later but in a lower interval.
    tally = hier(["a", "z", "b", "b"], [11, 1, 7, 4])
    assert tally.scores == {"a": 11, "b": 11, "z": 1}
    assert tally.answer == "b"


def test_equal_confidences_share_one_interval():
    # One interval: b 10 beats a 5, and weighs the mean, 5.
    tally = hier(["a", "b", "b"], [5, 5, 5])
    assert tally.answer == "b"
    assert tally.scores == {"b": 5, "a": 0}


def test_equal_confidences_and_equal_votes_go_to_the_answer_seen_first():
    tally = hier(["b", "a", "a", "b"], [5, 5, 5, 5])
    assert tally.answer == "b"
    assert tally.scores == {"b": 5, "a": 0}


def test_widths_of_the_smallest_confidences_do_not_underflow():
    smallest = 1e-100
    tally = hier(["a", "b", "b"], [2 * smallest, smallest, smallest])
    # As with 2, 1, 1: a is alone in the highest interval, b in the lowest with a mean of 1.
    assert tally.answer == "a"
    assert tally.scores == {"a": 2 * smallest, "b": smallest}


def test_number_of_intervals_can_be_set():
    # From 1 to 11 in two: [1, 6] and (6, 11]. a: 1 + 4 = 5 in the lower beats b 3; c in the upper.
    tally = hier(["a", "a", "b", "c"], [1, 4, 3, 11], method="hier:intervals=2")
    assert tally.scores == {"c": 11, "a": 2.5, "b": 0}


def test_one_interval_is_a_weighted_vote():
    tally = hier(["a", "b", "b", "c"], [4, 2, 3, 1], method="hier:intervals=1")
    assert tally.scores == {"b": 2.5, "a": 0, "c": 0}


def test_unanswered_trajectories_do_not_stretch_the_intervals():
    # With 100 in the range, a and b would share an interval.
    assert hier(["a", "b", None], [1, 11, 100]).scores == {"b": 11, "a": 1}


def negative_answer(answers, confidences):
    """Return what these trajectories prefer as the negatives of a pool cut in the middle."""
    n = len(answers)
    tally = distrivote.vote(
        [*answers, *["sure"] * n], [*confidences, *range(100, 100 + n)], method="dis-top50"
    )
    assert tally.first_split.n_negative == n
    assert tally.rejected == tally.negative_answer
    return tally.negative_answer


def test_negated_intervals_are_closed_on_the_other_side():
    # -C from -11 to -1 in steps of 1: -1 and -1.5 are in (-2, -1], -2 in (-3, -2].
    # a weighs -1.25, b -2, c -11: a wins. Were 2 with 1 and 1.5, as it is in the plain vote, b (-2)
    # would beat a (-2.5) there and win.
    assert negative_answer(["a", "a", "b", "c"], [1, 1.5, 2, 11]) == "a"


def test_negated_interval_prefers_the_rarer_answer():
    # (-2, -1]: a has -1 - 1.5 = -2.5, b has -1.75. b wins with -1.75 against c with -11.
    assert negative_answer(["a", "a", "b", "c"], [1, 1.5, 1.75, 11]) == "b"


def test_negated_vote_prefers_the_answer_with_fewer_intervals():
    # a wins (-2, -1], (-5, -4] and (-7, -6] with -1 - 4 - 6 = -11; b one with -8, c one with -11.
    assert negative_answer(["a", "a", "a", "b", "c"], [1, 4, 6, 8, 11]) == "b"


def test_tie_between_negated_intervals_goes_to_the_lower_of_the_negated_ones():
    # Each alone in its interval. a: -3 - 8 = -11, b: -11, z: -14. From -14 up, b's -11 comes before
    # a's -8, though a is first among the trajectories and in the intervals of C itself.
    assert negative_answer(["a", "a", "b", "z"], [3, 8, 11, 14]) == "b"


def test_tie_inside_a_negated_interval_goes_to_its_first_trajectory():
    # All equal: one interval, a and b -2 each.
    assert negative_answer(["b", "a"], [2, 2]) == "b"


def test_answers_that_are_not_among_the_negatives_cannot_win_the_negated_vote():
    # Every score is below zero; "sure" has none there, and no score is not a score of 0.
    assert negative_answer(["a"], [1]) == "a"


@pytest.mark.parametrize("n_intervals", [1, 2, 3, 5, 10, 64])
def test_hierarchical_vote_equals_its_twin_for_any_number_of_intervals(n_intervals):
    rng = np.random.default_rng(6)
    for _ in range(50):
        n = int(rng.integers(1, 60))
        answers = [f"{a}" for a in rng.integers(0, 6, n)]
        # Multiples of 1/64 put many values on borders.
        confidences = [float(c) for c in rng.integers(1, 129, n) / 64]
        winner, scores = naive.hierarchical(answers, confidences, n_intervals)
        tally = hier(answers, confidences, method=f"hier:intervals={n_intervals}")
        assert tally.answer == winner
        expected = {a: float(scores.get(a, 0)) for a in answers}
        assert tally.scores == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("max_cells", [1, 30, 60, 90, 10 * 3 * 7])
def test_a_batch_that_is_counted_in_parts_has_the_same_outcome(monkeypatch, max_cells):
    # 7 pools of 3 answers in 10 intervals: 30 cells each.
    rng = np.random.default_rng(30)
    pools = (rng.integers(-1, 3, 7 * 12), rng.integers(1, 9, 7 * 12).astype(float), np.arange(8) * 12)
    pools[0][:12] = -1
    methods = ["hier", "dis-top50", "hier:released"]
    whole = distrivote.elect(*pools, methods)
    for module in (hierarchy, drifting):
        monkeypatch.setattr(module, "MAX_CELLS", max_cells)
    for method, outcome in distrivote.elect(*pools, methods).items():
        for ours, theirs in zip(outcome, whole[method], strict=True):
            np.testing.assert_array_equal(ours, theirs)


@LAW
@given(pool=tied_pools)
def test_negated_vote_equals_its_twin(pool):
    answers, confidences = naive.answered(pool.answers, pool.confidences)
    twin = naive.negated_answer(answers, confidences, naive.hierarchical)
    assert negative_answer(answers, confidences) == twin


@LAW
@given(pool=wide_pools)
def test_negated_vote_equals_its_twin_over_two_hundred_orders_of_magnitude(pool):
    answers, confidences = naive.answered(pool.answers, pool.confidences)
    n = len(answers)
    tally = distrivote.vote(answers + ["sure"] * n, confidences + [1e100] * n, method="dis-top50")
    assert tally.negative_answer == naive.negated_answer(answers, confidences, naive.hierarchical)
