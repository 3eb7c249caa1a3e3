"""How much of a decoded prompt the next one can reuse, so that its samples stay the same.

A prompt is decoded in batches of `n_batch` tokens. llama.cpp calculates batches of few tokens in another way
than large ones, with other roundings, which may change a sampled token. Keys and values are therefore reused
only where all that was decoded, and all that is left, is in large batches, or in the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence

LARGE = 64
"""Batches of this many tokens and more give the same keys and values for the same tokens, to the last bit. On
processors that holds from 33 tokens on."""


def n_common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two prompts have in common at the beginning.

    >>> n_common([5, 6, 7], [5, 6, 8, 9])
    2
    """
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def n_reused(held: Sequence[int], prompt: Sequence[int], n_batch: int) -> int:
    """Return how many tokens of `prompt` need not be decoded, if those of `held` are.

    At least one token is left, since the logits after the last one are needed.
    """
    common = min(n_common(held, prompt), len(prompt) - 1)
    start = common // n_batch * n_batch
    size, held_size = (min(n_batch, len(tokens) - start) for tokens in (prompt, held))
    if min(size, held_size) < LARGE:
        return start
    return max(start, min(common, start + size - LARGE))
