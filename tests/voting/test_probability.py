"""How probable an answer is: bounds, monotony, and a fit against scikit-learn's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from sklearn.linear_model import LogisticRegression

import distrivote
from distrivote.errors import InputError
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.methods import METHODS
from distrivote.voting.probability import Calibration, features, fit
from distrivote.voting.trust import Trust
from strategies import LAW, Pool, plain_pools


def one(counts, gaps) -> Evidence:
    votes, told = (np.array([values], dtype=np.float64) for values in (counts, gaps))
    return Evidence(votes, told, np.zeros(1), votes, np.zeros_like(told))


def rows(n: int, weights: tuple[float, float, float], seed: int = 0, scale: float = 1.0):
    rng = np.random.default_rng(seed)
    values = scale * rng.normal(0, 2, (n, 2))
    z = weights[0] + values @ np.array(weights[1:])
    return values, rng.random(n) < 1 / (1 + np.exp(-z))


def fitted(values, right) -> Calibration:
    return fit(values, right, fewest=8, most=64, source="test")


@LAW
@given(plain_pools)
def test_probabilities_lie_between_0_and_1_and_leave_the_rest_to_other_answers(pool: Pool):
    tally = distrivote.vote(*pool)
    assert all(0 <= value <= 1 for value in tally.probabilities.values())
    assert math.fsum(tally.probabilities.values()) <= 1 + 1e-9
    assert tally.probability == tally.probabilities[tally.answer]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_one_and_it_does_not_depend_on_the_method(method):
    pool = Pool(list("aabbbcd") * 3, [float(v) for v in range(5, 26)])
    others = distrivote.vote(*pool, method="sc").probabilities
    assert distrivote.vote(*pool, method=method).probabilities == pytest.approx(others)


def test_features_by_hand():
    found = features(one([3, 1, 0], [0, 0, 0]), Trust())[0]
    odds, unseen = 3**1.25, 0.5**1.25
    assert found[0].tolist() == pytest.approx([math.log(odds / (1 + unseen)), math.log(3.5 / 1.5)])
    assert found[1].tolist() == pytest.approx([-math.log(odds + unseen), math.log(1.5 / 3.5)])


def test_more_votes_and_surer_ones_make_an_answer_more_probable():
    calibration = Calibration(evidence=1.0, share=0.5)
    base = calibration.of(one([5, 5], [0, 0]), Trust())[0, 0]
    assert calibration.of(one([6, 4], [0, 0]), Trust())[0, 0] > base
    assert calibration.of(one([5, 5], [1.5, -1.5]), Trust())[0, 0] > base


@pytest.mark.parametrize(
    ("weights", "scale"),
    [
        ((-0.5, 1.0, 0.4), 1.0),
        ((5.0, 0.6, 0.3), 1.0),  # nearly all are right
        ((0.0, 60.0, 40.0), 0.05),  # small features, large weights
    ],
)
def test_fit_is_that_of_scikit_learn(weights, scale):
    values, right = rows(2000, weights, scale=scale)
    found = fitted(values, right)
    other = LogisticRegression(C=1 / (1e-3 * 2000), tol=1e-10, max_iter=1000).fit(values, right)
    assert (found.intercept, found.evidence, found.share) == pytest.approx(
        (other.intercept_[0], *other.coef_[0]), abs=1e-5
    )


def test_without_a_usable_feature_the_probability_is_the_weighted_rate():
    right = np.arange(40) < 10
    rows = np.column_stack([np.where(right, -1.0, 1.0), np.where(right, 0.0, 1.0)])
    weights = np.where(right, 3.0, 1.0)
    found = fit(rows, right, fewest=4, most=8, source="made", weights=weights)
    assert (found.evidence, found.share) == (0.0, 0.0)
    assert found.intercept == pytest.approx(0.0)  # 30 of 60, not 10 of 40


def test_weight_that_would_be_negative_is_left_out():
    found = fitted(*rows(2000, (0.0, 1.0, -1.0)))
    assert found.share == 0.0
    assert found.evidence > 0


def test_features_that_say_the_opposite_leave_the_base_rate():
    values, right = rows(2000, (1.0, -1.0, -1.0))
    found = fitted(values, right)
    assert (found.evidence, found.share) == (0.0, 0.0)
    assert found.intercept == pytest.approx(math.log(right.mean() / (1 - right.mean())))


def test_perfectly_separable_questions_give_a_finite_fit():
    values = np.column_stack([np.linspace(-3, 3, 40)] * 2)
    assert math.isfinite(fitted(values, values[:, 0] > 0).evidence)


@pytest.mark.parametrize("right", [np.ones(50, bool), np.zeros(50, bool), np.arange(10) % 2 == 0])
def test_too_few_or_one_sided_questions_are_refused(right):
    with pytest.raises(InputError, match="calibration needs"):
        fitted(np.zeros((len(right), 2)), right)


def test_shipped_calibration_by_hand():
    # Nobody is surer and both have a vote, half a one is kept for answers that nobody gave.
    (even,) = Calibration().of(one([1, 1], [0, 0]), Trust())
    assert even == pytest.approx([1 / (1 + math.exp(0.351 + 1.030 * math.log(1 + 0.5**1.25)))] * 2)
    # All nine agree.
    (sole,) = Calibration().of(one([9, 0], [0, 0]), Trust())
    assert sole == pytest.approx([1 / (1 + math.exp(0.351 - 1.030 * 1.25 * math.log(9 / 0.5))), 0])


def test_the_fewer_agree_the_less_probable_their_answer_is():
    found = [distrivote.vote(["12"] * n, [9.0] * n).probability for n in (1, 2, 4, 8, 16, 64, 256)]
    assert found == sorted(found)
    assert found[0] < 0.7 < found[1] < 0.9 < found[3] < 0.97 < found[4] < found[6]


def test_probabilities_that_add_up_to_more_than_1_are_brought_down_to_it():
    # Each of four by itself: 1 / (1 + exp(-2 - logit(1/4))), about 0.71.
    found = Calibration(intercept=2.0, evidence=1.0).of(one([2] * 4, [0] * 4), Trust())
    assert found[0] == pytest.approx([0.25] * 4)
    # 1 / (1 + exp(-1)) each, 1.46 together.
    found = Calibration(intercept=1.0, evidence=1.0).of(one([2, 2], [0, 0]), Trust())
    assert found[0] == pytest.approx([0.5, 0.5])
    # 0.46 each are left as they are: half a vote belongs to an answer that nobody gave.
    found = Calibration(intercept=0.0, evidence=1.0).of(one([2, 2], [0, 0]), Trust())
    assert found[0] == pytest.approx([1 / (2 + 0.25**1.25)] * 2)


def test_shipped_calibration_covers_8_to_256_answers():
    assert [n for n in (7, 8, 256, 257) if Calibration().covers(n)] == [8, 256]


@pytest.mark.parametrize("n", [19, 20])
def test_twenty_questions_can_be_fitted(n):
    values, right = rows(n, (0.0, 1.0, 1.0))
    if n < 20:
        with pytest.raises(InputError, match=f"{n} questions, {right.sum()} of them"):
            fitted(values, right)
    else:
        found = fitted(values, right)
        assert (found.fewest, found.most, found.n_questions, found.source) == (8, 64, 20, "test")


@pytest.mark.parametrize("weights", [{"evidence": -0.1}, {"share": -0.1}])
def test_weights_below_0_are_refused(weights):
    with pytest.raises(InputError, match="weights are below 0"):
        Calibration(**weights)


def test_a_fit_that_does_not_settle_ends_all_the_same():
    # So far from 0 the intercept would have to be in the millions.
    values, right = rows(200, (0.0, 1.0, 1.0))
    found = fitted(values + 1e7, right)
    assert math.isfinite(found.intercept)


def test_pools_outside_of_the_fit_say_so():
    said = distrivote.vote(list("abb"), [1, 2, 3]).explain()
    assert "There is no probability: none was fitted on pools like this one (3 answers)." in said
    assert distrivote.vote(list("abb") * 4, [1, 2, 3] * 4).calibrated


def test_a_larger_share_of_votes_raises_the_probability_if_the_calibration_weighs_it() -> None:
    weighing = Calibration(intercept=0.0, evidence=0.0, share=1.0)
    few, many = weighing.of_features(np.array([[0.0, -1.0], [0.0, 2.0]]))
    assert few == pytest.approx(1 / (1 + np.exp(1.0)))
    assert many == pytest.approx(1 / (1 + np.exp(-2.0)))
