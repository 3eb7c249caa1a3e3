"""One OpenAI-compatible server: its address, its connections, requests and streams.

Exceptions of httpx stop here: whatever fails comes out as a Fault. The key is kept in the headers of the
client and appears nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from distrivote.engines.openai.facts import ServerFacts
from distrivote.engines.openai.faults import (
    Fault,
    Scope,
    broken_off,
    fault_of_event,
    fault_of_reply,
    unreachable,
)
from distrivote.engines.openai.fleet import Health
from distrivote.engines.openai.patience import PATIENCE, Patience
from distrivote.engines.openai.protocol import Body, EventDecoder, Prompt, finish_of
from distrivote.errors import InputError

_USAGE = {"stream_options": {"include_usage": True}}
LARGEST = 256 << 20
"""Bytes of one event, or of a reply in one piece."""

_EVENTS = re.compile(rb"\s*(data|event|id|retry|error)?:")
"""How a stream of events begins, whatever its type is said to be."""

_NO_ENDS = {"abort", "error"}
"""Ends by which a server says that it broke off: it is shutting down, or lost the one behind it."""


class Usage(NamedTuple):
    """How many tokens a request has cost, as far as its server has said it: at the end, as a rule."""

    n_prompt: int | None = None
    n_reply: int | None = None
    """Those of all its replies."""

    def then(self, later: Usage) -> Usage:
        return Usage(later.n_prompt or self.n_prompt, later.n_reply or self.n_reply)


class Chunk(NamedTuple):
    """What one event of a stream says."""

    choices: list[dict[str, Any]]
    usage: Usage


class Address(NamedTuple):
    """Where a server is."""

    base: str
    """With its credentials, if it has any; paths of the API follow it."""

    shown: str
    """Without credentials."""


def address_of(url: str) -> Address:
    """Return the address that a base URL means, with or without /v1 and what people copy after it.

    >>> address_of("localhost:8000").shown, address_of("http://u:p@h/v1/chat/completions").shown
    ('http://localhost:8000/v1', 'http://h/v1')
    """
    text = url.strip()
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(
            f"the base URL is {_without_login(text)!r}: give an address such as http://localhost:8000/v1"
        )
    try:
        httpx.URL(text if "://" in text else f"http://{text}")
    except httpx.InvalidURL as error:
        raise InputError(f"the base URL is {_without_login(text)!r}: {error}") from None
    path = parts.path.rstrip("/")
    for tail in ("/chat/completions", "/completions", "/models"):
        path = path.removesuffix(tail)
    login, _, _ = parts.netloc.rpartition("@")
    place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "") + (path or "/v1")
    return Address(f"{parts.scheme}://{login}@{place}" if login else f"{parts.scheme}://{place}",
                   f"{parts.scheme}://{place}")  # fmt: skip


def _without_login(url: str) -> str:
    return url.rpartition("@")[2]


class Server:
    """A server as one event loop reaches it: connections, health, and the facts that all loops share."""

    def __init__(
        self, address: Address, facts: ServerFacts, key: str | None, patience: Patience = PATIENCE
    ) -> None:
        self.url = address.shown
        self.facts = facts
        self.patience = patience
        self.health = Health(patience)
        self.n_garbled = 0
        """Replies in a row that were no replies."""

        self.n_flaws_kept = 0
        """Trajectories in a row whose flaw stayed when they were asked for again."""

        self._root = address.base.removesuffix("/v1")
        self._base = address.base
        self._key = key
        headers = httpx.Headers({"Authorization": f"Bearer {key}"} if key else {})
        try:
            self._client = httpx.AsyncClient(
                headers=headers,
                timeout=httpx.Timeout(patience.timeout, connect=patience.connect, pool=None),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise InputError(
                f"the environment names a proxy that can't be used ({str(error).partition('. ')[0]}): set"
                " ALL_PROXY, HTTP_PROXY and HTTPS_PROXY to http:// addresses, or unset them; for socks5:// do"
                " pip install 'httpx[socks]'"
            ) from error

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    async def close(self) -> None:
        await self._client.aclose()

    async def get(self, path: str) -> Any:
        """Return the JSON at a path of the API."""
        return await self._whole("GET", f"{self._base}/{path}", None)

    async def post(self, path: str, body: Body) -> Any:
        """Return the JSON that a path of the API answers."""
        return await self._whole("POST", f"{self._base}/{path}", body)

    async def post_beside(self, path: str, body: Body) -> Any:
        """Return the JSON that a path beside the API answers: /tokenize and not /v1/tokenize."""
        return await self._whole("POST", f"{self._root}/{path}", body)

    async def _whole(self, method: str, url: str, body: Body | None) -> Any:
        try:
            async with (
                asyncio.timeout(self.patience.timeout),
                self._client.stream(method, url, json=body) as reply,
            ):
                content = await self._all_of(reply)
        except httpx.HTTPError as error:
            raise self._fault_of(error) from error
        except TimeoutError:
            raise broken_off(self.url, "its end did not come for a long time") from None
        if reply.status_code != 200:
            raise self._refusal(url, reply, content)
        self.health.hear()
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self.garbled("something that is not JSON") from error

    async def stream(self, prompt: Prompt, body: Body) -> AsyncGenerator[Chunk]:
        """Yield every chunk of a reply, or one with all choices if the server does not stream.

        Ends when the server says that it is done; a stream that breaks off is a Fault.
        """
        url = f"{self._base}/{prompt.path}"
        try:
            for asked in (body | _USAGE, body) if self.facts.takes_stream_options else (body,):
                async with self._client.stream("POST", url, json=asked) as reply:
                    if reply.status_code != 200:
                        fault = self._refusal(url, reply, await self._all_of(reply))
                        if asked is body or "stream_options" not in fault.words:
                            raise fault
                        self.facts.takes_stream_options = False
                        continue
                    if "event-stream" in reply.headers.get("content-type", "event-stream"):
                        parts = reply.aiter_bytes()
                    else:
                        content = await self._all_of(reply)
                        if not _EVENTS.match(content):
                            yield self._chunk(content)
                            return
                        parts = _at_once(content)
                    async with aclosing(self._events(parts)) as events:
                        async for chunk in events:
                            yield chunk
                    return
        except httpx.HTTPError as error:
            raise self._fault_of(error) from error

    async def _events(self, parts: AsyncIterator[bytes]) -> AsyncGenerator[Chunk]:
        decoder = EventDecoder()
        ended: dict[str, bool] = {}
        n_waiting, heard = 0, time.monotonic()
        async with aclosing(parts):  # type: ignore[type-var]
            async for data in parts:
                self.health.hear()
                events = decoder.push(data)
                if events:
                    n_waiting, heard = 0, time.monotonic()
                n_waiting += len(data)
                # Comments that keep a connection open, or a line that never ends, are no reply.
                if n_waiting > LARGEST:
                    raise self._too_large()
                if time.monotonic() - heard > self.patience.timeout:
                    raise broken_off(self.url, "nothing of use came for a long time")
                for event in events:
                    if event == b"[DONE]":
                        await _drain(parts, self.patience.drain)
                        return
                    chunk = self._chunk(event)
                    _take_ends(chunk, ended)
                    yield chunk
        for event in decoder.flush():
            if event == b"[DONE]":
                return
            chunk = self._chunk(event)
            _take_ends(chunk, ended)
            yield chunk
        if not ended or not all(ended.values()):
            raise broken_off(self.url, "the connection closed before its end")

    def _chunk(self, event: bytes) -> Chunk:
        try:
            chunk = json.loads(event.decode())
            error = chunk.get("error")
            choices = chunk.get("choices") or []
            for choice in choices:
                error = error or choice.get("error")
        except (ValueError, AttributeError, TypeError, RecursionError):
            raise broken_off(self.url, f"{event[:60]!r} is no chunk of a reply") from None
        if error:
            raise self.reported(error)
        if _NO_ENDS & {finish_of(choice) for choice in choices}:
            raise broken_off(self.url, "by its own word")
        self.health.n_chunks += 1
        usage = chunk.get("usage")
        return Chunk(
            list(choices), Usage(_counted(usage, "prompt_tokens"), _counted(usage, "completion_tokens"))
        )

    async def _all_of(self, reply: httpx.Response) -> bytes:
        """Return a reply in one piece, unless it is larger than any should be."""
        parts: list[bytes] = []
        n_bytes = 0
        async for part in reply.aiter_bytes():
            parts.append(part)
            n_bytes += len(part)
            if n_bytes > LARGEST:
                raise self._too_large()
        return b"".join(parts)

    def _too_large(self) -> Fault:
        return broken_off(self.url, f"it has more than {LARGEST >> 20} MB")

    def garbled(self, what: str) -> Fault:
        """Return the fault of a reply that can't be read; it passes unless there are several in a row."""
        self.n_garbled += 1
        scope = Scope.SERVER if self.n_garbled >= self.patience.n_garbled else Scope.PASSING
        return Fault(f"{self.url} answers {what}", scope, hint="check `base_urls`", argument="base_urls")

    def reported(self, error: Any) -> Fault:
        """Return the fault of an error inside a reply."""
        return fault_of_event(self.url, error, model=self.facts.model, key=self._key)

    def _refusal(self, url: str, reply: httpx.Response, content: bytes) -> Fault:
        path = urlsplit(url).path.removeprefix(urlsplit(self._base).path).lstrip("/")
        headers: Mapping[str, str] = reply.headers
        return fault_of_reply(
            *(self.url, path, reply.status_code, headers, content),
            model=self.facts.model,
            key=self._key,
            has_answered=self.facts.dialect is not None,
        )

    def _fault_of(self, error: httpx.HTTPError) -> Fault:
        if isinstance(error, httpx.ConnectTimeout):
            return unreachable(self.url, f"no answer within {self.patience.connect:g} seconds")
        if isinstance(error, httpx.ConnectError):
            return unreachable(self.url, _reason(error))
        if isinstance(error, httpx.TimeoutException):
            return broken_off(self.url, "nothing came for a long time")
        return broken_off(self.url, str(error) or type(error).__name__)


def _counted(usage: Any, name: str) -> int | None:
    n = usage.get(name) if isinstance(usage, dict) else None
    return n if isinstance(n, int) and n >= 0 else None


def _take_ends(chunk: Chunk, ended: dict[str, bool]) -> None:
    """Take note of which choices of a stream have come to their ends; each has a number."""
    for choice in chunk.choices:
        number = str(choice.get("index") or 0)
        ended[number] = ended.get(number, False) or finish_of(choice) is not None


async def _at_once(content: bytes) -> AsyncGenerator[bytes]:
    yield content


async def _drain(parts: AsyncIterator[bytes], seconds: float) -> None:
    """Read to the end, so that the connection can be used again; not for long."""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(seconds):
            async for _ in parts:
                pass


def _reason(error: BaseException) -> str:
    """Return why a connection failed: the name unknown, or refused."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return "no such host"
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused"
        cause = cause.__cause__ or cause.__context__
    return str(error) or "no connection"
