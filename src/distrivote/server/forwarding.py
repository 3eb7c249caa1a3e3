"""Requests that go to the upstream once, as they are: no vote, the same bytes back.

Only a short list of addresses is passed on, for it is the operator's key that pays. Limits, the client's own
key and the metrics hold for them as for votes. A JSON reply says that it was not voted on; any other says so
in a header.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Protocol, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response

from distrivote.engines.openai.client import Forwarded
from distrivote.errors import DistrivoteError, InputError
from distrivote.server.errors import failure_of
from distrivote.server.questions import parse_model
from distrivote.server.replies import GONE, Service, held_slot
from distrivote.server.routing import why_not_voted
from distrivote.server.schemas import ChatRequest, CompletionRequest
from distrivote.server.streaming import EventStream

PATHS = ("/v1/embeddings", "/v1/moderations", "/v1/rerank")
"""Addresses besides the two of votes that are passed on."""

HEADER = "x-distrivote"
_LARGEST_JSON = 8 << 20
"""Bytes of a reply that is opened to say that it was not voted on."""


@runtime_checkable
class Forwarding(Protocol):
    """An engine with an upstream that takes requests as they are."""

    def forward(self, path: str, content: bytes) -> Any: ...


async def passed_on(
    service: Service, request: Request, body: ChatRequest | CompletionRequest, path: str
) -> Response | None:
    """Return the upstream's reply to a request that is not voted on, None if it is."""
    engine, settings = service.backend.engine, service.backend.settings
    named = parse_model(body.model, engine.model)
    own = None if body.distrivote is None else body.distrivote.budget
    why = why_not_voted(body, own or named.budget or settings.budget)
    if why is None:
        return None
    if settings.strict or not isinstance(engine, Forwarding):
        raise InputError(f"{why}: leave that out, or use a server that passes it on")
    content = await request.body()
    return await forward(service, path, content, why, named.model if named.model != body.model else None)


async def forward(
    service: Service, path: str, content: bytes, why: str, model: str | None = None
) -> Response:
    """Send a request to the upstream and hand its reply on.

    Args:
        service: The server.
        path: The address after /v1/.
        content: The body as it came.
        why: Why it is not voted on.
        model: The name that the upstream knows the model by, if the request has another.
    """
    engine = service.backend.engine
    assert isinstance(engine, Forwarding)
    endpoint = f"forward {path}"
    held = held_slot(service, endpoint)
    stack = AsyncExitStack()
    try:
        stack.enter_context(held)
        reply: Forwarded = await stack.enter_async_context(engine.forward(path, _sent(content, model)))
        if reply.content_type.startswith("application/json"):
            whole = b"".join([part async for part in reply.parts])
            await stack.aclose()
            service.metrics.answered(endpoint, reply.status)
            return Response(_marked(whole, why), reply.status, _headers(why), reply.content_type)
    except DistrivoteError as error:
        await stack.aclose()
        service.metrics.answered(endpoint, failure_of(error).status)
        raise
    except BaseException:
        await stack.aclose()
        raise
    stream = EventStream(_parts(service, endpoint, reply, stack), ExitStack())
    stream.status_code = reply.status
    stream.headers.update(_headers(why) | {"content-type": reply.content_type})
    return stream


async def _parts(
    service: Service, endpoint: str, reply: Forwarded, stack: AsyncExitStack
) -> AsyncGenerator[bytes]:
    status = GONE
    try:
        async with stack:
            parts: AsyncIterator[bytes] = reply.parts
            async for part in parts:
                yield part
        status = reply.status
    finally:
        service.metrics.answered(endpoint, status)


def _sent(content: bytes, model: str | None) -> bytes:
    """Return a body as the upstream knows it: without our own fields."""
    if model is None and b'"distrivote"' not in content:
        return content
    document = json.loads(content)
    document.pop("distrivote", None)
    if model is not None:
        document["model"] = model
    return json.dumps(document).encode()


def _marked(content: bytes, why: str) -> bytes:
    """Return a JSON reply that says it was not voted on."""
    if len(content) > _LARGEST_JSON:
        return content
    try:
        document = json.loads(content)
    except ValueError:
        return content
    if not isinstance(document, dict):
        return content
    return json.dumps(document | {"distrivote": {"voted": False, "why": why}}).encode()


def _headers(why: str) -> dict[str, str]:
    plain = why.encode("ascii", "replace").decode()
    return {HEADER: f"voted=false; why={plain}", "cache-control": "no-store"}
