"""`/v1/responses`: OpenAI's newer endpoint, answered with a vote as chat is; nothing is stored.

docs/server.md lists the supported fields.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from distrivote.errors import InputError
from distrivote.server.asking import Answered
from distrivote.server.chat import question_of_chat
from distrivote.server.errors import Failure
from distrivote.server.forwarding import (
    forward_request,
    forwards,
    named_model,
    why_forwarded,
)
from distrivote.server.questions import Question
from distrivote.server.replies import Best, Service, answered_document, best_of, pieces_of, reply
from distrivote.server.response_fields import chat_of, check_state, why_not_chat
from distrivote.server.schemas import ResponsesRequest
from distrivote.server.streaming import event
from distrivote.trajectory import CUT_OFF


async def answer_response(service: Service, request: Request, body: ResponsesRequest) -> Response:
    """Answer a request with a vote, in events if it wants them, or forward it."""
    named = await named_model(service, request, body.model)
    check_state(body)
    why = why_not_chat(body)
    if why is not None and not forwards(service):
        raise InputError(f"{why}: leave that out, or use a server that forwards it")
    chat = None
    if why is None:
        chat = chat_of(body)
        why = why_forwarded(service, chat, named)
    if why is not None or chat is None:
        return await forward_request(service, request, "responses", why or "", named.model)
    question = question_of_chat(service, chat, named)
    return await reply(service, request, question, ResponseShape(question, body), streams=bool(body.stream))


class ResponseShape:
    """How the endpoint writes a reply: items of output, whole or as numbered events."""

    def __init__(self, question: Question, body: ResponsesRequest) -> None:
        self._question, self._body = question, body
        self._id, self._created = f"resp_{secrets.token_hex(16)}", int(time.time())
        self._number = -1

    def whole(self, answered: Answered) -> dict[str, Any]:
        best = best_of(answered)
        n_prompt, n_reply = answered.solution.n_prompt_tokens, answered.n_tokens
        is_cut = best.finish_reason == CUT_OFF
        return self._response("incomplete" if is_cut else "completed") | {
            "completed_at": int(time.time()),
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "output": list(_items(best)),
            "usage": {
                "input_tokens": n_prompt,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": n_reply,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": n_prompt + n_reply,
            },
            "distrivote": answered_document(answered, self._question),
        }

    def opening(self) -> Iterator[bytes]:
        for name in ("response.created", "response.in_progress"):
            yield self._event(name, response=self._response("in_progress"))

    def progress(self, update: dict[str, Any]) -> bytes:
        return self._event("response.in_progress", response=self._response("in_progress"), distrivote=update)

    def outcome(self, answered: Answered) -> Iterator[bytes]:
        whole = self.whole(answered)
        for index, item in enumerate(whole["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            begun = item | {"status": "in_progress"} | ({"content": []} if "content" in item else {})
            if item["type"] == "function_call":
                begun["arguments"] = ""
            yield self._event("response.output_item.added", output_index=index, item=begun)
            if item["type"] == "function_call":
                name = "response.function_call_arguments"
                yield self._event(f"{name}.delta", **place, delta=item["arguments"])
                yield self._event(f"{name}.done", **place, name=item["name"], arguments=item["arguments"])
            else:
                yield from self._text(item, place | {"content_index": 0})
            yield self._event("response.output_item.done", output_index=index, item=item)
        yield self._event(f"response.{whole['status']}", response=whole)

    def _text(self, item: dict[str, Any], place: dict[str, Any]) -> Iterator[bytes]:
        (part,) = item["content"]
        is_reply = item["type"] == "message"
        logprobs: dict[str, Any] = {"logprobs": []} if is_reply else {}
        yield self._event("response.content_part.added", **place, part=part | {"text": ""})
        name = "response.output_text" if is_reply else "response.reasoning_text"
        for piece in pieces_of(part["text"]):
            yield self._event(f"{name}.delta", **place, delta=piece, **logprobs)
        yield self._event(f"{name}.done", **place, text=part["text"], **logprobs)
        yield self._event("response.content_part.done", **place, part=part)

    def failure(self, failure: Failure) -> bytes:
        # Clients raise an error for any event with a field `error`, even of an unknown type.
        told = {"code": failure.code or failure.kind, "message": failure.message, "param": failure.param}
        return self._event("error", **told, **failure.body)

    def _event(self, kind: str, /, **fields: Any) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number} | fields, kind)

    def _response(self, status: str) -> dict[str, Any]:
        body = self._body
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "metadata": body.metadata or {},
            "model": self._question.model,
            "output": [],
            "parallel_tool_calls": body.parallel_tool_calls is not False,
            "previous_response_id": None,
            "reasoning": {"effort": (body.reasoning or {}).get("effort"), "summary": None},
            "store": False,
            "temperature": body.temperature,
            "text": body.text or {"format": {"type": "text"}},
            "tool_choice": body.tool_choice or "auto",
            "tools": body.tools or [],
            "top_p": body.top_p,
            "truncation": "disabled",
            "usage": None,
        }


def _items(best: Best) -> Iterator[dict[str, Any]]:
    """Yield the output: the thinking, the text and the function calls, as far as there are any."""
    if best.reasoning:
        content = [{"type": "reasoning_text", "text": best.reasoning}]
        yield _item("reasoning", "rs", summary=[], content=content)
    if best.text or not best.calls:
        text = {"type": "output_text", "text": best.text, "annotations": [], "logprobs": []}
        is_cut = best.finish_reason == CUT_OFF
        message = _item("message", "msg", role="assistant", content=[text])
        yield message | {"status": "incomplete"} if is_cut else message
    for call in best.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        made = {"call_id": f"call_{secrets.token_hex(12)}", "name": call.name, "arguments": arguments}
        yield _item("function_call", "fc", **made)


def _item(kind: str, prefix: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"{prefix}_{secrets.token_hex(16)}", "status": "completed"} | fields
