from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.confidence import step_confidences, step_of
from distrivote.errors import InputError
from strategies import LAW

NAN = math.nan


def naive_steps(values: list[float], ends: list[int]) -> list[float]:
    means, start = [], 0
    for end in ends:
        known = [v for v in values[start:end] if not math.isnan(v)]
        means.append(sum(known) / len(known) if known else NAN)
        start = end
    return means


@st.composite
def cut_values(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    values = draw(st.lists(st.one_of(st.floats(0, 40), st.just(NAN)), min_size=1, max_size=30))
    inner = draw(st.sets(st.integers(1, len(values))))
    return values, sorted(inner | {len(values)})


@pytest.mark.parametrize(
    ("values", "ends", "expected"),
    [
        ([1.0, 2.0, 6.0], [3], [3.0]),
        ([1.0, 2.0, 6.0], [1, 3], [1.0, 4.0]),
        ([1.0, NAN, 6.0], [2, 3], [1.0, 6.0]),
        ([NAN, NAN, 6.0], [2, 3], [NAN, 6.0]),
        ([], [], []),
    ],
)
def test_a_step_is_the_mean_of_its_known_tokens(
    values: list[float], ends: list[int], expected: list[float]
) -> None:
    result = step_confidences(np.array(values), np.array(ends, dtype=np.int64))
    np.testing.assert_array_equal(result, expected)


@LAW
@given(cut_values())
def test_steps_agree_with_their_twin(case: tuple[list[float], list[int]]) -> None:
    values, ends = case
    result = step_confidences(np.array(values), np.array(ends))
    np.testing.assert_allclose(result, naive_steps(values, ends), rtol=1e-12)


@LAW
@given(cut_values())
def test_every_token_is_in_the_step_that_holds_it(case: tuple[list[float], list[int]]) -> None:
    values, ends = case
    for token in range(len(values)):
        step = step_of(token, np.array(ends))
        assert step.start <= token < step.stop
        assert step.stop in ends


@pytest.mark.parametrize("ends", [[], [2], [4], [2, 2, 3], [2, 1, 3], [0, 3]])
def test_ends_that_do_not_cut_the_tokens_are_refused(ends: list[int]) -> None:
    with pytest.raises(InputError, match="do not cut 3 tokens into steps"):
        step_confidences(np.ones(3), np.array(ends, dtype=np.int64))
