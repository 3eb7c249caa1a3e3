"""Repeats of one question are voted on, whatever is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
from distrivote.errors import InputError
from distrivote.integrations.repeats import vote_on
from distrivote.voting.methods import parse_method

DIS = parse_method("dis-gmm")
answers = st.sampled_from(["A", "B", "7", "0.5", "1/2", None, " "])
confidences = st.none() | st.floats(0.1, 40)


@given(st.lists(st.tuples(answers, confidences), max_size=20))
def test_a_vote_never_fails_for_want_of_confidences(pool: list[tuple[str | None, float | None]]) -> None:
    given_answers, given_confidences = [a for a, _ in pool], [c for _, c in pool]
    tally, labels, _ = vote_on(given_answers, given_confidences, DIS)
    assert (tally.answer is None) == (not any(labels))
    there = zip(labels, given_confidences, strict=True)
    measured = [(label, c) for label, c in there if label is not None and c is not None]
    n_answered = sum(label is not None for label in labels)
    assert (tally.method, tally.n_unmeasured) == ("dis-gmm", n_answered - len(measured))
    assert tally.fallback == (n_answered > 0 and not measured)
    if tally.fallback:
        assert "majority voting decides" in tally.notes[-1]
        assert tally.answer == tally.majority
    else:
        answers, confidences = [a for a, _ in measured], [c for _, c in measured]
        assert tally.answer == distrivote.vote(answers, confidences, DIS).answer


def test_a_method_without_confidences_says_nothing_about_them() -> None:
    assert vote_on(["4", "5"], [None, None], parse_method("sc")).tally.notes == ()


def test_notations_of_one_answer_vote_together() -> None:
    tally, labels, _ = vote_on(["7", "1/2", "7", "0.5", r"\frac12"], [1.0] * 5, parse_method("sc"))
    assert tally.answer == "1/2"
    assert labels == ["7", "1/2", "7", "1/2", "1/2"]


def test_formulas_are_one_answer_unless_notation_is_asked_for() -> None:
    formulas = ["(x+1)^2", "x^2+2x+1", "7"]
    assert vote_on(formulas, [1.0] * 3, DIS).tally.votes == {"(x+1)^2": 2, "7": 1}
    assert len(vote_on(formulas, [1.0] * 3, DIS, same="notation").tally.votes) == 3


def test_a_confidence_that_is_none_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="confidence 1 is -1"):
        vote_on(["4", "5"], [2.0, -1.0], DIS)
