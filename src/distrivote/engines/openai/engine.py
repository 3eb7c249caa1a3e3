"""The client of any OpenAI-compatible server, or of several: hosted APIs, vLLM, SGLang, llama.cpp's server.

All trajectories of a call are streamed at once in an event loop: that of the caller (`asample`), or that of a
thread of the engine (`sample`, `sample_all`), from which they come out of an ordinary generator as they
finish. Closing the generator closes the connections, which makes servers stop. They draw the random numbers:
trajectory i is requested with a seed made from (seed, i), and whether that reproduces it depends on them.
See docs/openai.md.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from distrivote.defaults import N_PARALLEL, K
from distrivote.engines.abilities import NextTokens
from distrivote.engines.base import BatchEngine, Job, Sampled, SamplingParams, Watch, job_of
from distrivote.engines.openai.capabilities import models_of
from distrivote.engines.openai.client import Server
from distrivote.engines.openai.connection import Address
from distrivote.engines.openai.discovery import Discovery
from distrivote.engines.openai.embeddings import vectors_of
from distrivote.engines.openai.extras import Extras
from distrivote.engines.openai.facts import ServerFacts
from distrivote.engines.openai.faults import Fault
from distrivote.engines.openai.forwarded import Forwarded
from distrivote.engines.openai.loops import Connections, LoopThread, close_in
from distrivote.engines.openai.many import ask_each, first_token_body, first_tokens
from distrivote.engines.openai.patience import PATIENCE, Patience
from distrivote.engines.openai.protocol import ENDPOINTS
from distrivote.engines.openai.roster import Roster
from distrivote.engines.openai.scheduler import Call, CallSettings, Note
from distrivote.errors import DistrivoteError, EngineError, InputError, UnknownNameError
from distrivote.nouns import verb
from distrivote.problem import Message
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory

SSC_BY = ("auto", "plugin", "continuation", "off")
"""How SelfStepConf is done: by the server's plugin or by continuation, whichever there is; or not at all."""

_WATCH_SECONDS = 0.2
_LIST_SECONDS = 10.0
_MOST_MODELS = 256
_UNLIMITED = 1 << 30
_END = object()


