"""Requests of almost four megabytes that are made to cost a server time and memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator
from typing import Any, NamedTuple

SIZE = 3_990_000
CHAT, COMPLETIONS, ASK = "/v1/chat/completions", "/v1/completions", "/api/ask"
_OPEN = '{"model":"replay","messages":'
_ASKED = _OPEN + '[{"role":"user","content":"hi"}]'


class Body(NamedTuple):
    name: str
    content: bytes
    path: str = CHAT


def _list(entry: str, n: int | None = None) -> str:
    return "[" + ",".join([entry] * (n or (SIZE - 200) // (len(entry) + 1))) + "]"


def _keys(value: str, n: int = 300_000) -> str:
    return "{" + ",".join(f'"{i}":{value}' for i in range(n)) + "}"


def _filled(text: str, piece: str) -> bytes:
    """Return a body whose $ is pieces up to the size."""
    before, _, after = text.partition("$")
    n = (SIZE - len(before) - len(after)) // len(piece.encode())
    return (before + piece * n + after).encode()


def bodies() -> Iterator[Body]:
    """Yield the attacks, those of the same size that are fine, and those just inside of the bounds."""
    for entry in ("{}", '{"r":1}', "[]", "1", '""', '{"role":"user","content":""}'):
        yield Body(f"messages {entry}", f"{_OPEN}{_list(entry)}}}".encode())
    for field in ("stop", "tools", "modalities"):
        yield Body(field, f'{_ASKED},"{field}":{_list("1")}}}'.encode())
    yield Body("stops", f'{_ASKED},"stop":{_list("{}", 2_000)}}}'.encode())
    part = '{"type":"text","text":""}'
    yield Body("parts", f'{_OPEN}[{{"role":"user","content":{_list(part)}}}]}}'.encode())
    yield Body("prompts", f'{{"model":"replay","prompt":{_list(chr(34) * 2)}}}'.encode(), COMPLETIONS)
    yield Body("keys", _keys("1").encode())
    for field in ("logit_bias", "metadata", "distrivote", "stream_options"):
        yield Body(f"keys of {field}", f'{_ASKED},"{field}":{_keys("1")}}}'.encode())
    for opening in ("[", '{"a":', '[{"a":'):
        yield Body(f"nested {opening}", _filled("$", opening))
    yield Body("UTF-16", ("\ufeff" + _OPEN + _list("{}", 600_000) + "}").encode("utf-16-le"))
    # Just inside of the bounds, with an error everywhere.
    yield Body("all keys wrong", f"{_OPEN}{_list(_keys('1', 35), 500)}}}".encode())
    yield Body("500 keys wrong", _keys("1", 500).encode())
    yield Body(
        "500 long keys wrong", _keys("1", 500).replace(":", "x" * 7_900 + ":").encode().replace(b'"x', b"x")
    )
    yield Body("2,000 messages wrong", f"{_OPEN}{_list('{}', 2_000)}}}".encode())
    yield Body(
        "2,000 messages", f"{_OPEN}{_list('{' + chr(34) + 'role' + chr(34) + ':1}', 2_000)}}}".encode()
    )
    # Long strings and numbers.
    for piece in ("a", '\\"', "\\\\", "\\u0041", "\U0001f600", "{[,:]}", "{{{{", "}}]]"):
        yield Body(f"text {piece}", _filled(_OPEN + '[{"role":"user","content":"$"}]}', piece))
    yield Body("one wide letter", _filled(_OPEN + '[{"role":"user","content":"\U0001f600$"}]}', "a"))
    yield Body("integer", _filled(_ASKED + ',"seed":$}', "1"))
    yield Body("fraction", _filled(_ASKED + ',"temperature":0.$}', "1"))
    yield Body("spaces", _filled("$}", " "))
    yield Body("a long key", _filled('{"$":1}', "a"))
    yield Body("model", _filled('{"model":"$","messages":[{"role":"user","content":"hi"}]}', "a@1/"))
    for field in ("method", "stop_when", "deepconf", "template", "same"):
        for piece in ("a+", "vote:1,-", "{question}"):
            yield Body(f"{field} {piece}", _filled(f'{_ASKED},"distrivote":{{"{field}":"$"}}}}', piece))
    yield Body("split", _filled(_ASKED + ',"distrivote":{"ssc":{"split":"$"}}}', "window:"))
    yield Body("role", _filled(_OPEN + '[{"role":"$","content":"hi"}]}', "a"))
    question = "a" * 100_000
    yield Body("template", _filled(f'{{"question":"{question}","template":"$"}}', "{question}"), ASK)


class Answered(NamedTuple):
    status: int
    body: bytes
    peak: int
    """Bytes that were allocated at most, zero if they were not counted."""


def answered(app: Any, body: Body, *, counted: bool = False) -> Answered:
    """Hand a body to an application, without sockets in between."""
    sent: list[dict[str, Any]] = []
    handed = [{"type": "http.request", "body": body.content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if handed:
            return handed.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": body.path,
        "raw_path": body.path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    if counted:
        tracemalloc.start()
    try:
        asyncio.run(app(scope, receive, send))
        peak = tracemalloc.get_traced_memory()[1] if counted else 0
    finally:
        tracemalloc.stop()
    return Answered(sent[0]["status"], b"".join(message.get("body", b"") for message in sent), peak)
