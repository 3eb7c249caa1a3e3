"""The sizes that the majority of the bests tries, against the slow twin."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from distrivote.voting.kernels.ranks import candidate_sizes
from strategies import MANY


@MANY
@given(n=st.integers(1, 300), q=st.floats(0.001, 0.995))
def test_candidates_are_those_of_every_power(n, q):
    assert list(candidate_sizes(n, q)) == naive.mob_candidates(n, q)


@pytest.mark.slow
@MANY
@given(n=st.integers(2, 300), steps=st.floats(0.9, 1.1))
def test_candidates_are_those_of_every_power_where_neighbours_are_about_one_apart(n, steps):
    q = 1 - steps / (n + 1)
    assert list(candidate_sizes(n, q)) == naive.mob_candidates(n, q)


def test_a_ratio_next_to_1_leaves_no_size_out():
    for q in (0.9999, 1 - 1e-12, math.nextafter(1, 0)):
        assert candidate_sizes(100, q) == tuple(range(100, 0, -1))


def test_a_ratio_is_what_it_is_written_as():
    # 0.7 * 0.7 * 100 is 48.99... in floats.
    assert candidate_sizes(100, 0.7)[:3] == (100, 70, 49)
    assert candidate_sizes(125, 0.6)[:4] == (125, 75, 45, 27)
