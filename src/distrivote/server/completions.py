"""`/v1/completions`: a prompt in, the text of the best trajectory out."""

from __future__ import annotations

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
from distrivote.server.routing import upstream_fields
from distrivote.server.schemas import CompletionRequest


class CompletionShape(ChoicesShape):
    """How completions write a reply."""

    prefix = "cmpl"
    kind = "text_completion"
    chunk_kind = "text_completion"

    def choice(self, best: Best) -> dict[str, Any]:
        return {"index": 0, "text": best.text, "finish_reason": best.finish_reason, "logprobs": None}

    def piece(self, text: str | None, finish_reason: str | None, *, first: bool = False) -> dict[str, Any]:  # noqa: ARG002
        return {"index": 0, "text": text or "", "finish_reason": finish_reason, "logprobs": None}


async def answer_completion(service: Service, request: Request, body: CompletionRequest) -> Response:
    """Answer a completion request with a vote, in chunks if it wants them, or forward it."""
    named = await named_model(service, request, body.model)
    why = why_forwarded(service, body, named)
    if why is not None:
        return await forward_request(service, request, "completions", why, named.model)
    question = question_of_completion(service, body, named)
    options = body.stream_options
    shape = CompletionShape(question, include_usage=bool(options and options.include_usage))
    return await reply(service, request, question, shape, streams=bool(body.stream))


def question_of_completion(service: Service, body: CompletionRequest, named: NamedModel) -> Question:
    """Return the question of a completion request: its prompt, as the only turn of a conversation."""
    prompts = [body.prompt] if isinstance(body.prompt, str) else body.prompt
    if len(prompts) != 1:
        raise InputError(f"there are {len(prompts)} prompts: send one per request")
    backend = service.backend_for(named.model)
    fields = upstream_fields(body, isinstance(backend.engine, Upstream))
    turns = [Message("user", prompts[0])]
    return question_of(body, named, turns, body.max_tokens, backend, upstream=fields)
