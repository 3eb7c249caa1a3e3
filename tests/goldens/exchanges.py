"""What the server is asked over HTTP, and what it answers, as text.

A conversation is a server and the requests that it gets one after the other. Engines play stored
trajectories back. Replies of events are shown event by event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx

from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from goldens.normal import normal, pretty, rounded, steady
from serving import POOL, serving

KEY = "not-so-secret"
MODEL = "org/replay"
SETTINGS = Settings(budget=20, api_key=KEY, max_body=20_000)
_SHOWN = ("content-type", "retry-after", "www-authenticate", "allow", "location")
_NOT_SHOWN = ("date", "content-length", "server", "etag", "last-modified")
_LONGEST = 4_000
"""Characters of a page that are shown."""


@dataclass(frozen=True)
class Asked:
    """A request."""

    address: str
    """As in `GET /v1/models`."""

    body: Any = None
    """JSON, or bytes as they are."""

    headers: Mapping[str, str] = field(default_factory=lambda: {"authorization": f"Bearer {KEY}"})
    whole: bool = False
    """Whether to show all headers of the reply."""

    meaning: str = ""
    """Shown in place of a body that is too long to be."""


@dataclass(frozen=True)
class Conversation:
    """A server and what it is asked."""

    name: str
    asked: tuple[Asked, ...]
    engine: Callable[[], Any] = lambda: ReplayEngine(POOL, MODEL)
    settings: Settings = SETTINGS
    method: str = "dis-gmm"
    busy: bool = False
    """Whether somebody else has the only place while these are asked."""


def conversation_text(conversation: Conversation) -> str:
    """Return a conversation as text."""
    blocks = []
    with (
        serving(conversation.engine(), conversation.settings, conversation.method) as url,
        httpx.Client(base_url=url, timeout=60) as client,
        _held(client) if conversation.busy else nullcontext(),
    ):
        for asked in conversation.asked:
            blocks += _exchange(client, asked)
    return "\n".join(blocks) + "\n"


@contextmanager
def _held(client: httpx.Client) -> Iterator[None]:
    """Wait for an answer that does not come."""
    with client.stream("POST", "/api/ask", json={"question": "?"}) as held:
        lines = held.iter_lines()  # dropping it would close the connection
        assert next(lines) == "event: started"
        yield


def _exchange(client: httpx.Client, asked: Asked) -> list[str]:
    method, path = asked.address.split(" ", 1)
    content = asked.body if isinstance(asked.body, bytes | None) else json.dumps(asked.body).encode()
    headers = dict(asked.headers)
    if content is not None:
        headers.setdefault("content-type", "application/json")
    answer = client.request(method, path, content=content, headers=headers)
    lines = [f">>> {asked.address}"]
    own = {name: value for name, value in asked.headers.items() if value != f"Bearer {KEY}"}
    if own or not asked.headers:
        lines.append(f"headers: {json.dumps(own)}")
    if asked.meaning:
        lines.append(f"({asked.meaning})")
    elif isinstance(asked.body, bytes):
        lines.append(asked.body.decode("utf-8", "backslashreplace"))
    elif asked.body is not None:
        lines.append(pretty(asked.body))
    lines.append(f"<<< {answer.status_code}")
    lines += [
        f"{name}: {value}"
        for name, value in sorted(answer.headers.items())
        if (name not in _NOT_SHOWN if asked.whole else name in _SHOWN)
    ]
    return [*lines, *_content(answer), ""]


def _content(answer: httpx.Response) -> list[str]:
    kind = answer.headers.get("content-type", "")
    if kind.startswith("text/event-stream"):
        return [_event_text(name, data) for name, data in steady(_events(answer.text))]
    if kind.startswith("application/json"):
        return [normal(pretty(rounded(answer.json())))]
    text = normal(answer.text)
    return [text if len(text) <= _LONGEST else f"({kind}, too long to be shown)"]


def _events(text: str) -> Iterator[tuple[str, Any]]:
    for block in text.split("\n\n"):
        if block and not block.startswith(":"):
            first, _, rest = block.rpartition("\n")
            data = rest.removeprefix("data: ")
            yield first.removeprefix("event: "), data if data == "[DONE]" else json.loads(data)


def _event_text(name: str, data: Any) -> str:
    start = f"event: {name}\n" if name else ""
    return start + "data: " + normal(data if isinstance(data, str) else pretty(rounded(data)))
