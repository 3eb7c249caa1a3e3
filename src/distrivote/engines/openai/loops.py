"""What the OpenAI engine has in each event loop: connections, and the limit of trajectories in progress.

Sockets and locks of asyncio serve one loop, so that an engine has `Connections` for every loop in which it is
used: that of a caller who is asynchronous, and that of a thread of its own for one who is not. They are
closed with the engine, or with the loop if that ends before: a loop closes its asynchronous generators.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from typing import Any, Self, TypeVar

from distrivote.engines.openai.client import Server

T = TypeVar("T")


class Place:
    """A slot of a trajectory in progress; it is released to others while this trajectory waits for them."""

    def __init__(self, room: asyncio.Semaphore) -> None:
        self._room = room
        self._is_held = False

    async def __aenter__(self) -> Self:
        await self._room.acquire()
        self._is_held = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._is_held:
            self._is_held = False
            self._room.release()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Release the slot within a block; it is not acquired again if the block raises."""
        self._leave()
        yield
        await self.__aenter__()


class Connections:
    """The servers as one event loop reaches them."""

    def __init__(self, servers: list[Server], room: asyncio.Semaphore) -> None:
        self.servers = servers
        """Those that have left the fleet stay in the list."""

        self.room = room
        """Acquired by every trajectory; engines for other models of the same servers share it."""

        self.calls: set[asyncio.Task[Any]] = set()
        """Calls in progress."""

        self._held = self._hold()

    @property
    def present(self) -> list[Server]:
        """The servers of the fleet now; at least one."""
        return [server for server in self.servers if not server.health.gone]

    async def open(self) -> None:
        """Let the running loop close the connections when it ends."""
        await anext(self._held)

    async def close(self) -> None:
        """Cancel the calls in progress and close the connections."""
        for call in self.calls:
            call.cancel()
        await asyncio.gather(*self.calls, return_exceptions=True)
        await self._held.aclose()

    async def _hold(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for server in self.servers:
                await server.close()


_closing: set[asyncio.Task[None]] = set()


def close_in(loop: asyncio.AbstractEventLoop, connections: Connections, seconds: float) -> None:
    """Close the connections of a loop, whatever thread this is called from.

    In the loop's own thread it is only scheduled: it happens when the caller next awaits something.
    """
    if loop.is_closed():
        return
    if _running() is loop:
        task = loop.create_task(connections.close())
        _closing.add(task)
        task.add_done_callback(_closing.discard)
    elif loop.is_running():
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(connections.close(), loop).result(seconds)
    elif _running() is None:
        loop.run_until_complete(connections.close())


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class LoopThread:
    """An event loop in its own thread, which starts with the first coroutine."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        return self._loop

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="distrivote-openai", daemon=True
                )
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.submit(coroutine).result()

    def stop(self) -> None:
        """Cancel the tasks in progress, close the loop's generators, and end the thread."""
        if self._loop is None or self._thread is None:
            return
        self.do(_end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _end() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.sleep(0)  # sockets that were closed last are released in the next iteration of the loop
