"""A share of a benchmark's problems, for several processes that sample one run together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from distrivote.errors import InputError
from distrivote.problem import Problem


class Shard(NamedTuple):
    """The share of process `number` of `n`: every n-th problem, so that each gets easy and hard ones.

    >>> Shard.parse("2/4")
    Shard(number=2, n=4)
    """

    number: int = 1
    """From 1 to n."""

    n: int = 1

    @classmethod
    def parse(cls, text: str | None) -> Shard:
        """Return the share for the text I/N; None is the whole benchmark."""
        if text is None:
            return cls()
        number, _, n = text.partition("/")
        if not (_is_number(number) and _is_number(n) and 1 <= int(number) <= int(n)):
            raise InputError(f"the shard is {text!r}: write I/N with I from 1 to N, such as 2/4")
        return cls(int(number), int(n))

    def of(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """Return the problems of this share, possibly none; the shares are disjoint and cover all."""
        return tuple(problems[self.number - 1 :: self.n])

    def __str__(self) -> str:
        return f"{self.number}/{self.n}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
