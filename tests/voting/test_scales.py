"""Confidences that are no positive numbers: who takes them, and as what."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distrivote
import strategies
from distrivote.errors import InputError, UnknownNameError
from distrivote.voting.methods import METHODS, parse_method
from distrivote.voting.scales import STEP, Scale, Seen, check_confidences, exp_of, on_scale, scale_of

BY_RANK = ["sc", "bon", "borda", "borda:2", "mob", "mob:0.1", "mob-poly", "borda-top50", "bon-top:0.3"]
BY_WEIGHT = [name for name in METHODS if name not in (*BY_RANK, "auto")]
LAW = settings(strategies.LAW, max_examples=60)

LOGPROBS = [-0.05, -0.1, -0.9, -1.0, -1.1, -0.07, None]
ANSWERS = ["a", "a", "b", "b", "b", "c", "b"]
numbers = st.floats(-1e6, 1e6, width=32)
pools = st.lists(st.tuples(st.sampled_from("abcd"), numbers), min_size=1, max_size=30)


# Who takes them


def test_the_two_kinds_of_methods_are_told_by_their_parts() -> None:
    assert not any(parse_method(name).needs_positive for name in [*BY_RANK, "auto", "auto:intervals=5"])
    assert all(parse_method(name).needs_positive for name in BY_WEIGHT)
    assert parse_method("borda-gmm").needs_positive


@pytest.mark.parametrize("method", BY_WEIGHT)
def test_votes_by_weight_name_the_way_to_log_probabilities(method: str) -> None:
    with pytest.raises(InputError) as refused:
        distrivote.vote(ANSWERS, LOGPROBS, method)
    assert str(refused.value) == (
        f"confidence 0 is -0.05, and {method} needs positive ones: for log-probabilities say"
        ' `confidence_scale="logprob"`; auto and votes by rank (sc, bon, borda, mob) take any numbers'
    )
    if "meanshift" not in method:
        probabilities = [None if c is None else float(np.exp(c)) for c in LOGPROBS]
        tally = distrivote.vote(ANSWERS, LOGPROBS, method, confidence_scale="logprob")
        assert repr(tally) == repr(distrivote.vote(ANSWERS, probabilities, method))
        batch = distrivote.vote_batch([[0, 0, 1]], [[-0.1, -0.2, -3.0]], [method], confidence_scale="logprob")
        assert batch[method].tolist() == [0]


def test_one_method_that_needs_positive_ones_is_enough_to_refuse() -> None:
    with pytest.raises(InputError, match=r"confidence 1 of pool 0 is -1, and wsc needs positive ones"):
        distrivote.vote_batch([[0, 1]], [[2.0, -1.0]], ["bon", "auto", "wsc"])


@given(pools, st.sampled_from(BY_RANK))
@LAW
def test_votes_by_rank_see_the_order_alone(pool: list[tuple[str, float]], method: str) -> None:
    answers, values = [a for a, _ in pool], [c for _, c in pool]
    places = (np.unique(values, return_inverse=True)[1] + 1.0).tolist()
    tally, ranked = distrivote.vote(answers, values, method), distrivote.vote(answers, places, method)
    assert (tally.answer, tally.kept_votes) == (ranked.answer, ranked.kept_votes)
    if not method.startswith("bon"):
        assert tally.scores == ranked.scores
    assert 0 < tally.share <= 1
    assert 0 < tally.probability < 1
    classes = ["abcd".index(a) for a in answers]
    outcome = distrivote.elect(classes, values, [0, len(values)], [method])[method]
    assert "abcd"[outcome.winner[0]] == tally.answer
    assert outcome.share[0] == pytest.approx(tally.share)


def test_best_of_n_scores_what_it_was_given() -> None:
    tally = distrivote.vote(["a", "b", "b", "c"], [-3.0, -1.0, -2.0, None], "bon")
    assert list(tally.scores.items()) == [("b", -1.0), ("a", -3.0), ("c", 0.0)]
    assert tally.share == 2 / 3  # of the votes, as scores below 0 have no share
    assert sum(tally.share_of(answer) for answer in tally.scores) == 1


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1.1e100, 9e-101, -1.1e100])
@pytest.mark.parametrize("method", ["sc", "bon", "auto", "wsc"])
def test_a_confidence_beyond_all_measures_is_refused_by_all(value: float, method: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"confidence 1 is {value:g}: confidences are finite")):
        distrivote.vote(["a", "b"], [1.0, value], method)


def test_an_unknown_scale_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="logprob"):
        distrivote.vote(["a"], [-1.0], "wsc", confidence_scale="nonsense")


def test_logits_count_by_their_probabilities() -> None:
    for method in ("wsc", "dis-gmm", "hier"):
        tally = distrivote.vote(["a", "a", "b"], [-3.0, -2.0, 4.0], method, confidence_scale="logit")
        odds = [1 / (1 + np.exp(3.0)), 1 / (1 + np.exp(2.0)), 1 / (1 + np.exp(-4.0))]
        assert tally.answer == distrivote.vote(["a", "a", "b"], odds, method).answer == "b"
    with pytest.raises(InputError, match=r"confidence 0 is -1000, and the probability of such a logit"):
        distrivote.vote(["a"], [-1000.0], "wsc", confidence_scale="logit")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.5, 'is 0.5, but log-probabilities are 0 or below: leave out `confidence_scale="logprob"`'),
        (-2000.0, "is -2000, whose exp is below 1e-100"),
    ],
)
def test_what_is_no_log_probability_is_named(value: float, said: str) -> None:
    with pytest.raises(InputError, match=f"confidence 1 {said}"):
        distrivote.vote(["a", "b"], [-1.0, value], "wsc", confidence_scale="logprob")
    with pytest.raises(InputError, match=f"confidence 0 of pool 1 {said}"):
        distrivote.vote_batch([[0], [1]], [[-1.0], [value]], ["wsc"], confidence_scale="logprob")


# What auto takes them for


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1.0, 2.0, np.nan], Scale.POSITIVE),
        ([np.nan, np.nan, np.nan], Scale.POSITIVE),
        ([-1.0, -2.0, np.nan], Scale.LOGPROB),
        ([0.0, 0.0, -230.0], Scale.LOGPROB),
        ([-1.0, -2.0, -231.0], Scale.STANDARD),
        ([-1.0, 2.0, 3.0], Scale.STANDARD),
        ([0.0, 2.0, 3.0], Scale.STANDARD),
    ],
)
def test_all_confidences_of_a_call_say_what_they_are(values: list[float], scale: Scale) -> None:
    array = np.array(values)
    assert scale_of(np.array([0, 1, 1]), array) is scale
    unanswered = np.array([0, 1, 1, -1])
    assert scale_of(unanswered, np.append(array, -5.0)) is scale
    parts = Seen()
    for value in values:
        parts.add(np.array([0]), np.array([value]))
    assert parts.scale is scale


def test_log_probabilities_are_recognised_by_auto_and_it_is_said() -> None:
    probabilities = [None if c is None else float(np.exp(c)) for c in LOGPROBS]
    tally = distrivote.vote(ANSWERS, LOGPROBS, "auto")
    usual = distrivote.vote(ANSWERS, probabilities, "auto")
    assert tally.notes[0] == (
        "no confidence is above 0, so they are taken for log-probabilities: exp of them counts"
    )
    assert (tally.answer, tally.scores, tally.probabilities) == (
        usual.answer,
        usual.scores,
        usual.probabilities,
    )
    assert tally.notes[1:] == usual.notes
    assert np.array_equal(tally.confidences, usual.confidences, equal_nan=True)


def test_numbers_of_both_signs_count_in_standard_deviations_of_their_pool() -> None:
    classes = np.array([0, 0, 1, -1, 1])
    values = np.array([2.0, -2.0, np.nan, 50.0, 7.0])
    found = on_scale(Scale.STANDARD, classes, values, np.array([0, 4, 5]))
    assert found[:2].tolist() == pytest.approx([math.exp(STEP), math.exp(-STEP)])
    assert np.isnan(found[2:4]).all()
    assert found[4] == 1.0
    tally = distrivote.vote(list("aabb"), [2.0, -2.0, 1.0, 0.5], "auto")
    assert "standard deviations of its question" in tally.notes[0]


@given(pools, st.floats(0.125, 8.0), st.integers(-1000, 1000).map(lambda tenths: tenths / 10))
@LAW
def test_auto_does_not_mind_where_numbers_of_both_signs_begin(
    pool: list[tuple[str, float]], factor: float, shift: float
) -> None:
    answers = [a for a, _ in pool] + ["a", "b"]
    values = np.round(np.array([c for _, c in pool] + [-2e6, 2e6]), 1)
    tally = distrivote.vote(answers, values, "auto")
    moved = distrivote.vote(answers, factor * values + shift, "auto")
    assert moved.probabilities == pytest.approx(tally.probabilities, rel=1e-6)
    assert 0 < tally.probability < 1


@pytest.mark.parametrize("values", [[1e100, -1e100, 5e99], [-1e-100, 1e-100, 0.0], [-5e5, -1.0, -2.0]])
def test_any_finite_numbers_will_do(values: list[float]) -> None:
    for method in [*BY_RANK, "auto"]:
        tally = distrivote.vote(["a", "b", "b"], values, method)
        assert tally.answer in ("a", "b")
        assert tally.explain()


def test_one_scale_is_for_all_pools_of_a_call() -> None:
    classes, confidences = [[0, 1, 1]] * 2, [[-0.1, -0.2, -0.3], [0.4, 0.2, 0.3]]
    flat = np.ravel(confidences)
    together = distrivote.elect(np.ravel(classes), flat, [0, 3, 6], ["auto"])["auto"]
    on = on_scale(Scale.STANDARD, np.ravel(classes), flat, np.array([0, 3, 6]))
    alike = distrivote.elect(np.ravel(classes), on, [0, 3, 6], ["auto"])["auto"]
    assert together.winner.tolist() == alike.winner.tolist()
    assert together.share.tolist() == alike.share.tolist()


def test_the_range_is_checked_in_one_place() -> None:
    check_confidences(np.array([-1.0, np.nan, 0.0]))
    check_confidences(np.array([]), positive_for="wsc")
    with pytest.raises(InputError, match="row 1 is 0, and wsc needs positive ones"):
        check_confidences(np.array([1.0, 0.0]), "row {}".format, "wsc")
    assert np.array_equal(exp_of(np.array([0.0, np.nan])), [1.0, np.nan], equal_nan=True)
