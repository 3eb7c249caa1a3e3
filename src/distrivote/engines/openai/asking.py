"""One request as chunks of its replies, streamed or not."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from distrivote.engines.openai.client import Server
from distrivote.engines.openai.faults import Fault
from distrivote.engines.openai.protocol import Body, Prompt
from distrivote.engines.reply_fields import response_from
from distrivote.engines.wire import Response


async def chunks_of(server: Server, prompt: Prompt, body: Body) -> AsyncGenerator[list[Response]]:
    """Yield the chunks of a stream as they arrive, or one with all choices of a complete reply.

    With tools, a server that gives log-probabilities only in whole replies is asked for these, and one that
    gives none is asked for none.
    """
    facts, has_tools = server.facts, bool(body.get("tools"))
    if body.get("stream") and (facts.streams_tools or not has_tools):
        try:
            async with aclosing(server.stream(prompt, body)) as batches:
                async for chunks in batches:
                    yield chunks
            return
        except Fault as fault:  # refused before the first chunk
            if not (has_tools and _names_logprobs(fault)):
                raise
            facts.streams_tools = False
    if has_tools and not facts.measures_tools:
        body = _unmeasured(body)
    try:
        reply = await whole_reply(server, prompt, body)
    except Fault as fault:
        if not (has_tools and "logprobs" in body and _names_logprobs(fault)):
            raise
        facts.measures_tools = False
        reply = await whole_reply(server, prompt, _unmeasured(body))
    server.health.n_chunks += 1
    yield [response_from(reply)]


def _names_logprobs(fault: Fault) -> bool:
    return fault.status == 400 and "logprobs" in fault.words


def _unmeasured(body: Body) -> Body:
    return {name: value for name, value in body.items() if name not in ("logprobs", "top_logprobs")}


async def whole_reply(server: Server, prompt: Prompt, body: Body) -> dict[str, Any]:
    """Return a reply that was requested without streaming; raise a Fault for an error inside it."""
    whole = {name: value for name, value in body.items() if name != "stream"}
    response = await server.post(prompt.path, whole)
    if isinstance(response, dict) and response.get("error"):
        raise server.reported(response["error"])
    if not isinstance(response, dict) or not response.get("choices"):
        raise server.garbled(f"{str(response)[:60]!r}, which is no reply")
    server.n_garbled = 0
    return response
