"""`/v1/chat/completions`: a conversation in, the text or the tool calls of the best trajectory out."""

from __future__ import annotations

import json
import secrets
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from distrivote.engines.abilities import Upstream
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.server.choices import ChoicesShape
from distrivote.server.forwarding import forward_request, named_model, why_forwarded
from distrivote.server.models import NamedModel
from distrivote.server.questions import Question, question_of
from distrivote.server.replies import Best, Service, reply
from distrivote.server.routing import kind_asked, upstream_fields
from distrivote.server.schemas import ChatMessage, ChatRequest


class ChatShape(ChoicesShape):
    """How chat completions write a reply."""

    prefix = "chatcmpl"
    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    def choice(self, best: Best) -> dict[str, Any]:
        content = (best.text or None) if best.calls else best.text
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        if best.reasoning:
            message["reasoning_content"] = best.reasoning
        if best.calls:
            message["tool_calls"] = tool_calls(best)
        return {"index": 0, "message": message, "finish_reason": best.finish_reason, "logprobs": None}

    def piece(self, text: str | None, finish_reason: str | None, *, first: bool = False) -> dict[str, Any]:
        delta: dict[str, Any] = {"role": "assistant"} if first else {}
        if text is not None:
            delta["content"] = text
        return {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}

    def extras(self, best: Best) -> list[dict[str, Any]]:
        """Return what is streamed in addition to the text: the thinking, and tool calls."""
        deltas: list[dict[str, Any]] = []
        if best.reasoning:
            deltas.append({"reasoning_content": best.reasoning})
        if best.calls:
            deltas.append({"tool_calls": [{"index": at} | call for at, call in enumerate(tool_calls(best))]})
        return [{"index": 0, "delta": delta, "finish_reason": None, "logprobs": None} for delta in deltas]


def tool_calls(best: Best) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{secrets.token_hex(12)}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for call in best.calls
    ]


async def answer_chat(service: Service, request: Request, body: ChatRequest) -> Response:
    """Answer a chat request with a vote, in chunks if it wants them, or forward it."""
    named = await named_model(service, request, body.model)
    why = why_forwarded(service, body, named)
    if why is not None:
        return await forward_request(service, request, "chat/completions", why, named.model)
    question = question_of_chat(service, body, named)
    options = body.stream_options
    shape = ChatShape(question, include_usage=bool(options and options.include_usage))
    return await reply(service, request, question, shape, streams=bool(body.stream))


def question_of_chat(service: Service, body: ChatRequest, named: NamedModel) -> Question:
    """Return the question of a chat request."""
    limits = {limit for limit in (body.max_tokens, body.max_completion_tokens) if limit is not None}
    if len(limits) > 1:
        raise InputError("max_tokens and max_completion_tokens differ: leave one of them out")
    backend = service.backend_for(named.model)
    fields = upstream_fields(body, isinstance(backend.engine, Upstream))
    return question_of(
        body,
        named,
        [_turn(message) for message in body.messages],
        next(iter(limits), None),
        backend,
        kind=kind_asked(body),
        upstream=fields,
    )


def _turn(message: ChatMessage) -> Message:
    content = message.content
    text = content if isinstance(content, str) else "".join(part["text"] for part in content or ())
    more = {name: value for name, value in (message.model_extra or {}).items() if value is not None}
    if message.name is not None:
        more["name"] = message.name
    if content is None and more:
        more["content"] = None
    # Chat templates of models have no role `developer`; the equivalent is `system`.
    role = "system" if message.role == "developer" else message.role
    return Message(role, text, json.dumps(more) if more else "")
