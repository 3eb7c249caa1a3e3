"""The explanation of a vote tells its numbers apart."""

from __future__ import annotations

import re

import numpy as np
import pytest

from distrivote import Ballot, vote


@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-8])
def test_the_cut_is_told_apart_from_the_two_means(spread: float) -> None:
    rng = np.random.default_rng(0)
    low, high = 17 + spread * rng.normal(0, 0.3, 16), 17 + spread * rng.normal(3, 0.3, 16)
    tally = vote(Ballot.of(list("a" * 6 + "b" * 10 + "a" * 14 + "b" * 2), [*low, *high]))
    said = re.search(
        r"cut at confidence ([\d.]+): .* around ([\d.]+) .* around ([\d.]+) ", tally.explain(), re.S
    )
    assert said is not None
    cut, wrong, right = map(float, said.groups())
    assert wrong < cut < right
