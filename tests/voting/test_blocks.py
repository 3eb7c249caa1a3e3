"""Pools cut into blocks: every pool once and whole, and no block larger than it should be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.voting import blocks
from distrivote.voting.blocks import Block, blocks_of
from strategies import FEW

BLOCK = 64


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", BLOCK)
        yield


def cut(sizes: list[int], highest: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[Block]]:
    """Return the classes and confidences of pools of these sizes, and the blocks made of them."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    classes, confidences = rng.integers(-1, highest, n), rng.uniform(1, 9, n)
    offsets = np.cumsum([0, *sizes])
    return classes, confidences, list(blocks_of(classes, confidences, offsets))


def n_pools(sizes: list[int]) -> list[int]:
    """Return how many pools each block holds."""
    return [len(block.which) for block in cut(sizes)[2]]


@pytest.mark.parametrize("highest", [5, 10**9])
@FEW
@given(
    sizes=st.lists(st.one_of(st.integers(0, 9), st.integers(0, 300)), max_size=30), seed=st.integers(0, 99)
)
def test_every_pool_is_in_one_block_with_all_it_holds(highest: int, sizes: list[int], seed: int):
    classes, confidences, found = cut(sizes, highest, seed)
    offsets = np.cumsum([0, *sizes])
    assert sorted(pool for block in found for pool in block.which) == list(range(len(sizes)))
    for block in found:
        for row, pool in enumerate(block.which):
            there = slice(offsets[pool], offsets[pool + 1])
            answered = block.pools.answered[row]
            ids = block.pools.answers[row][answered]
            named = ids if block.classes is None else block.classes[row][ids]
            assert named.tolist() == [c for c in classes[there] if c >= 0]
            expected = confidences[there][classes[there] >= 0]
            assert block.pools.confidences[row][answered].tolist() == expected.tolist()


@FEW
@given(sizes=st.lists(st.one_of(st.integers(0, 9), st.integers(0, 300)), max_size=30))
def test_a_block_of_several_pools_is_at_most_twice_as_large_as_it_should_be(sizes: list[int]):
    for block in cut(sizes)[2]:
        assert len(block.which) == 1 or block.pools.answers.size <= 2 * BLOCK


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([16] * 10, [4, 4, 2]),
        ([1] * 100, [64, 36]),
        ([0] * 100, [64, 36]),
        ([33] * 2, [1, 1]),
        ([500] * 2, [1, 1]),
        ([32, 64], [2]),  # a rectangle of 2 x 64 is twice a block, and no more
        ([32, 65], [1, 1]),
        # 5 x 100 and then 2 x 2 and 3 x 100 are too large.
        ([100, 1, 2, 1, 100], [2, 1, 1, 1]),
    ],
)
def test_a_block_holds_as_many_pools_as_fit(sizes: list[int], expected: list[int]):
    assert n_pools(sizes) == expected


def test_classes_of_a_large_range_are_numbered_anew_in_each_pool():
    classes = np.array([70, -1, 900, 70, 5, 5, 5, 6])
    (block,) = blocks_of(classes, np.ones(8), np.array([0, 4, 8]))
    assert block.classes is not None
    assert block.pools.n_answers == 2
    assert block.pools.answers[block.pools.answered].tolist() == [0, 1, 0, 0, 0, 0, 1]
    assert block.classes.tolist() == [[70, 900], [5, 6]]


def test_classes_of_a_small_range_stay_as_they_are():
    # A table of 32 columns is small enough for any pool, and one as wide as the pool for a large one.
    for highest, width, same in ((31, 4, True), (32, 4, False), (39, 40, True), (40, 40, False)):
        classes = np.full(width, highest)
        (block,) = blocks_of(classes, np.ones(width), np.array([0, width]))
        assert (block.classes is None) == same
