"""How many requests are in progress at a time, and in what order they use the engine.

Everything here runs in the event loop and needs no locks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from distrivote.engines.base import Engine
from distrivote.nouns import count, verb
from distrivote.server.errors import RETRY_SECONDS, BusyError

N_COUNTING = 1
"""Votes that are computed at a time. Python runs one of them at a time, and two that alternate are both late:
on a busy machine with 16 clients the 99th percentile was 1.5 to 2.8 medians with one, 2.7 to 4.0 with two."""


class RequestLimit:
    """Accepts a number of requests at a time and refuses the others."""

    def __init__(self, max_concurrency: int) -> None:
        self._most = max_concurrency
        self.n_active = 0

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Count as an active request while the context is open; raise BusyError if the limit is reached."""
        if self.n_active >= self._most:
            raise BusyError(
                f"{count(self.n_active, 'request')} {verb(self.n_active, 'are')} in progress, which is the"
                " limit",
                hint=f"try again in {RETRY_SECONDS} s, or raise `max_concurrency`",
            )
        self.n_active += 1
        try:
            yield
        finally:
            self.n_active -= 1


class EngineQueue:
    """A first-in, first-out queue for engines that take one call at a time; others do not queue."""

    def __init__(self, engine: Engine) -> None:
        self._concurrent = engine.concurrent
        self._tickets: list[object] = []
        self._moved = asyncio.Event()
        self.counting = asyncio.Semaphore(N_COUNTING)
        """Held while a vote is computed."""

    def join(self) -> object:
        """Join the end of the queue and return a ticket, the argument of the other methods."""
        ticket = object()
        self._tickets.append(ticket)
        return ticket

    def n_before(self, ticket: object) -> int:
        """Return how many tickets have to leave first."""
        return 0 if self._concurrent else self._tickets.index(ticket)

    async def moved(self) -> None:
        """Wait until a ticket leaves the queue."""
        await self._moved.wait()

    def leave(self, ticket: object) -> None:
        self._tickets.remove(ticket)
        self._moved.set()
        self._moved = asyncio.Event()
