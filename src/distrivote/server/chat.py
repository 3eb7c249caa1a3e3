"""`/v1/chat/completions`: a conversation in, the text of the best trajectory out."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.server.questions import Question, question_of
from distrivote.server.replies import Service, reply, stream
from distrivote.server.schemas import ChatMessage, ChatRequest


class ChatShape:
    """How chat completions dress a text."""

    endpoint = "chat"
    prefix = "chatcmpl"
    whole = "chat.completion"
    part = "chat.completion.chunk"

    def choice(self, text: str, finish_reason: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        return {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}

    def piece(self, text: str | None, finish_reason: str | None, *, first: bool) -> dict[str, Any]:
        delta: dict[str, Any] = {"role": "assistant"} if first else {}
        if text is not None:
            delta["content"] = text
        return {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}


async def answer_chat(service: Service, request: Request, body: ChatRequest) -> Response:
    """Answer a chat request, in chunks if it wants them."""
    question = question_of_chat(service, body)
    if body.stream:
        options = body.stream_options
        return stream(service, question, ChatShape(), bool(options and options.include_usage))
    return await reply(service, request, question, ChatShape())


def question_of_chat(service: Service, body: ChatRequest) -> Question:
    """Return what a chat request asks."""
    limits = {limit for limit in (body.max_tokens, body.max_completion_tokens) if limit is not None}
    if len(limits) > 1:
        raise InputError("max_tokens and max_completion_tokens differ: leave one of them out")
    turns = [_turn(message) for message in body.messages]
    return question_of(body, turns, next(iter(limits), None), service.house)


def _turn(message: ChatMessage) -> Message:
    content = message.content
    text = content if isinstance(content, str) else "".join(part.text for part in content)
    # Models know no developer; their templates call it system.
    return Message("system" if message.role == "developer" else message.role, text)
