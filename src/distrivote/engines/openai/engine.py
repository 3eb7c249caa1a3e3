"""The client of any OpenAI-compatible server, or of several: hosted APIs, vLLM, SGLang, llama.cpp's server.

A thread of the engine runs an asyncio loop in which all trajectories are streamed at once; they come out of
an ordinary generator as they finish. Closing the generator closes the connections, upon which servers stop.
Random numbers are the servers': trajectory i is asked for with a seed made from (seed, i), and whether that
reproduces it is theirs to say. See docs/openai.md.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from distrivote.engines.base import BatchEngine, Job, Sampled, Watch
from distrivote.engines.openai.capabilities import models_of
from distrivote.engines.openai.client import Server, address_of
from distrivote.engines.openai.faults import Fault, Scope
from distrivote.engines.openai.patience import PATIENCE, Patience
from distrivote.engines.openai.protocol import ENDPOINTS
from distrivote.engines.openai.scheduler import Call, Note, Settings
from distrivote.errors import DistrivoteError, EngineError, InputError, UnknownNameError
from distrivote.steering import Controller

T = TypeVar("T")

SSC_BY = ("auto", "plugin", "continuation", "off")
"""How SelfStepConf is done: by the server's plugin or by continuation, whichever there is; or not at all."""

_WATCH_SECONDS = 0.2
_END = object()


class OpenAIEngine(BatchEngine):
    """Samples from OpenAI-compatible servers."""

    name = "openai"
    concurrent = True

    def __init__(
        self,
        base_urls: str | Sequence[str],
        model: str | None = None,
        api_key: str | None = None,
        *,
        endpoint: str = "chat",
        ssc_by: str = "auto",
        n_parallel: int = 64,
        n_per_request: int = 1,
        timeout: float | None = None,
        patience: Patience = PATIENCE,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Connect to one server or several.

        Args:
            base_urls: Their addresses, with or without /v1.
            model: Which model; if not given, the only one that they have.
            api_key: Sent to all of them; if not given, OPENAI_API_KEY, and none if there is none.
            endpoint: `chat`, or `completions` for models without turns (messages are joined, see
                `plain_prompt`).
            ssc_by: How SelfStepConf is done, from `SSC_BY`.
            n_parallel: How many trajectories are under way at most, on all servers together.
            n_per_request: How many are asked for in one request: hosted APIs charge the prompt once then. The
                seed is that of the first, so a run that was stopped does not go on with the same numbers.
            timeout: Seconds without anything from a server before it counts as failed; 600 if not given.
            patience: All other timeouts, delays and limits of retries.
            say: Called with a sentence that the user should know; `notes` keeps them.
        """
        urls = [base_urls] if isinstance(base_urls, str) else list(base_urls)
        _require(bool(urls), "there is no base URL: give at least one, such as http://localhost:8000/v1")
        _require(n_parallel >= 1, f"n_parallel is {n_parallel}: give 1 or more")
        _require(1 <= n_per_request <= 128, f"n_per_request is {n_per_request}: give 1 to 128")
        if timeout is not None:
            _require(timeout > 0, f"timeout is {timeout}: give a number of seconds above 0")
            patience = replace(patience, timeout=timeout)
        if endpoint not in ENDPOINTS:
            raise UnknownNameError("endpoint", endpoint, ENDPOINTS)
        if ssc_by not in SSC_BY:
            raise UnknownNameError("way of SelfStepConf", ssc_by, SSC_BY)
        key = api_key or os.environ.get("OPENAI_API_KEY") or None
        _require(
            key is None or (key.isascii() and key.isprintable() and " " not in key),
            "the API key holds spaces, line breaks or letters beyond ASCII: copy it again",
        )
        addresses = list(dict.fromkeys(map(address_of, urls)))
        self.notes: list[str] = []
        """What the user should know, in the order in which it was found."""

        self._say = say
        self._settings = Settings(endpoint, ssc_by, n_per_request, patience)
        self._n_parallel = n_parallel
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="distrivote-openai", daemon=True)
        self._thread.start()
        self._room = self._do(_made(lambda: asyncio.Semaphore(n_parallel)))
        self._servers: list[Server] = []
        try:
            self._servers = self._do(
                _made(lambda: [Server(address, model or "", key, patience) for address in addresses])
            )
            self.model = model or self._do(_only_model(self._servers))
        except BaseException:
            self.close()
            raise
        for server in self._servers:
            server.model = self.model

    def __repr__(self) -> str:
        return f"OpenAIEngine({[server.url for server in self._servers]!r}, model={self.model!r})"

    def sample_jobs(
        self, jobs: Sequence[Job], controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish, mixed.

        One EngineError at the end says how many are missing and why, if any are.
        """
        if controller is not None and controller.released:
            raise InputError(
                "SelfStepConf as published can't be had from a server: it exchanges two probabilities where"
                " tokens are sampled, and goes by the most likely tokens, which a reply shows only in part."
                " Use the embedded, transformers or vllm engine, or leave --as-published out"
            )
        if not any(job.indices for job in jobs):
            return
        results: SimpleQueue[Any] = SimpleQueue()
        call = Call(self._servers, self._settings, jobs, controller, results, self._room)
        future = self._submit(_then(call.run(self._n_parallel), lambda: results.put(_END)))
        ended = False
        try:
            for item in self._results(results, call, watch):
                if isinstance(item, Note):
                    self._take_note(item.sentence)
                else:
                    yield item
            ended = True
            future.result()
        except CancelledError:
            raise DistrivoteError(
                "the engine was closed while it was sampling: close it afterwards"
            ) from None
        finally:
            if not ended:
                future.cancel()
                with suppress(Empty):
                    while results.get(timeout=self._settings.patience.cancel) is not _END:
                        pass

    def release(self) -> None:
        """End the thread and close the connections."""
        self._do(_closed(self._servers))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _results(self, results: SimpleQueue[Any], call: Call, watch: Watch | None) -> Generator[Any]:
        """Yield what comes, and look at the progress in between."""
        seen = -math.inf
        while True:
            try:
                item = results.get(timeout=_WATCH_SECONDS)
            except Empty:
                item = None
            now = time.monotonic()
            if watch is not None and (item is _END or now - seen >= _WATCH_SECONDS):
                watch(call.progress)
                seen = now
            if item is _END:
                return
            if item is not None:
                yield item

    def _take_note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)
            self._say(sentence)

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._submit(coroutine).result()


