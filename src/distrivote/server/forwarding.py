"""Requests that are forwarded to the upstream once, unchanged: no vote, and the reply is returned unchanged.

Only a short list of addresses is forwarded, because the operator's key pays for it. Limits, the client's own
key, the log and the metrics apply to them as to votes. A JSON reply says that it was not voted on; any other
says so in a header.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack

from starlette.requests import Request
from starlette.responses import Response

from distrivote.engines.abilities import ForwardedReply, Upstream
from distrivote.errors import InputError, SetupError
from distrivote.server.models import NamedModel
from distrivote.server.record import GONE, RequestRecord, record_of
from distrivote.server.replies import Service
from distrivote.server.routing import why_not_voted
from distrivote.server.schemas import ChatRequest, CompletionRequest
from distrivote.server.streaming import ClientGone, EventStream, unless_gone

PATHS = ("/v1/embeddings", "/v1/moderations", "/v1/rerank")
"""Paths that are forwarded in addition to those of votes."""

HEADER = "x-distrivote"
_LARGEST_JSON = 8 << 20
"""Bytes of a reply that is parsed to say that it was not voted on."""

_LONGEST_NAME = 120
_MISSING = (404, 405, 501)
"""Statuses with which servers answer for paths that they do not have."""


async def named_model(service: Service, request: Request, name: str) -> NamedModel:
    """Return which model a request names, and record it, as "unlisted" if it does not exist."""
    named = await service.models.named(name)
    record_of(request).model = named.model if service.models.knows(named.model) else "unlisted"
    return named


def why_forwarded(service: Service, body: ChatRequest | CompletionRequest, named: NamedModel) -> str | None:
    """Return why a request is forwarded and not voted on, None if it is voted on.

    InputError if it can't be voted on and nothing is forwarded.
    """
    settings = service.backend.settings
    own = None if body.distrivote is None else body.distrivote.budget
    why = why_not_voted(body, own or named.budget or settings.budget)
    if why is None and named.model != service.models.default and named.method is None:
        # A request with settings of the vote wants a vote.
        why = None if body.distrivote is not None else _other_model(service, named.model)
    if why is not None and not forwards(service):
        raise InputError(f"{why}: leave that out, or use a server that forwards it")
    return why


def forwards(service: Service) -> bool:
    """Return whether requests that can't be voted on are forwarded."""
    return isinstance(service.backend.engine, Upstream) and not service.backend.settings.strict


def _other_model(service: Service, model: str) -> str:
    vote = f"{service.backend.pipeline.name}@{service.backend.settings.budget}"
    return (
        f"model is {model[:_LONGEST_NAME]!r}, and without a method only {service.models.default!r} is voted"
        f" for (a vote is {vote}/MODEL)"
    )


async def forward_request(
    service: Service, request: Request, path: str, why: str, model: str | None = None
) -> Response:
    """Send a request to the upstream and return its reply as it arrives.

    Args:
        service: The server.
        request: The request.
        path: The path after /v1/.
        why: Why it is not voted on.
        model: The name that the upstream knows the model by.
    """
    engine, record = service.backend.engine, record_of(request)
    assert isinstance(engine, Upstream)
    content = _sent(await request.body(), model)
    stack = AsyncExitStack()
    stack.enter_context(service.limit.slot())
    record.forwarded = True
    try:
        reply = await unless_gone(request, stack.enter_async_context(engine.forward(path, content)))
        if reply.status == 401:
            # The client's own key was accepted, so 401 would mislead it.
            raise SetupError("the upstream refused the key that this server has for it")
        if reply.content_type.startswith("application/json"):
            whole = await unless_gone(request, _whole(reply))
            _count(record, reply)
            await stack.aclose()
            if path == "responses" and reply.status in _MISSING and b"model" not in whole:
                raise InputError(f"{why}, and the upstream has no /v1/responses: leave that out")
            return Response(_marked(whole, why), reply.status, _headers(why), reply.content_type)
    except ClientGone:
        await stack.aclose()
        record.status = GONE
        return Response(status_code=GONE)
    except BaseException:
        await stack.aclose()
        raise
    stream = EventStream(_parts(record, reply, stack), ExitStack(), keeps_alive=False)
    stream.status_code = reply.status
    stream.headers.update(_headers(why) | {"content-type": reply.content_type})
    return stream


async def _whole(reply: ForwardedReply) -> bytes:
    return b"".join([part async for part in reply.parts()])


def _count(record: RequestRecord, reply: ForwardedReply) -> None:
    record.n_tokens, record.n_prompt_tokens = reply.n_tokens, reply.n_prompt_tokens


async def _parts(
    record: RequestRecord, reply: ForwardedReply, stack: AsyncExitStack
) -> AsyncGenerator[bytes]:
    record.status = GONE
    try:
        async with stack:
            async for part in reply.parts():
                yield part
        record.status = reply.status
    finally:
        _count(record, reply)


def _sent(content: bytes, model: str | None) -> bytes:
    """Return a body as the upstream knows it: without our own fields, and otherwise the same bytes."""
    if model is None and b'"distrivote"' not in content:
        return content
    document = json.loads(content)
    is_own = document.pop("distrivote", None) is not None
    if model in (None, document.get("model")) and not is_own:
        return content
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
