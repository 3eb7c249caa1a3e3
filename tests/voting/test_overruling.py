"""With few answers no method goes against a clear majority without a word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import METHODS, elect, vote
from distrivote.defaults import METHOD, PAPER_METHOD
from distrivote.voting.tally import Tally

AGAINST = "wins against a clear majority"


def said(tally: Tally) -> bool:
    return any(AGAINST in note for note in tally.notes)


def test_the_default_is_auto_and_the_papers_method_is_a_word_away() -> None:
    answers, confidences = ["a"] * 10 + ["b"] * 10, [9.0 + i / 10 for i in range(20)]
    assert vote(answers, confidences).method == METHOD == "auto"
    assert vote(answers, confidences, PAPER_METHOD).method == "dis-gmm"


def test_two_sure_votes_against_six_are_said() -> None:
    tally = vote(["a"] * 6 + ["b"] * 2, [5.0] * 6 + [9.0] * 2, "bon")
    assert tally.answer == "b"
    assert tally.notes[-1] == (
        "b wins against a clear majority: a has 6 of 8 votes, and b 2."
        " With fewer than 16 answers confidence is weak evidence."
    )


@pytest.mark.parametrize(
    ("n_a", "n_b", "expected"),
    [(6, 3, True), (5, 3, False), (10, 5, True), (11, 5, False), (3, 3, False)],
)
def test_a_majority_is_clear_with_twice_the_votes_of_fewer_than_sixteen(
    n_a: int, n_b: int, expected: bool
) -> None:
    tally = vote(["a"] * n_a + ["b"] * n_b, [5.0] * n_a + [9.0] * n_b, "bon")
    assert (tally.answer, said(tally)) == ("b", expected)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(1.0, 20.0)), min_size=1, max_size=20),
    st.sampled_from(sorted(METHODS)),
)
def test_one_vote_says_what_many_record(rows: list[tuple[int, float]], method: str) -> None:
    classes, confidences = map(list, zip(*rows, strict=True))
    outcome = elect(np.array(classes), np.array(confidences), np.array([0, len(rows)]), [method])[method]
    tally = vote(classes, confidences, method)
    votes, n = tally.votes, len(rows)
    expected = n < 16 and tally.answer != tally.majority and votes[tally.majority] >= 2 * votes[tally.answer]
    assert outcome.overrules.tolist() == [expected]
    assert said(tally) == expected
