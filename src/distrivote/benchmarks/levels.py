"""The levels of a built-in benchmark: its problems rise from easy to hard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from distrivote.errors import InputError

T = TypeVar("T")

DEFAULT_SIZE = 100
MAX_SIZE = 10_000
"""Beyond this the easy levels would run out of different problems."""


def graded(size: int, n_levels: int, make: Callable[[int], T]) -> Iterator[T]:
    """Yield `size` values that all differ, `make(level)` for levels that rise from 1 to n_levels.

    Levels have the same number of values, or one more for some.

    >>> counter = iter(range(100))
    >>> list(graded(5, 2, lambda level: (level, next(counter))))
    [(1, 0), (1, 1), (1, 2), (2, 3), (2, 4)]
    """
    if not 1 <= size <= MAX_SIZE:
        raise InputError(f"size is {size}: a built-in benchmark has 1 to {MAX_SIZE} problems")
    seen = set()
    for index in range(size):
        level = 1 + index * n_levels // size
        value = make(level)
        while value in seen:
            value = make(level)
        seen.add(value)
        yield value
