"""HTTP to one server: addresses, connections, proxies, keys. The only module that knows the HTTP library.

aiohttp was chosen by measurement (bench/wire.py): it reads a stream of small chunks in about half the time
of httpx, since its parser is compiled. Its exceptions are converted here: every failure is raised as
a Fault. The key is kept in the headers of the session and appears nowhere else.
"""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import yarl

from distrivote.engines.openai.faults import Fault, broken_off, unreachable
from distrivote.engines.openai.patience import Patience
from distrivote.errors import InputError

_N_KEPT_SECONDS = 4.0
"""How long a connection is kept for the next request: less than servers keep it."""

_LONGEST_LINE = 1 << 16
"""Bytes of a line of the headers."""


_LONGEST_SHOWN = 200
_LONGEST_HOST = 253
"""Characters of a host's name, by the standard."""


class Address(NamedTuple):
    """Where a server is."""

    base: str
    """With its credentials, if it has any; paths of the API follow it."""

    shown: str
    """Without credentials."""


def address_of(url: str) -> Address:
    """Return the address of a base URL, with or without /v1 and the paths that people copy with it.

    >>> address_of("localhost:8000").shown, address_of("http://u:p@h/v1/chat/completions").shown
    ('http://localhost:8000/v1', 'http://h/v1')
    """
    text = url.strip()
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = SplitResult("", "", "", "", ""), None, None
    is_name = host is not None and host.isprintable() and " " not in host and len(host) <= _LONGEST_HOST
    if parts.scheme not in ("http", "https") or not host or not is_name:
        raise InputError(
            f"the base URL is {_shortened(_without_login(text))!r}: give an address such as"
            " http://localhost:8000/v1"
        )
    try:
        yarl.URL(text if "://" in text else f"http://{text}")
    except ValueError as error:
        raise InputError(f"the base URL is {_shortened(_without_login(text))!r}: {error}") from None
    path = parts.path.rstrip("/")
    for tail in ("/chat/completions", "/completions", "/models"):
        path = path.removesuffix(tail)
    login, _, _ = parts.netloc.rpartition("@")
    place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "") + (path or "/v1")
    return Address(f"{parts.scheme}://{login}@{place}" if login else f"{parts.scheme}://{place}",
                   f"{parts.scheme}://{place}")  # fmt: skip


def _shortened(url: str) -> str:
    return url if len(url) <= _LONGEST_SHOWN else f"{url[:_LONGEST_SHOWN]}..."


def _without_login(url: str) -> str:
    return url.rpartition("@")[2]


class Connection:
    """The connections to one server in one event loop."""

    def __init__(
        self, address: Address, key: str | None, patience: Patience, headers: Mapping[str, str] | None = None
    ) -> None:
        self._url = address.shown
        self._patience = patience
        self._proxy = _proxy_of(address.shown)
        self._headers = {"Content-Type": "application/json"}
        login, at, _ = urlsplit(address.base).netloc.rpartition("@")
        if at:
            self._headers["Authorization"] = f"Basic {base64.b64encode(unquote(login).encode()).decode()}"
        elif key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._headers |= headers or {}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def request(self, method: str, url: str, body: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request; its reply is closed at the end of the block, also on an early exit."""
        content = None if body is None else json.dumps(body).encode()
        async with self.send(method, url, content) as reply:
            yield reply

    @asynccontextmanager
    async def send(
        self, method: str, url: str, content: bytes | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request whose body is already serialized."""
        try:
            reply = await self._reply(method, url, content)
            async with reply:
                yield reply
        except (aiohttp.ClientError, OSError) as error:
            raise self._fault_of(error) from error

    async def _reply(self, method: str, url: str, content: bytes | None) -> aiohttp.ClientResponse:
        """Return a reply once its headers have arrived.

        A server may close a kept-alive connection just when it is reused: then the request is retried once.
        """
        used = _Used()
        send = partial(
            self._opened().request, method, url, data=content, proxy=self._proxy, allow_redirects=False
        )
        try:
            return await send(trace_request_ctx=used)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not used.again:
                raise
            return await send()

    def _opened(self) -> aiohttp.ClientSession:
        """Return the session; creating it needs a running event loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=self._patience.connect, sock_read=self._patience.timeout
                ),
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_N_KEPT_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[_watched()],
                max_line_size=_LONGEST_LINE,
                max_field_size=_LONGEST_LINE,
            )
        return self._session

    def _fault_of(self, error: BaseException) -> Fault:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return unreachable(self._url, f"no answer within {self._patience.connect:g} seconds")
        if isinstance(error, aiohttp.ClientConnectorError):
            return unreachable(self._url, _reason(error))
        if isinstance(error, TimeoutError):
            return broken_off(self._url, "nothing came for a long time")
        return broken_off(self._url, str(error) or type(error).__name__)


class _Used:
    """The connection of one request: whether it was used before."""

    again = False


def _watched() -> aiohttp.TraceConfig:
    """Return the trace that records reused connections."""

    async def note(_session: Any, context: Any, _params: Any) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx.again = True

    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(note)
    return config


def _proxy_of(url: str) -> str | None:
    """Return the proxy for an address according to the environment, None if there is none."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        found = yarl.URL(proxy)
    except ValueError:
        found = yarl.URL()
    if found.scheme not in ("http", "https") or not found.host:
        kind = f"{found.scheme}://" if found.scheme else "no address"
        raise InputError(
            f"the environment names a proxy that can't be used ({kind}): set ALL_PROXY, HTTP_PROXY and"
            " HTTPS_PROXY to http:// addresses, or unset them"
        )
    return proxy


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
