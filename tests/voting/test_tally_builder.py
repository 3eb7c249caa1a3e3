"""What a tally says beside the answer: notes, splits, intervals and the weighing of confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest

import distrivote
from distrivote.voting.caveats import separations
from distrivote.voting.kernels.splits import Splits


def splits(means: tuple[float, float], sds: tuple[float, float]) -> Splits:
    nothing = np.zeros(1)
    return Splits(nothing, nothing, np.zeros((1, 2)), np.array([means]), np.array([sds]), nothing.astype(int))


def test_separation_is_in_units_of_the_mean_variance():
    # Ashman's D: sqrt(2) * 10 / sqrt(3^2 + 4^2).
    assert separations(splits((5.0, 15.0), (3.0, 4.0))) == pytest.approx([math.sqrt(2) * 10 / 5])
    assert separations(splits((5.0, 7.0), (1.0, 1.0))) == pytest.approx([2.0])


@pytest.mark.parametrize(("n", "says"), [(15, True), (16, False)])
def test_fewer_than_sixteen_answers_get_a_note(n, says):
    confidences = [1.0 + 0.1 * (i % 4) + 8 * (i % 2) for i in range(n)]
    tally = distrivote.vote(["a", *["b"] * (n - 1), None], [*confidences, 5.0])
    assert any("Only 15 answers" in note for note in tally.notes) == says
    assert not distrivote.vote([None], [1.0]).notes


def test_one_answer_is_one_answer():
    assert distrivote.vote(["a"], [1.0]).notes[0].startswith("Only 1 answer: ")


def test_a_split_of_top_half_has_no_gaussians_and_says_nothing_of_humps():
    tally = distrivote.vote(["a"] * 16, [float(n) for n in range(1, 17)], method="wsc-top50")
    assert tally.first_split == tally.split == (8.5, 8, 8, None, None, None)
    assert tally.notes == ()


def test_without_a_filter_there_is_no_split():
    tally = distrivote.vote(list("aab"), [1.0, 2.0, 4.0], method="hier")
    assert tally.split is tally.first_split is None
    assert tally.weighing is None


def test_intervals_are_counted_where_somebody_voted():
    # From 1 to 11 in steps of 1: a wins [1, 2] and (4, 5], b wins (9, 10] and (10, 11].
    tally = distrivote.vote(list("aabb"), [1.0, 5.0, 10.0, 11.0], method="hier")
    assert tally.intervals_won == (2, 4)
    assert distrivote.vote(list("aabb"), [1.0, 5.0, 10.0, 11.0], method="wsc").intervals_won is None


def test_the_first_split_is_of_all_and_the_second_of_those_who_are_left():
    # As in the test of the reject rule: b goes, a 7, a 9, c 3 and c 4 remain.
    answers = ["b", "b", "c", "c", "b", "a", "b", "a"]
    tally = distrivote.vote(answers, [1, 2, 3, 4, 6, 7, 8, 9], method="dis-top50")
    assert tally.first_split[:3] == (5.0, 4, 4)
    assert tally.split[:3] == (5.5, 2, 2)


def test_the_confidences_are_those_of_the_answers():
    tally = distrivote.vote(["a", None, "b"], [3.0, 9.0, 2.0], method="wsc")
    np.testing.assert_array_equal(tally.confidences, [3.0, np.nan, 2.0])
    assert tally.n_unanswered == 1


def test_weighing_tells_odds_and_gap_where_confidence_and_majority_differ():
    answers, sure = ["a"] * 8 + ["b"] * 12, [9.0, 9.2] * 4 + [3.0, 3.1, 2.9] * 4
    trusted = distrivote.vote(answers, sure, method="auto")
    assert trusted.weighing.answer == trusted.answer == "a"
    assert trusted.weighing.odds > 1
    assert trusted.weighing.gap > 1
    assert trusted.weighing.voted == "a"
    assert trusted.intervals_won == (1, 1)
    agreed = distrivote.vote(answers, sure[::-1], method="auto")
    assert agreed.answer == agreed.majority == "b"
    assert math.isnan(agreed.weighing.odds)
    assert distrivote.vote([None], method="auto").weighing is None


def test_scores_are_probabilities_and_all_have_a_say_where_distrivoting_is_not_followed():
    confidences = np.random.default_rng(0).normal(15, 1, 30)
    tally = distrivote.vote(list("aabbbc") * 5, confidences, method="auto")
    assert (tally.answer, tally.weighing.answer) == ("b", "a")
    assert list(tally.scores) == ["b", "a", "c"]
    assert math.fsum(tally.scores.values()) == pytest.approx(1)
    assert tally.scores["a"] / tally.scores["b"] == pytest.approx(tally.weighing.odds)
    assert tally.kept_votes == tally.votes == {"b": 15, "a": 10, "c": 5}
    assert tally.intervals_won is None
    assert tally.rejected is None
    assert not any("hump" in note for note in tally.notes)
    tiny = distrivote.vote(list("aabbbc") * 5, np.ldexp(confidences, -300), method="auto")
    assert tiny.scores == tally.scores


def test_auto_stands_on_no_split_where_distrivoting_says_another_answer():
    pool = list("aacaabca"), [14.0, 8, 12, 6, 8, 11, 10, 6]
    tally, alone = (distrivote.vote(*pool, method=name) for name in ("auto", "dis-gmm"))
    assert (tally.answer, alone.answer, tally.weighing.voted) == ("a", "c", "c")
    assert (tally.rejected, tally.n_kept, tally.split) == (None, 8, None)
    assert tally.first_split == alone.first_split


@pytest.mark.parametrize("exponent", [-300, 0, 300])
def test_scores_and_cuts_are_in_the_units_that_came_in(exponent):
    values = np.ldexp([1.0, 2.0, 5.0, 6.0], exponent)
    tally = distrivote.vote(list("aabb"), values, method="wsc-gmm")
    assert tally.scores == {"b": math.ldexp(11.0, exponent), "a": 0.0}
    assert tally.split.cut == math.ldexp(3.5, exponent)
    assert tally.split.means == pytest.approx(
        [math.ldexp(1.5, exponent), math.ldexp(5.5, exponent)], rel=1e-5
    )
    assert tally.split.weights == pytest.approx([0.5, 0.5], rel=1e-5)


@pytest.mark.parametrize(("method", "expected"), [("sc", (2, 1)), ("borda:p=1", (5, 1))])
@pytest.mark.parametrize("exponent", [-300, 300])
def test_counts_are_no_confidences_and_stay_as_they_are(method, expected, exponent):
    tally = distrivote.vote(list("aab"), np.ldexp([1.0, 1.0, 1.0], exponent), method=method)
    assert tally.scores == dict(zip("ab", expected, strict=True))
