"""An answer that is not sure enough is withheld, and it is said why."""

from __future__ import annotations

import math

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.voting.abstaining import abstains, check_min_probability, withheld
from distrivote.voting.probability import Calibration
from distrivote.voting.tally import Tally
from distrivote.voting.vote import elect


def tally(probability: float) -> Tally:
    return Tally("sc", "4", {"4": 3.0}, "4", {"4": 3}, {"4": 3}, 0, probabilities={"4": probability})


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_a_probability_is_taken_as_it_is(value: float) -> None:
    assert check_min_probability(value) == value


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan])
def test_what_is_no_probability_is_an_input_error(value: float) -> None:
    with pytest.raises(InputError, match="give a number from 0 to 1"):
        check_min_probability(value)


def test_an_answer_below_the_least_probability_is_withheld_with_the_reason() -> None:
    said = withheld(tally(0.5), 0.75)
    assert said == "the probability that the answer is right is 50.0%, and at least 0.75 was asked for"


def test_an_answer_at_the_least_probability_is_given() -> None:
    assert withheld(tally(0.75), 0.75) is None
    assert withheld(tally(0.0), 0.0) is None


def test_no_answer_can_not_be_withheld() -> None:
    assert withheld(Tally("sc", None, {}, None, {}, {}, 2), 0.75) is None


def test_of_many_pools_those_with_an_improbable_answer_abstain() -> None:
    classes = np.array([0, 0, 0, 0, 0, 1, 2, 3, -1, -1, -1, -1])
    pools = (classes, np.full(12, np.nan), np.array([0, 4, 8, 12]))
    outcome = elect(*pools, ["sc"], calibration=Calibration())["sc"]
    sure, unsure, _ = outcome.probability.tolist()
    assert abstains(outcome, (sure + unsure) / 2).tolist() == [False, True, False]
    assert abstains(outcome, unsure).tolist() == [False, False, False]
