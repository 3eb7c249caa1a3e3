"""Values of single tokens, as they are stored: rounded, and nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distrivote.store.runs.rows import shortened

PATTERNS = st.lists(st.integers(0, 2**32 - 1), max_size=20)


@given(PATTERNS)
def test_every_number_stays_within_a_65536th(patterns: list[int]) -> None:
    values = np.array(patterns, np.uint32).view(np.float32)
    short = shortened(values)
    assert short.dtype == np.float32
    assert (np.isnan(short) == np.isnan(values)).all()
    normal = np.isfinite(short) & (np.abs(values) >= np.finfo(np.float32).tiny)
    exact, rounded = values[normal].astype(np.float64), short[normal].astype(np.float64)
    assert (np.abs(rounded - exact) <= np.abs(exact) / 65_536).all()
    assert not (short[~np.isnan(short)].view(np.uint32) & 0xFF).any()
    assert np.array_equal(shortened(short), short, equal_nan=True)


def test_what_lies_halfway_goes_to_the_even_neighbour() -> None:
    halves = np.array([0x3F800080, 0x3F800180], np.uint32).view(np.float32)
    assert shortened(halves).view(np.uint32).tolist() == [0x3F800000, 0x3F800200]


def test_numbers_too_large_are_infinite_and_infinity_stays() -> None:
    values = np.array([np.finfo(np.float32).max, np.inf, -np.inf, 0.0], np.float32)
    assert shortened(values).tolist() == [np.inf, np.inf, -np.inf, 0.0]