class OpenAIEngine(BatchEngine):
    """Samples from OpenAI-compatible servers."""

    name = "openai"
    concurrent = True

    def __init__(
        self,
        base_urls: str | Sequence[str] | None = None,
        model: str | None = None,
        api_key: str | None = None,
        *,
        endpoint: str = "chat",
        ssc_by: str = "auto",
        n_parallel: int = N_PARALLEL,
        n_per_server: int | None = None,
        n_per_request: int = 1,
        timeout: float | None = None,
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        reasoning_effort: str | None = None,
        patience: Patience = PATIENCE,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Connect to one server or several.

        Args:
            base_urls: Their addresses, with or without /v1; `@FILE` for a file with one per line, and
                `dns:URL` for all addresses of a name, both read again while it samples; if not given,
                OPENAI_BASE_URL.
            model: Which model; if not given, the only one that they have.
            api_key: Sent to all of them; by default OPENAI_API_KEY, if set.
            endpoint: `chat`, or `completions` for models without turns (messages are joined, see
                `plain_prompt`).
            ssc_by: How SelfStepConf is done, from `SSC_BY`.
            n_parallel: The maximum number of trajectories in progress, on all servers together.
            n_per_server: The same at each server, in place of `n_parallel`.
            n_per_request: How many are requested at once: hosted APIs then charge the prompt once. The
                seed is that of the first, so an interrupted run does not resume with the same random numbers.
            extra_body: Fields that every request has: OpenRouter's `provider`, DeepSeek's `thinking`, ...
            headers: Headers that every request has.
            reasoning_effort: How much a model thinks, in the words of its host: none, low, high, ...
            timeout: Seconds without anything from a server before it counts as failed; 600 if not given.
            patience: All other timeouts, delays and limits of retries.
            say: Called with a sentence that the user should know; `notes` keeps them.
        """
        if base_urls is None:
            base_urls = os.environ.get("OPENAI_BASE_URL") or ()
        urls = [base_urls] if isinstance(base_urls, str) else list(base_urls)
        _require(bool(urls), "there is no base URL: give at least one, such as http://localhost:8000/v1")
        extras = Extras(extra_body or {}, headers or {}, reasoning_effort)
        _require(n_parallel >= 1, f"n_parallel is {n_parallel}: give 1 or more")
        _require(n_per_server is None or n_per_server >= 1, f"n_per_server is {n_per_server}: give 1 or more")
        _require(1 <= n_per_request <= 128, f"n_per_request is {n_per_request}: give 1 to 128")
        if timeout is not None:
            _require(timeout > 0, f"timeout is {timeout}: give a number of seconds above 0")
            patience = replace(patience, timeout=timeout)
        if endpoint not in ENDPOINTS:
            raise UnknownNameError("endpoint", endpoint, ENDPOINTS, argument="endpoint")
        if ssc_by not in SSC_BY:
            raise UnknownNameError("way of SelfStepConf", ssc_by, SSC_BY, argument="ssc_by")
        key = api_key or os.environ.get("OPENAI_API_KEY") or None
        _require(
            key is None or (key.isascii() and key.isprintable() and " " not in key),
            "the API key holds spaces, line breaks or letters beyond ASCII: copy it again",
        )
        self._roster = Roster(urls)
        self.notes: list[str] = []
        """Notes for the user, in the order in which they arose."""

        self._say = say
        self.request_settings = extras.settings()
        """What is added to every request, as a run records it."""

        self._settings = CallSettings(endpoint, ssc_by, n_per_request, n_per_server, patience, extras.fields)
        # With a limit for each server there is none for all.
        self._n_parallel = n_parallel if n_per_server is None else _UNLIMITED
        self._addresses, self._key, self._headers = self._roster.addresses(), key, extras.headers
        self._facts = {address: ServerFacts(model or "") for address in self._addresses}
        # Created here, so that an invalid proxy raises an error here; the first loop uses them.
        self._spare = [self._make_servers()]
        self._urls = [server.url for server in self._spare[0]]
        self._connections: dict[asyncio.AbstractEventLoop, Connections] = {}
        self._thread = LoopThread()
        self._others: dict[str, OpenAIEngine] = {}
        self._first: OpenAIEngine | None = None
        try:
            self.model = model or self._thread.do(self._only_model())
        except BaseException:
            self.close()
            raise
        for facts in self._facts.values():
            facts.model = self.model

    def for_model(self, model: str) -> OpenAIEngine:
        """Return the engine for another model of the same servers, which is closed with this one.

        What it samples counts towards `n_parallel` of this one.
        """
        if self._first is not None:
            return self._first.for_model(model)
        if model == self.model:
            return self
        if model not in self._others:
            if len(self._others) >= _MOST_MODELS:
                raise InputError(f"{len(self._others)} other models are in use already: use one of them")
            other = copy(self)
            other.model, other.notes = model, []
            other._facts = {address: ServerFacts(model) for address in self._addresses}
            other._spare, other._connections, other._thread = [], {}, LoopThread()
            other._others, other._first = {}, self
            self._others[model] = other
        return self._others[model]

    def __repr__(self) -> str:
        return f"OpenAIEngine({self._urls!r}, model={self.model!r})"

    def sample_jobs(
        self, jobs: Sequence[Job], controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish, interleaved.

        One EngineError at the end says how many are missing and why, if any are.
        """
        _refuse_released(controller)
        if not any(job.indices for job in jobs):
            return
        results: SimpleQueue[Any] = SimpleQueue()
        call = Call(self._settings, jobs, controller, results.put, results.qsize, self._follow)
        future = self._thread.submit(_then(self._run(call), lambda: results.put(_END)))
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
            raise _closed_while_sampling() from None
        finally:
            if not ended:
                future.cancel()
                with suppress(Empty):
                    while results.get(timeout=self._settings.patience.cancel) is not _END:
                        pass

    async def asample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> AsyncGenerator[Trajectory]:
        """Yield n trajectories as they finish, sampled in the running loop; `aclose()` cancels the rest."""
        _refuse_released(controller)
        job = job_of(messages, n, params, indices)
        if not job.indices:
            return
        with self._call():
            results: asyncio.Queue[Any] = asyncio.Queue()
            put, n_waiting = results.put_nowait, results.qsize
            call = Call(self._settings, [job], controller, put, n_waiting, self._follow)
            task = asyncio.create_task(self._run(call))
            task.add_done_callback(lambda _: results.put_nowait(_END))
            try:
                while (item := await _next(results, call, watch)) is not _END:
                    if isinstance(item, Note):
                        self._take_note(item.sentence)
                    else:
                        yield item.trajectory
                if task.cancelled():
                    raise _closed_while_sampling()
                await task
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    @asynccontextmanager
    async def forward(self, path: str, content: bytes) -> AsyncIterator[Forwarded]:
        """Forward a request unchanged to the first server, with the key of this engine and without a vote.

        `path` is that after /v1; raises EngineError if the server can't be reached.
        """
        connections = await self._connected()
        try:
            async with connections.present[0].forward(path, content) as reply:
                yield reply
        except Fault as fault:
            raise fault.error() from fault

    def embed(self, texts: Sequence[str], model: str | None = None) -> list[list[float]]:
        """Return a vector for each text, by /v1/embeddings of the first server.

        EngineError if it has none, or gives something else.
        """
        with self._call():
            return self._thread.do(self._embedded(list(texts), model or self.model))

    async def _embedded(self, texts: list[str], model: str) -> list[list[float]]:
        connections = await self._connected()
        try:
            reply = await connections.present[0].post("embeddings", {"model": model, "input": texts})
        except Fault as fault:
            raise EngineError(fault.sentence) from fault
        return vectors_of(reply, len(texts))

    def next_tokens(self, prompts: Sequence[Sequence[Message]]) -> Generator[tuple[int, NextTokens]]:
        """Yield the most probable first tokens of the reply to each prompt, as they arrive."""
        bodies = [first_token_body(self.model, messages, self._settings.extra) for messages in prompts]
        for number, reply in self.ask_all("chat/completions", bodies):
            yield number, first_tokens(reply)

    def ask_all(
        self, path: str, bodies: Sequence[Mapping[str, Any]], *, beside: bool = False
    ) -> Generator[tuple[int, Any]]:
        """Yield the number of each request and its reply, as they arrive; transient failures are retried.

        `beside`: the path is outside the API, such as /pooling. The servers share the requests.
        """
        results: SimpleQueue[Any] = SimpleQueue()
        work = ask_each(self._connected, path, bodies, self._settings.patience, results.put, beside=beside)
        with self._call():
            future = self._thread.submit(_then(work, lambda: results.put(_END)))
            try:
                while (item := results.get()) is not _END:
                    yield item
                future.result()
            except Fault as fault:
                raise fault.error() from fault
            except CancelledError:
                raise _closed_while_sampling() from None
            finally:
                future.cancel()

    async def models(self) -> list[str]:
        """Return the names of the models that the first server has; none if it does not list them."""
        connections = await self._connected()
        with suppress(Fault, TimeoutError):
            async with asyncio.timeout(_LIST_SECONDS):
                return await models_of(connections.present[0])
        return []

    async def unready(self) -> str | None:
        """Return why no server would answer now, None if one would; nothing is sampled."""
        reasons = [await self._unready(server) for server in (await self._connected()).present]
        return None if None in reasons else "; ".join(filter(None, reasons))

    async def _unready(self, server: Server) -> str | None:
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                await server.get("models")
        except TimeoutError:
            return f"{server.url} did not answer within {_LIST_SECONDS:g} s"
        except Fault as fault:
            # A server that does not list its models is still ready.
            return None if fault.status in (404, 405, 501) else fault.sentence
        return None

    def can_steer(self, controller: Controller) -> bool:
        """Return whether the servers support a controller; they are probed with a few tokens.

        Servers that do not answer now are assumed to.
        """
        with self._call():
            if controller.released:
                return False
            return self._thread.do(self._steers(controller))

    async def _steers(self, controller: Controller) -> bool:
        if self._settings.ssc_by == "off":
            return False
        servers = (await self._connected()).present
        discovery = Discovery(self._settings, controller, self._take_note)
        await discovery.probe_all(servers, K)
        return discovery.controller is not None

    async def _run(self, call: Call) -> None:
        """Run a call in the running loop."""
        connections = await self._connected()
        task = asyncio.current_task()
        assert task is not None
        connections.calls.add(task)
        try:
            await call.run(connections.servers, connections.room, self._n_parallel)
        finally:
            connections.calls.discard(task)

    async def _connected(self) -> Connections:
        """Return the connections of the running loop."""
        if self._is_closed:
            raise _closed_while_sampling()
        loop = asyncio.get_running_loop()
        if loop not in self._connections:
            for other in [other for other in self._connections if other.is_closed()]:
                del self._connections[other]
            servers = self._spare.pop() if self._spare else self._make_servers()
            room = asyncio.Semaphore(self._n_parallel)
            if self._first is not None:
                room = (await self._first._connected()).room
            if loop not in self._connections:
                self._connections[loop] = Connections(servers, room)
                await self._connections[loop].open()
        return self._connections[loop]

    @property
    def _follow(self) -> Callable[[], Coroutine[Any, Any, None]] | None:
        return self._look_again if self._roster.changes else None

    async def _look_again(self) -> None:
        """Read which servers there are now, and let them come and go in the running loop."""
        self._addresses = await asyncio.to_thread(self._roster.addresses)
        for note in self._roster.notes:
            self._take_note(note)
        connections = await self._connected()
        there = {server.address for server in connections.present}
        for server in connections.present:
            server.health.gone = server.address not in self._addresses
        for address in self._addresses:
            if address not in there:
                # One that comes back may be another one.
                self._facts[address] = ServerFacts(self.model)
                connections.servers.append(self._make_server(address))

    def _make_servers(self) -> list[Server]:
        return [self._make_server(address) for address in self._addresses]

    def _make_server(self, address: Address) -> Server:
        facts, patience = self._facts[address], self._settings.patience
        return Server(address, facts, self._key, patience, headers=self._headers)

    def release(self) -> None:
        """Close the connections in all loops, and end the thread; those of other models first."""
        for other in self._others.values():
            other.close()
        for loop, connections in list(self._connections.items()):
            if loop is not self._thread.loop:
                close_in(loop, connections, self._settings.patience.cancel)
        self._thread.stop()
        self._connections.clear()

    def _results(self, results: SimpleQueue[Any], call: Call, watch: Watch | None) -> Generator[Any]:
        """Yield the results, and report the progress in between; none is lost if `watch` raises."""
        seen = -math.inf
        while True:
            try:
                item = results.get(timeout=_WATCH_SECONDS)
            except Empty:
                item = None
            now = time.monotonic()
            if watch is not None and (item is _END or now - seen >= _WATCH_SECONDS):
                try:
                    watch(call.progress)
                except BaseException:
                    yield from _finished(item, results)
                    raise
                seen = now
            if item is _END:
                return
            if item is not None:
                yield item

    def _take_note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)
            self._say(sentence)

    async def _only_model(self) -> str:
        """Return the model that all servers have, if it is only one."""
        servers = (await self._connected()).present
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
            raise fault.error() from fault
        where = ", ".join(server.url for server in servers)
        if not found:
            raise EngineError(f"{where} names no model", hint="give its name as `model`", argument="model")
        listed = ", ".join(list(found)[:8]) + (", ..." if len(found) > 8 else "")
        each = ", or the model of each server, separated by commas" if len(servers) > 1 else ""
        raise InputError(
            f"{where} {verb(len(servers), 'have')} {len(found)} models",
            hint=f"give one as `model`{each}: {listed}",
            argument="model",
        )


