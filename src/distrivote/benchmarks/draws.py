"""Random choices that are the same on every machine and in every version of Python.

Python guarantees that `random.Random(seed).random()` never changes, but not its other methods: so all choices
use only that one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of random choices determined by a seed.

    >>> draws = Draws(7)
    >>> draws.between(1, 6), draws.pick("abc"), draws.shuffled("abcd")
    (2, 'a', ['d', 'b', 'a', 'c'])
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    @classmethod
    def of_text(cls, text: str) -> Draws:
        """Return the stream for a text; Python's own hash differs from run to run."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return cls(int.from_bytes(digest[:8], "big"))

    def between(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        return items[self.between(0, len(items) - 1)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order (Fisher and Yates)."""
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.between(0, last)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed
