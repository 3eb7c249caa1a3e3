"""Requests that left their place in a batch and may come back: a server short of memory preempts some.

A server does not say whether a request that leaves is finished, nor which one comes back, so each is kept for
a while and found again by who it is and by a digest of its tokens. What is kept of it is not known here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

from distrivote.steering import SelfStepConf

State = TypeVar("State")

PRIME = 0x100000001B3
"""A digest is PRIME times that of the tokens before, plus the token, modulo 2**64; 0 of no tokens."""

_N_KEPT = 1024
"""Those that left first are forgotten first."""


class Request(NamedTuple):
    """Who a request is, so far as others are not the same."""

    controller: SelfStepConf
    k: int
    """How many of the largest log-probabilities make a confidence."""

    origin: Hashable
    """Its prompt, or what else tells it from others."""


class Seen(NamedTuple):
    """The tokens of a request that were judged."""

    n_tokens: int
    digest: int


class Absent(Generic[State]):
    """What is kept of requests that left."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Request, Seen], State] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, request: Request, seen: Seen, state: State) -> None:
        self._kept[request, seen] = state
        if len(self._kept) > _N_KEPT:
            self._kept.popitem(last=False)

    def take(self, request: Request, seen: Seen) -> State | None:
        """Return what was kept, once; None if there is nothing."""
        return self._kept.pop((request, seen), None)


def seen_before(history: Sequence[int]) -> tuple[Seen, Seen]:
    """Return what may have been judged of these tokens when they were sampled: all, or all but the last.

    >>> seen_before([7, 3])
    (Seen(n_tokens=2, digest=7696581397480), Seen(n_tokens=1, digest=7))
    """
    before = digest = 0
    for token in history:
        before, digest = digest, (digest * PRIME + token) % 2**64
    return Seen(len(history), digest), Seen(len(history) - 1, before)