async def _then(coroutine: Coroutine[Any, Any, None], last: Callable[[], None]) -> None:
    try:
        await coroutine
    finally:
        last()


def _finished(item: Any, results: SimpleQueue[Any]) -> Iterator[Any]:
    """Yield an item and those that wait behind it."""
    while item is not _END:
        if item is not None:
            yield item
        try:
            item = results.get_nowait()
        except Empty:
            return


async def _next(results: asyncio.Queue[Any], call: Call, watch: Watch | None) -> Any:
    """Return the next result; report the progress while waiting for it, and at the end."""
    if watch is None:
        return await results.get()
    while True:
        item = None
        with suppress(TimeoutError):
            async with asyncio.timeout(_WATCH_SECONDS):
                item = await results.get()
        if item is None or item is _END:
            watch(call.progress)
        if item is not None:
            return item


def _refuse_released(controller: Controller | None) -> None:
    if controller is not None and controller.released:
        raise InputError(
            "SelfStepConf as published can't be had from a server: it exchanges two probabilities where"
            " tokens are sampled, and goes by the most likely tokens, which a reply shows only in part",
            hint="use the embedded, transformers or vllm engine, or leave out `as_published=True`",
            argument="as_published",
        )


def _closed_while_sampling() -> DistrivoteError:
    return DistrivoteError("the engine was closed while it was sampling: close it afterwards")


def _require(fits: bool, sentence: str) -> None:
    if not fits:
        raise InputError(sentence)
