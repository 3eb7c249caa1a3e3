"""Where the next samples of a budget over questions go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import Ballot
from distrivote.voting.allocation import FIRST, Worth, next_round, round_size, worth
from strategies import FEW, LAW, Pool, humped_pools

worths = st.lists(st.builds(Worth, st.floats(0, 0.1), st.integers(1, 9)), max_size=12)


def rate(votes: str, n_left: int = 48) -> float:
    return worth(Ballot.of([None if vote == "-" else vote for vote in votes]), n_left).rate


def test_a_close_race_is_worth_more_than_a_settled_and_a_hopeless_question() -> None:
    close = rate("a" * 6 + "b" * 6)
    assert close > 3 * rate("abcdefghijkl" * 3)
    assert close > 20 * rate("a" * 12)


def test_a_question_without_an_answer_comes_first_and_falls_behind_in_time() -> None:
    assert rate("----") > rate("aabb") > rate("-" * 300, 10)


def test_a_question_that_has_all_gets_none() -> None:
    assert worth(Ballot.of("ab"), 0) == Worth(0.0, 0)
    assert worth(Ballot.of("a" * 10), 3).grant == 3


def test_grants_grow_with_what_a_question_has() -> None:
    assert [worth(Ballot.of("ab" * n), 99).grant for n in (1, 2, 8, 20)] == [FIRST, 2, 8, 20]


@given(humped_pools, st.integers(1, 20))
@FEW
def test_the_worth_is_a_rate_for_any_ballot(pool: Pool, n_left: int) -> None:
    found = worth(Ballot.of(*pool), n_left)
    assert 0 <= found.rate <= 1
    assert 1 <= found.grant <= n_left


@given(worths, st.integers(0, 60))
@LAW
def test_a_round_gives_no_more_than_it_has_and_the_best_first(some: list[Worth], n: int) -> None:
    given = next_round(some, n)
    assert given.sum() == min(n, sum(each.grant for each in some if each.rate > 0))
    for index, each in enumerate(some):
        assert 0 <= given[index] <= each.grant
        if given[index] < each.grant and each.rate > 0:
            assert not any(given[other] for other, better in enumerate(some) if better.rate < each.rate)


@pytest.mark.parametrize(
    ("left", "questions", "size"), [(6400, 100, 800), (100, 400, 100), (100, 8, 16), (5, 9, 5)]
)
def test_rounds_get_smaller_and_stay_large_enough(left: int, questions: int, size: int) -> None:
    assert round_size(left, questions) == size


@pytest.mark.slow
def test_a_budget_over_questions_beats_the_same_for_each() -> None:
    """Half of the questions are easy, half are close: 12 each on average.

    The difference is 7 points and its standard error 0.9: by luck it fails once in 10,000,000.
    """
    rng = np.random.default_rng(5)
    n, most = 400, 48
    shares = np.where(np.arange(n) < n // 2, 0.97, 0.6)[:, None]
    classes = (rng.random((n, most)) > shares).astype(np.int64)
    taken = np.full(n, FIRST)
    left = 12 * n - int(taken.sum())
    while left > 0:
        found = [
            worth(Ballot(row[:k], np.full(k, np.nan), (0, 1)), most - int(k))
            for row, k in zip(classes, taken, strict=True)
        ]
        given = next_round(found, round_size(left, n))
        if not given.any():
            break
        taken += given
        left -= int(given.sum())
    spread = [np.count_nonzero(row[:k] == 0) * 2 > k for row, k in zip(classes, taken, strict=True)]
    even = [np.count_nonzero(row[:12] == 0) * 2 > 12 for row in classes]
    assert taken.sum() <= 12 * n
    assert np.mean(spread) > np.mean(even) + 0.02
    assert taken[n // 2 :].mean() > 2 * taken[: n // 2].mean()
