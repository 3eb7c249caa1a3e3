"""Checks of every request (key, host name, size and timeout of the body), and security headers for replies.

A plain ASGI middleware: it sees headers and bytes, and does not parse the body.
"""

from __future__ import annotations

import asyncio
import hmac
import traceback
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from distrivote.server.errors import failure_of, failure_reply
from distrivote.server.settings import Settings

GUARDED = ("/v1", "/api", "/metrics")
"""Paths that need the key: all except the page's files, /health, /ready and the documentation."""

HEADERS = {
    # Scripts and styles are loaded from this server only, without eval; model output is never markup.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class ServerMistake(Exception):
    """An unexpected exception as logged: type and code locations, no message (it may quote a request)."""


def places_of(error: BaseException) -> str:
    """Return the type of an exception and the code locations of its traceback, the innermost first.

    >>> places_of(KeyError("a question"))
    'KeyError'
    """
    frames = reversed(traceback.extract_tb(error.__traceback__))
    places = [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames]
    inner = error.__cause__ or error.__context__
    caused = "" if inner is None else f", after {places_of(inner)}"
    return f"{type(error).__name__}{''.join(f' < {place}' for place in places[:_N_PLACES])}{caused}"


_N_PLACES = 12


class Guard:
    """Refuses requests before they reach the application."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._max_body = settings.max_body
        self._body_seconds = settings.body_seconds
        self._hosts = tuple(host.lower() for host in settings.hosts)
        key = settings.api_key
        self._expected = None if key is None else key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def send_safely(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(GUARDED):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            self._check(scope)
        except HTTPException as error:
            reply = failure_reply(failure_of(error))
            if error.status_code == 400:
                reply.headers["connection"] = "close"
            await reply(scope, receive, send_safely)
            return
        try:
            await self._app(scope, self._counted(receive), send_safely)
        except Exception as error:
            # Starlette answers unexpected exceptions outside of this middleware, without security headers.
            if not begun:
                await failure_reply(failure_of(error))(scope, receive, send_safely)
            raise ServerMistake(places_of(error)) from None

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and "content-length" in headers:
            # Two lengths for one body: a proxy in front may have used the other one (request smuggling).
            raise HTTPException(400, "the request has Content-Length and Transfer-Encoding: send one of them")
        if self._hosts and _name(headers.get("host", "")).lower() not in self._hosts:
            raise HTTPException(403, f"this server is addressed by {', '.join(self._hosts)} only")
        if self._expected is not None and scope["path"].startswith(GUARDED):
            given = headers.get("authorization", "").encode("latin-1", "replace")
            scheme, _, key = given.partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(key.strip(), self._expected):
                what = "the API key is wrong" if given else "there is no API key"
                raise HTTPException(401, f"{what}: send the server's as 'Authorization: Bearer KEY'")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._max_body:
            raise HTTPException(413, self._too_large())

    def _counted(self, receive: Receive) -> Receive:
        n_bytes, is_whole = 0, False
        end = asyncio.get_running_loop().time() + self._body_seconds

        async def counted() -> Message:
            nonlocal n_bytes, is_whole
            if is_whole:
                return await receive()  # the next message says that the client disconnected
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                words = f"the request did not come within {self._body_seconds:g} s: send it faster"
                raise HTTPException(408, words) from None
            is_whole = not message.get("more_body", False)
            n_bytes += len(message.get("body", b""))
            if n_bytes > self._max_body:
                raise HTTPException(413, self._too_large())
            return message

        return counted

    def _too_large(self) -> str:
        return (
            f"the request has more than {self._max_body:,} bytes, which is the most that is taken: shorten it"
        )


def _name(host: str) -> str:
    """Return a host without its port.

    >>> _name("127.0.0.1:8765"), _name("[::1]:8765"), _name("localhost")
    ('127.0.0.1', '::1', 'localhost')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] or host
