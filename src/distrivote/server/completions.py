"""`/v1/completions`: a prompt in, the text of the best trajectory out."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.server.forwarding import Forwarding, passed_on
from distrivote.server.questions import Question, question_of
from distrivote.server.replies import Best, Service, reply, stream
from distrivote.server.routing import upstream_fields
from distrivote.server.schemas import CompletionRequest


class CompletionShape:
    """How completions dress a text."""

    endpoint = "completions"
    prefix = "cmpl"
    whole = "text_completion"
    part = "text_completion"

    def choice(self, best: Best) -> dict[str, Any]:
        return {"index": 0, "text": best.text, "finish_reason": best.finish_reason, "logprobs": None}

    def piece(self, text: str | None, finish_reason: str | None, *, first: bool) -> dict[str, Any]:  # noqa: ARG002
        return {"index": 0, "text": text or "", "finish_reason": finish_reason, "logprobs": None}

    def extras(self, best: Best) -> list[dict[str, Any]]:  # noqa: ARG002
        return []


async def answer_completion(service: Service, request: Request, body: CompletionRequest) -> Response:
    """Answer a completion request with a vote, in chunks if it wants them, or pass it on."""
    forwarded = await passed_on(service, request, body, "completions")
    if forwarded is not None:
        return forwarded
    question = question_of_completion(service, body)
    if body.stream:
        options = body.stream_options
        return stream(service, question, CompletionShape(), bool(options and options.include_usage))
    return await reply(service, request, question, CompletionShape())


def question_of_completion(service: Service, body: CompletionRequest) -> Question:
    """Return what a completion request asks: its prompt, as the only turn of a conversation."""
    prompts = [body.prompt] if isinstance(body.prompt, str) else body.prompt
    if len(prompts) != 1:
        raise InputError(f"there are {len(prompts)} prompts: send one per request")
    fields = upstream_fields(body, isinstance(service.backend.engine, Forwarding))
    turns = [Message("user", prompts[0])]
    return question_of(body, turns, body.max_tokens, service.backend, upstream=fields)
