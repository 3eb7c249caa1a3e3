"""Requests that left their slot in a batch and may come back: a server short of memory preempts some.

A server does not say whether a request that leaves is finished, nor which one comes back. So the state of
each is kept for a while and found again by its identity and a digest of its tokens. What the state is, is
not known here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

from distrivote.engines.vllm.args import Watched

State = TypeVar("State")

PRIME = 0x100000001B3
"""A digest is PRIME times that of the tokens before, plus the token, modulo 2**64; 0 for no tokens."""

_N_KEPT = 1024
"""How many requests are kept; the one that left first is forgotten first."""


class Request(NamedTuple):
    """The identity of a request, as far as it differs from others."""

    controller: Watched
    k: int
    """The number of log-probabilities in a confidence."""

    origin: Hashable
    """Its prompt, or something else that distinguishes it from others."""


class Seen(NamedTuple):
    """The tokens of a request that were processed."""

    n_tokens: int
    digest: int


class Absent(Generic[State]):
    """The states of requests that left."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Request, Seen], State] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, request: Request, seen: Seen, state: State) -> None:
        self._kept[request, seen] = state
        if len(self._kept) > _N_KEPT:
            self._kept.popitem(last=False)

    def take(self, request: Request, seen: Seen) -> State | None:
        """Remove and return the state of a request, None if there is none."""
        return self._kept.pop((request, seen), None)


def seen_before(history: Sequence[int]) -> tuple[Seen, Seen]:
    """Return which of these tokens may have been processed when they were sampled: all, or all but the last.

    >>> seen_before([7, 3])
    (Seen(n_tokens=2, digest=7696581397480), Seen(n_tokens=1, digest=7))
    """
    before = digest = 0
    for token in history:
        before, digest = digest, (digest * PRIME + token) % 2**64
    return Seen(len(history), digest), Seen(len(history) - 1, before)
