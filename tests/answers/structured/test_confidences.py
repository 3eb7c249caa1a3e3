"""Confidences of single values: tokens that hold them, by hand and against a slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.structured.confidences import value_confidences
from distrivote.confidence.tokens import TokenValues, token_confidence
from distrivote.errors import InputError
from distrivote.trajectory import Trajectory
from strategies import MANY


def trajectory(tokens: list[str], confidences: list[float]) -> Trajectory:
    """Return one whose tokens have these confidences; NaN: none."""
    tops = np.array([[-value, -value] for value in confidences]).reshape(len(tokens), 2)
    return Trajectory("".join(tokens), tuple(tokens), tops, np.zeros(len(tokens)))


def test_a_value_has_the_mean_of_the_tokens_that_hold_it() -> None:
    one = trajectory(['{"', "a", '":', " 1", "2", ', "b": "', "x", '"}'], [1, 2, 3, 4, 5, 6, 7, 8])
    text = one.text
    assert text == '{"a": 12, "b": "x"}'
    places = [(text.index("12"), text.index("12") + 2), (text.index('"x"'), text.index('"x"') + 3)]
    assert value_confidences(one, places).tolist() == [4.5, 7.0]


@pytest.mark.parametrize("k", [2, 20])
def test_tokens_without_log_probabilities_do_not_count(k: int) -> None:
    one = trajectory(["1", "2", "3", "4"], [1.0, math.nan, 3.0, math.nan])
    assert value_confidences(one, [(0, 2), (0, 3), (1, 2), (3, 4)], k)[:2].tolist() == [1.0, 2.0]
    assert np.isnan(value_confidences(one, [(1, 2), (3, 4)], k)).all()


def test_a_reply_without_tokens_has_no_confidences() -> None:
    assert np.isnan(value_confidences(Trajectory("[1, 2]"), [(1, 2), (4, 5)])).all()
    assert value_confidences(Trajectory("[]"), []).shape == (0,)
    none = Trajectory("12", ("12",), np.empty((1, 0)), np.zeros(1))
    assert np.isnan(value_confidences(none, [(0, 2)])).all()


def test_no_confidence_is_below_0() -> None:
    assert np.isnan(value_confidences(trajectory(["1"], [0.0]), [(0, 1)])).all()


def test_k_must_be_at_least_2() -> None:
    with pytest.raises(InputError, match="k is 1"):
        value_confidences(trajectory(["1"], [1.0]), [(0, 1)], 1)


def test_known_confidences_of_tokens_are_taken() -> None:
    known = TokenValues(np.array([7.0]), 0, 2)
    assert value_confidences(trajectory(["1"], [1.0]), [(0, 1)], tokens=known).tolist() == [7.0]


@MANY
@given(st.data())
def test_the_slow_twin_agrees(data: st.DataObject) -> None:
    tokens = data.draw(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=8))
    values = data.draw(
        st.lists(st.sampled_from([0.5, 1.0, 2.0, math.nan]), min_size=len(tokens), max_size=len(tokens))
    )
    one = trajectory(tokens, values)
    start = data.draw(st.integers(0, len(one.text) - 1))
    end = data.draw(st.integers(start + 1, len(one.text)))
    found = token_confidence(one.top_logprobs, 2).values
    at, inside = 0, []
    for token, value in zip(tokens, found, strict=True):
        if at < end and at + len(token) > start and not math.isnan(value):
            inside.append(value)
        at += len(token)
    expected = sum(inside) / len(inside) if inside else math.nan
    assert value_confidences(one, [(start, end)], 2)[0] == pytest.approx(expected, nan_ok=True)
