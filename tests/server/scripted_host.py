"""A hosted model for tests that does what it is asked: it calls tools, fills schemas, and else says 12.

The fields say what kind of host it is. It answers through `engines.scripted_server.ScriptedServer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engines.scripted_server import Reply, Request, Token, chat_entry, refusal

TEXT = "5 and 7 make \\boxed{12}."
"""What it says to a question."""

THOUGHT = "Five and seven."
FILLED: dict[str, Any] = {"string": "Paris", "integer": 12, "number": 12.0, "boolean": True, "null": None}
"""The values that it gives to fields, by type."""

VECTOR = [0.5, 0.25]


@dataclass(frozen=True)
class Host:
    """An `answer` of a scripted server."""

    gives_logprobs: bool = True
    """Else they are refused."""

    thinks: bool = False
    limit: str = "max_tokens"
    """The field that limits a reply; the other is refused."""

    tools_refuse: str | None = None
    """With tools, log-probabilities are refused: in a "stream", as by llama.cpp's server, or "always"."""

    def __call__(self, request: Request) -> Reply:
        body = request.body
        if request.path == "/v1/models":
            return Reply(body={"object": "list", "data": [{"id": "hosted"}, {"id": "other"}]})
        if request.path == "/v1/embeddings":
            entry = {"object": "embedding", "index": 0, "embedding": VECTOR}
            usage = {"prompt_tokens": 2, "total_tokens": 2}
            return Reply(
                body={"object": "list", "data": [entry], "model": "hosted", "usage": usage},
            )
        if request.path != "/v1/chat/completions":
            return refusal(404, "Not Found")
        refused = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
        if any(name != self.limit for name in refused):
            return refusal(400, f"Unsupported parameter: '{refused[0]}'. Use '{self.limit}' instead.")
        if body.get("logprobs") and not self.gives_logprobs:
            return refusal(400, "logprobs are not supported")
        refuses = self.tools_refuse == "always" or (self.tools_refuse == "stream" and body.get("stream"))
        if refuses and body.get("tools") and body.get("logprobs"):
            return refusal(400, "logprobs is not supported with tools + stream")
        return self._reply(body)

    def _reply(self, body: Mapping[str, Any]) -> Reply:
        calls = _calls(body)
        tokens = [] if calls else [Token(word, 12.0) for word in re.findall(r"\s*\S+", _text(body))]
        k = body.get("top_logprobs", 0) if body.get("logprobs") else None
        finish = "tool_calls" if calls else "stop"
        usage = {
            "prompt_tokens": 9,
            "completion_tokens": max(len(tokens), 1),
            "total_tokens": 9 + len(tokens),
        }
        head = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
        thought: dict[str, Any] = {"reasoning_content": THOUGHT} if self.thinks else {}
        if not body.get("stream"):
            text = "".join(token.text for token in tokens) or None
            message = (
                {"role": "assistant", "content": text} | thought | ({"tool_calls": calls} if calls else {})
            )
            choices = [
                {"index": i, "message": message, "finish_reason": finish, "logprobs": _logprobs(tokens, k)}
                for i in range(body.get("n") or 1)
            ]
            return Reply(body=head | {"object": "chat.completion", "choices": choices, "usage": usage})
        deltas: list[tuple[dict[str, Any], Any]] = [({"role": "assistant", "content": ""} | thought, None)]
        deltas += [({"content": token.text}, _logprobs([token], k)) for token in tokens]
        if calls:
            deltas.append(({"tool_calls": [{"index": i} | call for i, call in enumerate(calls)]}, None))
        head["object"] = "chat.completion.chunk"
        events = [_event(head, delta, None, logprobs) for delta, logprobs in deltas]
        events.append(_event(head, {}, finish, None))
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append(head | {"choices": [], "usage": usage})
        return Reply(events=events)


def _event(
    head: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None, logprobs: Any
) -> dict[str, Any]:
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}]}


def _logprobs(tokens: Sequence[Token], k: int | None) -> dict[str, Any] | None:
    return None if k is None else {"content": [chat_entry(token, k) for token in tokens]}


def _calls(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a call of the first tool or the one that was chosen; none where one has answered already."""
    choice = body.get("tool_choice")
    if not body.get("tools") or choice == "none" or body["messages"][-1]["role"] == "tool":
        return []
    named = {tool["function"]["name"]: tool["function"] for tool in body["tools"]}
    name = choice["function"]["name"] if isinstance(choice, dict) else next(iter(named))
    arguments = json.dumps(filled(named[name].get("parameters") or {}))
    return [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}]


def _text(body: Mapping[str, Any]) -> str:
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return json.dumps(filled(wanted["json_schema"]["schema"]))
    asked = json.dumps(body["messages"])
    if wanted.get("type") == "json_object" or "JSON object" in asked:
        return json.dumps({"city": "Paris", "answer": "12", "n": 12})
    if "[[ ## answer ## ]]" in asked:  # how DSPy asks for fields
        return "[[ ## answer ## ]]\n12\n\n[[ ## completed ## ]]"
    return TEXT


def filled(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Return a value of a JSON Schema.

    >>> filled({"type": "object", "properties": {"city": {"type": "string"}}})
    {'city': 'Paris'}
    """
    root = schema if root is None else root
    if "$ref" in schema:
        return filled(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema or "const" in schema:
        return schema["enum"][0] if "enum" in schema else schema["const"]
    if "anyOf" in schema:
        return filled(schema["anyOf"][0], root)
    if schema.get("type") == "array":
        return [filled(schema["items"], root)]
    if "properties" in schema or schema.get("type") == "object":
        return {name: filled(each, root) for name, each in schema.get("properties", {}).items()}
    return FILLED[schema.get("type", "string")]
