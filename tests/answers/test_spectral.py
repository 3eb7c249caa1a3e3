"""Which nodes of a graph belong together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.spectral import LEAST, groups
from strategies import LAW, MANY


def blocks(sizes: list[int], inside: float, across: float) -> np.ndarray:
    owner = np.repeat(np.arange(len(sizes)), sizes)
    links = np.where(owner[:, None] == owner, inside, across).astype(float)
    np.fill_diagonal(links, 1.0)
    return links


def sets(found: list[np.ndarray]) -> set[frozenset[int]]:
    return {frozenset(group.tolist()) for group in found}


@pytest.mark.parametrize(
    ("sizes", "inside", "across", "n_groups"),
    [
        ([1], 1, 0, 1),
        ([2, 2], 1, 0, 2),
        ([3, 3], 1, 0.1, 2),
        ([5, 5], 0.9, 0.3, 2),
        ([5, 5], 0.9, 0.6, 1),
        ([30], 0.5, 0, 1),
        ([30], 0.1, 0, 30),
        ([8, 1], 0.9, 0.3, 2),
        ([60, 60, 60], 0.9, 0.25, 3),
        ([2] * 9, 1, 0, 9),
    ],
)
def test_blocks_are_found(sizes: list[int], inside: float, across: float, n_groups: int) -> None:
    found = groups(blocks(sizes, inside, across), np.ones(sum(sizes)))
    assert len(found) == n_groups
    if n_groups == len(sizes):
        assert sorted(map(len, found)) == sorted(sizes)


def test_two_texts_are_together_from_the_least_link_on() -> None:
    for link, n_groups in ((LEAST, 1), (LEAST - 1e-9, 2)):
        assert len(groups(np.array([[1, link], [link, 1]]), np.ones(2))) == n_groups


def test_copies_count_as_texts() -> None:
    """Ten copies of each of two texts are tight by themselves, so a link of 0.3 does not join them."""
    links = np.array([[1, 0.3], [0.3, 1]])
    assert len(groups(links, np.ones(2))) == 1
    assert len(groups(links, np.full(2, 10.0))) == 2


@MANY
@given(st.integers(1, 12), st.integers(0, 10_000))
def test_groups_are_a_partition_of_linked_nodes(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    links = np.clip(rng.uniform(-0.5, 1, (n, n)), 0, 1)
    links = (links + links.T) / 2
    np.fill_diagonal(links, 1)
    found = groups(links, rng.integers(1, 4, n).astype(float))
    assert sorted(at for group in found for at in group.tolist()) == list(range(n))
    for group in found:
        inside = links[np.ix_(group, group)] >= LEAST
        assert (np.linalg.matrix_power(inside.astype(np.int64), n) > 0).all()


@LAW
@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_clear_blocks_do_not_depend_on_the_order(sizes: list[int], rng) -> None:
    links = blocks(sizes, 0.9, 0.05)
    order = list(range(len(links)))
    rng.shuffle(order)
    moved = groups(links[np.ix_(order, order)], np.ones(len(order)))
    expected = sets(groups(links, np.ones(len(order))))
    assert {frozenset(order[at] for at in group.tolist()) for group in moved} == expected
    assert len(expected) == len(sizes)
