"""Shares of a benchmark: disjoint, whole, and written as I/N."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import InputError, Problem
from distrivote.benchmarks.shard import Shard


def problems(n: int) -> tuple[Problem, ...]:
    return tuple(Problem(f"{index}?", str(index)) for index in range(n))


@given(st.integers(1, 40), st.integers(1, 12))
def test_the_shares_are_disjoint_and_make_up_all(n_problems: int, n: int) -> None:
    whole = problems(n_problems)
    shares = [Shard(number, n).of(whole) for number in range(1, n + 1)]
    assert sorted((p.id for share in shares for p in share), key=int) == [p.id for p in whole]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_every_nth_question_belongs_to_a_share() -> None:
    assert [p.id for p in Shard.parse("2/3").of(problems(8))] == ["1", "4", "7"]
    assert Shard.parse(None).of(problems(8)) == problems(8)
    assert Shard.parse("4/4").of(problems(3)) == ()


@pytest.mark.parametrize("text", ["0/4", "5/4", "2", "a/b", "1/0", "/", "-1/4", "1/4/2", "²/3", ""])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"write I/N with I from 1 to N, such as 2/4"):
        Shard.parse(text)
