"""How much structure a request may have: values, depth, keys and entries, counted before the JSON is parsed.

Four megabytes hold a million empty objects: parsing and validating them took 14 s and 3 GB in the event loop.
Only bytes are inspected here, and counting ends at the first limit that is exceeded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from distrivote.server.errors import Failure, failure_of, failure_reply

MAX_VALUES = 20_000
"""Entries of all arrays and objects together."""

MAX_ENTRIES = 2_048
"""Entries of one array: messages of a conversation, parts of a message."""

MAX_KEYS = 512
"""Keys of one object."""

MAX_DEPTH = 64

_CHUNK = 1 << 18
_MARKS = np.zeros(256, dtype=np.bool_)
_MARKS[list(b"[]{},")] = True
_QUOTE = ord('"')
_NAMED = re.compile(rb'"([\w.-]{1,60})"\s*:\s*$')


class TooMuchError(Exception):
    """A request with more structure than is allowed."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class Bounds:
    """Refuses requests with too much structure; a layer inside `Guard`, which bounds size and time."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        try:
            message = await _whole(receive)
            check_structure(message.get("body", b""))
        except HTTPException as error:
            await failure_reply(failure_of(error))(scope, receive, send)
            return
        except TooMuchError as error:
            failure = Failure(400, "invalid_request_error", str(error), error.field)
            await failure_reply(failure)(scope, receive, send)
            return
        waiting: list[Message] = [message]

        async def replayed() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, replayed, send)


async def _whole(receive: Receive) -> Message:
    """Return a request's body as one ASGI message, or the disconnect message if its client is gone."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return {"type": "http.request", "body": b"".join(parts), "more_body": False}


def check_structure(body: bytes) -> None:
    """Raise TooMuchError for a body that must not be parsed; it need not be JSON.

    >>> check_structure(b'{"messages": [{"role": "user", "content": "{[,"}]}')
    """
    if b"\0" in body:
        raise TooMuchError("the request is not in UTF-8: send one JSON object in UTF-8")
    text = _without_escapes(body)
    inside: list[tuple[int, int, int]] = []  # bracket, its position, entries so far
    n_values = 0
    for position, mark in _marks(text):
        if mark in b"]}":
            if not inside:
                return
            inside.pop()
            continue
        n_values += 1
        if n_values > MAX_VALUES:
            raise TooMuchError(f"the request has more than {MAX_VALUES:,} values: shorten it")
        if mark in b"[{":
            if len(inside) == MAX_DEPTH:
                raise TooMuchError(f"the request is nested more than {MAX_DEPTH} deep: flatten it")
            inside.append((mark, position, 1))
        elif inside:
            bracket, begin, n_entries = inside[-1]
            most, what = (MAX_KEYS, "keys") if bracket == ord("{") else (MAX_ENTRIES, "entries")
            if n_entries == most:
                field = _field(text, begin)
                name = "a part of the request" if field is None else field
                raise TooMuchError(f"{name} has more than {most:,} {what}: shorten it", field)
            inside[-1] = (bracket, begin, n_entries + 1)


def _without_escapes(body: bytes) -> bytes:
    """Return JSON without escaped backslashes and quotes: each remaining quote begins or ends a string.

    Outside of strings a backslash is an error, so what comes after one need not be counted.
    """
    return body.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in body else body


def _marks(text: bytes) -> Iterator[tuple[int, int]]:
    """Yield positions and values of the brackets and commas outside strings."""
    is_in_string = np.uint8(0)
    for start in range(0, len(text), _CHUNK):
        part = np.frombuffer(text, dtype=np.uint8, count=min(_CHUNK, len(text) - start), offset=start)
        in_string = np.bitwise_xor.accumulate((part == _QUOTE).view(np.uint8)) ^ is_in_string
        is_in_string = in_string[-1]
        found = np.flatnonzero(_MARKS[part] & (in_string == 0))
        yield from zip((found + start).tolist(), part[found].tolist(), strict=True)


def _field(text: bytes, position: int) -> str | None:
    """Return the key before a bracket."""
    named = _NAMED.search(text[max(0, position - 100) : position])
    return None if named is None else named[1].decode(errors="replace")
