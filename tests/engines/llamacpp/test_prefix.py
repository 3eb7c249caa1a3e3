"""Prompts that begin alike: how much of one is reused, and that nothing else changes."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.llamacpp.model import LlamaContext
from distrivote.engines.llamacpp.prefix import LARGE, n_reused


def batches(start: int, end: int, n_batch: int) -> list[tuple[int, int]]:
    """Return the batches in which a prompt is decoded, written down one by one."""
    cuts = [start, *(cut for cut in range(0, end, n_batch) if cut > start), end]
    return list(pairwise(cuts))


@pytest.mark.parametrize(
    ("common", "held", "prompt", "reused"),
    [
        (200, 250, 260, 196),  # 64 tokens are left
        (150, 250, 260, 150),
        (30, 250, 260, 30),
        (260, 260, 260, 196),  # the same prompt again: its last logits are needed
        (250, 250, 260, 196),
        (40, 60, 260, 0),  # the first one was decoded in a small batch
        (40, 260, 60, 0),
        (600, 700, 700, 600),
        (600, 700, 610, 546),
        (600, 700, 570, 512),  # a last batch of 58, as without reuse
        (512, 700, 513, 512),
        (512, 512, 700, 512),
        (0, 0, 300, 0),
    ],
)
def test_what_is_left_is_decoded_in_large_batches(common: int, held: int, prompt: int, reused: int) -> None:
    common = min(common, held, prompt)
    one = [*range(common), *range(10_000, 10_000 + held - common)]
    other = [*range(common), *range(20_000, 20_000 + prompt - common)]
    assert n_reused(one, other, 512) == reused


tokens = st.builds(
    lambda common, rest: [*range(common), *(10_000 + rest for _ in range(rest))],
    st.integers(0, 400),
    st.integers(1, 300),
)


@given(tokens, tokens, st.sampled_from([64, 100, 128, 512]))
def test_every_batch_is_large_or_the_same_as_without_reuse(
    held: list[int], prompt: list[int], n_batch: int
) -> None:
    reused = n_reused(held, prompt, n_batch)
    assert 0 <= reused < len(prompt)
    assert held[:reused] == prompt[:reused]
    whole = batches(0, len(prompt), n_batch)
    for start, stop in batches(reused, len(prompt), n_batch):
        assert (start, stop) in whole or stop - start >= LARGE
    for start, stop in batches(0, len(held), n_batch):
        if start < reused:  # what is kept of this batch was decoded as it would be now
            mine = next(each for each in whole if each[0] == start)
            assert mine == (start, stop) or min(mine[1], stop) - start >= LARGE


class Cache:
    """A library that keeps the tokens of each sequence and gives its sum of them as logits."""

    def __init__(self, forgets: bool) -> None:
        self.forgets, self.n_decoded = forgets, 0
        self.held: dict[int, list[int]] = {}

    def llama_memory_seq_rm(self, _: Any, sequence: int, first: int, __: int) -> bool:
        if not self.forgets and 0 < first < len(self.held.get(sequence, [])):
            return False
        self.held[sequence] = self.held.get(sequence, [])[: max(first, 0)]
        return True

    def decode(self, tokens: Any, positions: Any, sequences: Any, wanted: Any) -> Any:
        mine = self.held[sequences[0]]
        assert list(positions) == list(range(len(mine), len(mine) + len(tokens)))
        mine += tokens
        self.n_decoded += len(tokens)
        return np.full((sum(wanted), 1), sum(mine), dtype=np.float32)


def context_with(cache: Cache) -> LlamaContext:
    context: Any = LlamaContext.__new__(LlamaContext)
    context.library, context._memory, context.n_batch, context._prompts = cache, None, 512, {}
    context.model, context.decode = SimpleNamespace(n_vocab=1), cache.decode
    return context  # type: ignore[no-any-return]


@pytest.mark.parametrize("forgets", [True, False], ids=["cache", "state"])
def test_only_the_rest_of_a_prompt_is_decoded(forgets: bool) -> None:
    cache = Cache(forgets)
    context = context_with(cache)
    shots, ends = list(range(300)), ([1] * 80, [2] * 100, [3] * 10)
    for end in ends:
        assert context.prefill(shots + end, 0)[0] == sum(shots + end)
    rest = 80 + 100 + LARGE if forgets else 380 + 400 + 310
    assert cache.n_decoded == (300 + rest if forgets else rest)


def test_a_prompt_that_was_cleared_is_decoded_again() -> None:
    cache = Cache(True)
    context = context_with(cache)
    for _ in range(2):
        context.prefill(list(range(300)), 0)
        context.clear(0)
    assert cache.n_decoded == 600