async def _made(make: Callable[[], T]) -> T:
    """Make something in the loop that it belongs to."""
    return make()


async def _then(coroutine: Coroutine[Any, Any, None], last: Callable[[], None]) -> None:
    try:
        await coroutine
    finally:
        last()


async def _closed(servers: Sequence[Server]) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for server in servers:
        await server.close()
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.sleep(0)  # sockets that were closed last are let go of in the next turn of the loop


async def _only_model(servers: Sequence[Server]) -> str:
    """Return the model that all servers have, if it is only one."""
    found: dict[str, None] = {}
    fault: Fault | None = None
    for answer in await asyncio.gather(*map(models_of, servers), return_exceptions=True):
        if isinstance(answer, Fault):
            fault = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found |= dict.fromkeys(answer)
    if len(found) == 1:
        return next(iter(found))
    if not found and fault is not None:
        raise EngineError(fault.sentence, retryable=fault.scope is Scope.PASSING) from fault
    where = ", ".join(server.url for server in servers)
    if not found:
        raise EngineError(f"{where} names no model: give its name by --model")
    listed = ", ".join(list(found)[:8]) + (", ..." if len(found) > 8 else "")
    raise InputError(f"{where} has {len(found)} models: give one by --model: {listed}")


def _require(fits: bool, sentence: str) -> None:
    if not fits:
        raise InputError(sentence)
