"""Items of lists that belong together: cases by hand, and laws."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.structured.align import align
from strategies import MANY

A, B, C = ({"name": name, "amount": n, "unit": "EUR"} for name, n in (("a", 1), ("b", 2), ("c", 3)))


@pytest.mark.parametrize(
    ("lists", "length", "matches"),
    [
        # in order
        ([[1, 2], [1, 2]], 2, [(0, 1), (0, 1)]),
        ([[3, 5], [3, 5], [5, 3]], 2, [(0, 1), (0, 1), (0, 1)]),
        ([[1, 2, 3], [1, 2, 3], [1, 9, 3]], 3, [(0, 1, 2)] * 3),
        ([[1, 2, 3], [1, 2, 3], [1, 3]], 3, [(0, 1, 2), (0, 1, 2), (0, -1, 1)]),
        ([[1, 2, 3], [1, 2, 3], [1, 9, 2, 3]], 3, [(0, 1, 2), (0, 1, 2), (0, 2, 3)]),
        ([["a"], ["a"], []], 1, [(0,), (0,), (-1,)]),
        ([["a", "b", "c"], ["a", "b", "c"], ["b", "c", "a"]], 3, [(0, 1, 2), (0, 1, 2), (-1, 0, 1)]),
        ([[[1, 2], [3, 4]], [[1, 2], [3, 4]], [[3, 4]]], 2, [(0, 1), (0, 1), (-1, 0)]),
        ([[1, 2], [1.0, 2]], 2, [(0, 1), (0, 1)]),
        # by content
        ([[A, B], [A, B], [B, A]], 2, [(0, 1), (0, 1), (1, 0)]),
        ([[A, B, C], [A, B, C], [C, A]], 3, [(0, 1, 2), (0, 1, 2), (1, -1, 0)]),
        ([[A, B], [A, B], [C, B, A]], 2, [(0, 1), (0, 1), (2, 1)]),
        ([[A, B, C], [A, B, C], [B, {**A, "amount": 7}, C]], 3, [(0, 1, 2), (0, 1, 2), (1, 0, 2)]),
        # a stranger takes the place that is left over, but not one of several
        ([[A, B], [A, B], [A, {"name": "x", "amount": 9, "unit": "EUR"}]], 2, [(0, 1)] * 3),
        ([[A, B, C], [A, B, C], [A, {"name": "x", "unit": "EUR"}]], 3, [(0, 1, 2), (0, 1, 2), (0, -1, -1)]),
        # the medoid has the length that was asked for
        ([[1, 2, 3], [1, 2, 3], [1, 2]], 2, [(0, 1), (0, 1), (0, 1)]),
    ],
)
def test_matches_by_hand(lists: list[list[Any]], length: int, matches: list[tuple[int, ...]]) -> None:
    assert align(lists, length) == matches


ITEMS = st.integers(0, 3) | st.fixed_dictionaries({"n": st.sampled_from("abc"), "m": st.integers(0, 2)})
LISTS = st.lists(st.lists(ITEMS, max_size=5), min_size=1, max_size=6)


@MANY
@given(LISTS, st.data())
def test_matches_are_one_to_one_and_do_not_depend_on_the_order_of_lists(
    lists: list[list[Any]], data: st.DataObject
) -> None:
    length = len(data.draw(st.sampled_from(lists)))
    matches = align(lists, length)
    for items, match in zip(lists, matches, strict=True):
        taken = [at for at in match if at >= 0]
        assert len(match) == length
        assert len(set(taken)) == len(taken)
        assert all(at < len(items) for at in taken)
    assert any(match == tuple(range(length)) for match in matches)
    order = data.draw(st.permutations(range(len(lists))))
    assert align([lists[at] for at in order], length) == [matches[at] for at in order]


def best_score(items: list[int], slots: list[int]) -> int:
    """Return the best score of a match in order: 10 for equal items, -6 for each left out."""
    if not items or not slots:
        return -6 * (len(items) + len(slots))
    pair = best_score(items[1:], slots[1:]) + (10 if items[0] == slots[0] else 0)
    return max(pair, best_score(items[1:], slots) - 6, best_score(items, slots[1:]) - 6)


NUMBERS = st.lists(st.integers(0, 3), min_size=1, max_size=5)


@pytest.mark.slow
@MANY
@given(NUMBERS, st.lists(NUMBERS, min_size=1, max_size=3))
def test_no_match_in_order_is_better(slots: list[int], others: list[list[int]]) -> None:
    lists = [*[slots] * 9, *others]  # so many that they are the medoid
    for items, match in zip(lists, align(lists, len(slots)), strict=True):
        pairs = [(at, slot) for slot, at in enumerate(match) if at >= 0]
        assert pairs == sorted(pairs)
        n_left_out = len(items) + len(slots) - 2 * len(pairs)
        n_equal = sum(items[at] == slots[slot] for at, slot in pairs)
        assert 10 * n_equal - 6 * n_left_out == best_score(items, slots)


def test_long_lists_are_matched_in_time() -> None:
    lists = [[(at * 7 + shift) % 1009 for at in range(1000)] for shift in (0, 0, 1)]
    assert align(lists, 1000)[2] == tuple(range(1000))
