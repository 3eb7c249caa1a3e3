"""What is voted on and what comes out, as values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import distrivote
from distrivote.errors import InputError
from distrivote.voting.ballot import Ballot, check_confidences
from distrivote.voting.tally import Tally


def test_classes_count_from_0_in_the_order_of_their_first_answers():
    ballot = Ballot.of(["b", None, "a", "b", " ", math.nan, "c"])
    assert ballot.classes.tolist() == [0, -1, 1, 0, -1, -1, 2]
    assert ballot.labels == ("b", "a", "c")
    assert np.isnan(ballot.confidences).all()
    assert ballot.confidences.shape == (7,)
    assert ballot.notes == ()


def test_the_first_bad_confidence_is_named_by_the_place_that_is_asked_for():
    values = np.array([1.0, math.nan, math.inf, -1.0])
    with pytest.raises(InputError, match=r"^row 2 is inf"):
        check_confidences(values, "row {}".format)
    check_confidences(values[:2])


def test_a_tally_without_an_answer_has_no_share_and_no_probability():
    tally = Tally("sc", None, {}, None, {}, {}, 3)
    assert (tally.share, tally.probability) == (0.0, 0.0)
    assert (tally.n_cast, tally.n_kept) == (0, 0)


def test_the_share_of_scores_that_are_all_0_is_0():
    assert Tally("sc", "a", {"a": 0.0}, "a", {"a": 1}, {"a": 1}, 0).share == 0.0


def test_a_tally_says_no_more_than_it_was_told():
    tally = Tally("sc", "a", {"a": 1.0}, "a", {"a": 1}, {"a": 1}, 0)
    assert tally.confidences.shape == (0,)
    assert tally.probabilities == {}
    assert tally.calibrated


def test_votes_on_the_same_pool_give_equal_tallies():
    pool = (list("abab"), [1.0, 2.0, 3.0, 4.0])
    assert distrivote.vote(*pool, method="wsc") == distrivote.vote(*pool, method="wsc")
    assert distrivote.vote(*pool, method="wsc") != distrivote.vote(*pool, method="bon")
