"""Server-sent events, and clients that disconnect.

A client that closes the connection cancels its request: `EventStream` and `unless_gone` listen for that while
they work, because a failing send would notice it too late, or never.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import ExitStack, aclosing, suppress
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from distrivote.server.errors import to_json

T = TypeVar("T")

KEEP_ALIVE = 10.0
"""Seconds without an event after which a comment is sent, so that no proxy closes the connection."""


def event(data: object, name: str | None = None) -> bytes:
    """Return one event.

    >>> event({"n_before": 1}, "queued")
    b'event: queued\\ndata: {"n_before":1}\\n\\n'
    """
    return (b"" if name is None else f"event: {name}\n".encode()) + b"data: " + to_json(data) + b"\n\n"


class ClientGone(Exception):
    """The client has disconnected."""


class EventStream(Response):
    """A reply of events, generated as they are sent; closing the connection closes their generator.

    `held` is closed at the end, also if the generator was never started. `keeps_alive` says whether a comment
    is sent after a long pause; between chunks that are not whole events it would corrupt one.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes], held: ExitStack, *, keeps_alive: bool = True) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._held = held
        self._keeps_alive = keeps_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        with self._held, suppress(ClientGone, OSError):
            await send(start)
            await _unless_disconnected(receive, self._send_all(send))

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._events) as events:
            following = asyncio.ensure_future(anext(events, None))
            try:
                while True:
                    done, _ = await asyncio.wait(
                        {following}, timeout=KEEP_ALIVE if self._keeps_alive else None
                    )
                    chunk = following.result() if done else b": still here\n\n"
                    if chunk is None:
                        break
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    if done:
                        following = asyncio.ensure_future(anext(events, None))
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await work for a client; if the client disconnects, cancel the work and raise ClientGone."""
    return await _unless_disconnected(request.receive, work)


async def _unless_disconnected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGone
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
