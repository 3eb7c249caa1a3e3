"""One OpenAI-compatible server: its health, requests to it, and the chunks of its streams."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from distrivote.engines.openai.agreement import TokenCounts, is_same_model
from distrivote.engines.openai.connection import Address, Connection, address_of
from distrivote.engines.openai.events import BOM, DONE, EventDecoder
from distrivote.engines.openai.facts import ServerFacts
from distrivote.engines.openai.faults import Fault, Scope, broken_off, fault_of_event, fault_of_reply
from distrivote.engines.openai.flaws import Flaw
from distrivote.engines.openai.fleet import Health
from distrivote.engines.openai.forwarded import Forwarded
from distrivote.engines.openai.patience import PATIENCE, Patience
from distrivote.engines.openai.protocol import Body, Prompt
from distrivote.engines.openai.reply import finish_of
from distrivote.engines.reply_fields import response_from
from distrivote.engines.wire import Response, Usage, decode_response
from distrivote.errors import InputError

__all__ = ["Server", "address_of"]

_USAGE = {"stream_options": {"include_usage": True}}
LARGEST = 256 << 20
"""Maximum bytes of one event, or of a complete reply."""

_EVENTS = re.compile(rb"\s*(data|event|id|retry|error)?:")
"""How a stream of events begins, whatever its content type says."""

_SHORT = 32
"""Bytes below which an event may be the last."""

_NO_ENDS = {"abort", "error"}
"""Finish reasons for an aborted reply: the server is shutting down, or lost its own upstream."""


class Server:
    """A server as one event loop reaches it: connections, health, and the facts that all loops share."""

    def __init__(
        self,
        address: Address,
        facts: ServerFacts,
        key: str | None,
        patience: Patience = PATIENCE,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self.url = address.shown
        self.facts = facts
        self.patience = patience
        self.health = Health(patience)
        self.n_garbled = 0
        """Consecutive invalid replies."""

        self.n_flaws_kept = 0
        """Consecutive trajectories whose flaw remained after retries."""

        self.counts = TokenCounts()
        self._said: str | None = None  # the model that its first reply names
        self._base = address.shown
        self._root = self._base.removesuffix("/v1")
        self._key = key
        self._secrets = tuple(value for value in (headers or {}).values() if len(value) >= 8)
        self._connection = Connection(address, key, patience, headers)

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    async def close(self) -> None:
        await self._connection.close()

    async def get(self, path: str) -> Any:
        """Return the JSON at a path of the API."""
        return await self._whole("GET", f"{self._base}/{path}", None)

    async def post(self, path: str, body: Body) -> Any:
        """Return the JSON that a path of the API answers."""
        return await self._whole("POST", f"{self._base}/{path}", body)

    @asynccontextmanager
    async def forward(self, path: str, content: bytes) -> AsyncIterator[Forwarded]:
        """Forward a request unchanged; its reply is returned unchanged, whatever its status."""
        async with self._connection.send("POST", f"{self._base}/{path}", content) as reply:
            self.health.hear()
            yield Forwarded(
                reply.status, reply.headers.get("content-type", "application/json"), reply.content.iter_any()
            )

    async def post_beside(self, path: str, body: Body) -> Any:
        """Return the JSON of a path outside the API: /tokenize and not /v1/tokenize."""
        return await self._whole("POST", f"{self._root}/{path}", body)

    async def _whole(self, method: str, url: str, body: Body | None) -> Any:
        try:
            async with (
                asyncio.timeout(self.patience.timeout),
                self._connection.request(method, url, body) as reply,
            ):
                content = await self._all_of(reply)
        except TimeoutError:
            raise broken_off(self.url, "its end did not come for a long time") from None
        if reply.status != 200:
            raise self._refusal(url, reply, content)
        self.health.hear()
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self.garbled("something that is not JSON") from error

    async def stream(self, prompt: Prompt, body: Body) -> AsyncGenerator[list[Response]]:
        """Yield the chunks of a reply as they arrive, or one with all choices if the server does not stream.

        Ends when the server ends the stream; a stream that is cut off raises a Fault.
        """
        url = f"{self._base}/{prompt.path}"
        for asked in (body | _USAGE, body) if self.facts.takes_stream_options else (body,):
            async with self._connection.request("POST", url, asked) as reply:
                if reply.status != 200:
                    fault = self._refusal(url, reply, await self._all_of(reply))
                    if asked is body or "stream_options" not in fault.words:
                        raise fault
                    self.facts.takes_stream_options = False
                    continue
                if "event-stream" in reply.headers.get("content-type", "event-stream"):
                    parts: AsyncIterator[bytes] = reply.content.iter_any()
                else:
                    content = (await self._all_of(reply)).removeprefix(BOM)
                    if not _EVENTS.match(content):
                        yield self._chunks(content)
                        return
                    parts = _at_once(content)
                async with aclosing(self._events(parts)) as events:
                    async for chunks in events:
                        yield chunks
                return

    async def _events(self, parts: AsyncIterator[bytes]) -> AsyncGenerator[list[Response]]:
        decoder = EventDecoder()
        ended: dict[int, bool] = {}
        n_waiting, heard = 0, time.monotonic()
        async for data in parts:
            self.health.hear()
            events = decoder.push(data)
            now = time.monotonic()
            if events:
                n_waiting, heard = 0, now
            n_waiting += len(data)
            # Keep-alive comments, or a line that never ends, do not count as a reply.
            if n_waiting > LARGEST:
                raise self._too_large()
            if now - heard > self.patience.timeout:
                raise broken_off(self.url, "nothing of use came for a long time")
            chunks, is_done = self._read(events, ended)
            if chunks:
                yield chunks
            if is_done:
                self._check_ends(ended)
                await _drain(parts, self.patience.drain)
                return
        chunks, is_done = self._read(decoder.flush(), ended)
        if chunks:
            yield chunks
        if not is_done and not ended:
            raise broken_off(self.url, "the connection closed before its end")
        self._check_ends(ended)

    def _read(self, events: list[bytes], ended: dict[int, bool]) -> tuple[list[Response], bool]:
        """Return the chunks of events, and whether they end the stream; note which choices have ended."""
        chunks: list[Response] = []
        for event in events:
            if len(event) < _SHORT and event.strip() == DONE:
                return chunks, True
            found = self._chunks(event)
            for chunk in found:
                for choice in chunk.choices:
                    number = choice.index or 0
                    ended[number] = ended.get(number, False) or finish_of(choice) is not None
            chunks += found
        return chunks, False

    def _check_ends(self, ended: dict[int, bool]) -> None:
        """Raise a Fault if a choice was started but not finished."""
        if not all(ended.values()):
            raise broken_off(self.url, "the connection closed before its end")

    def _chunks(self, event: bytes) -> list[Response]:
        """Return the chunks of an event; several if it has one on each of its lines."""
        try:
            found = [decode_response(event)]
        except (ValueError, RecursionError):
            found = self._odd_chunks(event)
        for chunk in found:
            error = chunk.error
            for choice in chunk.choices:
                error = error or choice.error
                if choice.finish_reason in _NO_ENDS:
                    raise broken_off(self.url, "by its own word")
            if error:
                raise self.reported(error)
        self.health.n_chunks += len(found)
        return found

    def _odd_chunks(self, event: bytes) -> list[Response]:
        lines = event.split(b"\n") if b"\n" in event else []
        try:
            return [response_from(json.loads(event.decode()))]
        except InputError as error:
            raise broken_off(self.url, f"a chunk can't be read: {error}") from None
        except (ValueError, TypeError, RecursionError):
            if not lines:
                raise broken_off(self.url, f"{event[:60]!r} is no chunk of a reply") from None
        return [chunk for line in lines if line.strip() for chunk in self._chunks(line)]

    async def _all_of(self, reply: aiohttp.ClientResponse) -> bytes:
        """Return a complete reply; raise a Fault if it is too large."""
        parts: list[bytes] = []
        n_bytes = 0
        async for part in reply.content.iter_any():
            parts.append(part)
            n_bytes += len(part)
            if n_bytes > LARGEST:
                raise self._too_large()
        return b"".join(parts)

    def _too_large(self) -> Fault:
        return broken_off(self.url, f"it has more than {LARGEST >> 20} MB")

    def garbled(self, what: str) -> Fault:
        """Return the fault of an unreadable reply; it is transient unless there are several in a row."""
        self.n_garbled += 1
        scope = Scope.SERVER if self.n_garbled >= self.patience.n_garbled else Scope.PASSING
        return Fault(f"{self.url} answers {what}", scope, hint="check `base_urls`", argument="base_urls")

    def reported(self, error: Any) -> Fault:
        """Return the fault of an error inside a reply."""
        return fault_of_event(self.url, error, model=self.facts.model, key=self._key, secrets=self._secrets)

    def model_flaw(self, said: str | None) -> Flaw | None:
        """Return what is wrong with a reply that names a model, None if it is the requested one."""
        if not said:
            return None
        self._said = self._said or said
        if is_same_model(self.facts.model, said):
            return None
        return Flaw(f"a reply of the model {said[:80]!r}", asks_again=said != self._said)

    def count_flaw(self, usage: Usage, n_shown: int, n_read: int, is_cut: bool) -> Flaw | None:
        """Return what is wrong with a reply if the received tokens are not as many as the server counted."""
        if not usage.completion_tokens:
            return None
        n_counted = usage.completion_tokens
        words = self.counts.flaw(n_shown=n_shown, n_read=n_read, n_counted=n_counted, is_cut=is_cut)
        return None if words is None else Flaw(words)

    def _refusal(self, url: str, reply: aiohttp.ClientResponse, content: bytes) -> Fault:
        path = urlsplit(url).path.removeprefix(urlsplit(self._base).path).lstrip("/")
        headers: Mapping[str, str] = reply.headers
        return fault_of_reply(
            *(self.url, path, reply.status, headers, content),
            model=self.facts.model,
            key=self._key,
            has_answered=self.facts.dialect is not None,
            secrets=self._secrets,
        )


async def _at_once(content: bytes) -> AsyncGenerator[bytes]:
    yield content


async def _drain(parts: AsyncIterator[bytes], seconds: float) -> None:
    """Read to the end, so that the connection can be reused; with a short timeout."""
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(seconds):
            async for _ in parts:
                pass
