"""How many requests may be under way, and whose turn it is: what requests share beside the engine.

Everything here runs in the event loop, so nothing is locked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from distrivote.engines.base import Engine
from distrivote.nouns import count, verb
from distrivote.server.errors import RETRY_SECONDS, BusyError

N_COUNTING = 1
"""Votes that are counted at once: Python runs one of them at a time, and of two that take turns both are
late. On a busy machine with 16 clients the 99th percentile was 1.5 to 2.8 medians with one, 2.7 to 4.0 with
two."""


class Gate:
    """Lets a number of requests in and sends the others away."""

    def __init__(self, max_concurrency: int) -> None:
        self._most = max_concurrency
        self.n_inside = 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be one of those inside; BusyError if there are as many as may be."""
        if self.n_inside >= self._most:
            raise BusyError(
                f"{count(self.n_inside, 'request')} {verb(self.n_inside, 'are')} under way and no more are"
                " taken",
                hint=f"try again in {RETRY_SECONDS} s, or raise `max_concurrency`",
            )
        self.n_inside += 1
        try:
            yield
        finally:
            self.n_inside -= 1


class Lane:
    """The line in front of an engine that takes one call at a time; no line at all for the others."""

    def __init__(self, engine: Engine) -> None:
        self._mixes = engine.concurrent
        self._line: list[object] = []
        self._moved = asyncio.Event()
        self.counting = asyncio.Semaphore(N_COUNTING)
        """Held while a vote is counted."""

    def join(self) -> object:
        """Stand at the end of the line; returns what to show when asking and leaving."""
        ticket = object()
        self._line.append(ticket)
        return ticket

    def n_before(self, ticket: object) -> int:
        """Return how many have to leave first."""
        return 0 if self._mixes else self._line.index(ticket)

    async def moved(self) -> None:
        """Wait until somebody leaves."""
        await self._moved.wait()

    def leave(self, ticket: object) -> None:
        self._line.remove(ticket)
        self._moved.set()
        self._moved = asyncio.Event()
