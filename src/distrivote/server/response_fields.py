"""Translates a request to `/v1/responses` into the fields of a chat request.

A conversation is in `input`: a text, or items (messages, function calls and their results). Tools and formats
are written flatter than in chat. Items of earlier reasoning are left out: models do not read them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distrivote.errors import InputError
from distrivote.server.schemas import ChatRequest, ResponsesRequest

_STATEFUL = ("previous_response_id", "conversation", "prompt", "background")
_TEXTS = ("input_text", "output_text", "text")
_SAME = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "stop",
    "seed",
    "stream",
    "parallel_tool_calls",
    "distrivote",
)
"""Fields that chat has under the same name."""

_NOT_SENT = frozenset(
    [
        *(*_STATEFUL, *_SAME, "input", "instructions", "tools", "tool_choice", "text", "reasoning"),
        *("max_output_tokens", "max_tool_calls", "top_logprobs", "include", "store", "truncation"),
        *("context_management", "stream_options", "model", "metadata"),
    ]
)
"""Fields that are elsewhere in a chat request, or have no meaning in one."""


def check_state(body: ResponsesRequest) -> None:
    """Raise InputError if a request refers to stored replies: this server stores none."""
    for name in _STATEFUL:
        if getattr(body, name):
            hint = "leave it out" if name in ("background", "prompt") else "send the conversation as `input`"
            raise InputError(f"{name} is set, and this server stores no responses", hint=hint, argument=name)
    for item in body.input if isinstance(body.input, list) else ():
        if item.get("type") == "item_reference":
            raise InputError(
                "input has an item_reference, and this server stores no responses",
                hint="send the item itself",
                argument="input",
            )


def why_not_chat(body: ResponsesRequest) -> str | None:
    """Return why a request can't be expressed as a chat with texts and function tools, None if it can."""
    if body.top_logprobs or any("logprobs" in each for each in body.include or ()):
        return (
            "top_logprobs or include asks for log-probabilities, which are those of one reply, not of a vote"
        )
    for tool in body.tools or ():
        if tool.get("type") != "function":
            return f"tools has {str(tool.get('type'))[:60]!r}, which only the upstream can run"
    if isinstance(body.tool_choice, Mapping) and body.tool_choice.get("type") != "function":
        return f"tool_choice has {str(body.tool_choice.get('type'))[:60]!r}, which only the upstream can run"
    for item in body.input if isinstance(body.input, list) else ():
        kind = item.get("type", "message")
        if kind not in ("message", "function_call", "function_call_output", "reasoning"):
            return f"input has {str(kind)[:60]!r}, and only texts and function calls are voted on"
        content = item.get("output" if kind == "function_call_output" else "content")
        for part in content if isinstance(content, list) and kind != "reasoning" else ():
            if isinstance(part, Mapping) and part.get("type") not in (*_TEXTS, "refusal"):
                return f"input has {str(part.get('type'))[:60]!r}, and only texts are voted on"
    return None


def chat_of(body: ResponsesRequest) -> ChatRequest:
    """Return the chat request that asks the same."""
    more = body.model_dump(exclude_none=True, exclude_unset=True)
    fields: dict[str, Any] = {name: more[name] for name in _SAME if name in more}
    fields |= {name: value for name, value in more.items() if name not in _NOT_SENT}
    fields |= {"model": body.model, "messages": _messages(body)}
    if body.max_output_tokens is not None:
        fields["max_completion_tokens"] = body.max_output_tokens
    if body.reasoning is not None and body.reasoning.get("effort") is not None:
        fields["reasoning_effort"] = body.reasoning["effort"]
    if body.text is not None:
        if body.text.get("verbosity") is not None:
            fields["verbosity"] = body.text["verbosity"]
        if (written := _format(body.text.get("format"))) is not None:
            fields["response_format"] = written
    if body.tools:
        fields["tools"] = [_tool(tool) for tool in body.tools]
        if body.tool_choice is not None:
            fields["tool_choice"] = _choice(body.tool_choice)
    return ChatRequest.model_validate(fields)


def _messages(body: ResponsesRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if body.instructions:
        found.append({"role": "system", "content": body.instructions})
    if isinstance(body.input, str):
        return [*found, {"role": "user", "content": body.input}]
    for item in body.input:
        kind = item.get("type", "message")
        if kind == "function_call":
            _add_call(found, item)
        elif kind == "function_call_output":
            text = _text(item.get("output"))
            found.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": text})
        elif kind == "message":
            found.append({"role": _role(item), "content": _text(item.get("content"))})
    if not found:
        raise InputError("input has no message", hint="ask something", argument="input")
    return found


def _role(item: Mapping[str, Any]) -> str:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        raise InputError(
            f"input has a message whose role is {str(role)[:60]!r}",
            hint="give user, assistant, system or developer",
            argument="input",
        )
    return str(role)


def _text(content: object) -> str:
    """Return the text of a content: a string, or the texts of its parts joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text", part.get("refusal")) for part in content if isinstance(part, Mapping)]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return "".join(texts)
    raise InputError(
        "input has a content that is neither a text nor a list of text parts",
        hint='give a string, or parts like {"type": "input_text", "text": ...}',
        argument="input",
    )


def _add_call(messages: list[dict[str, Any]], item: Mapping[str, Any]) -> None:
    """Add a function call to the assistant's turn; parallel calls share one turn."""
    name, arguments = item.get("name"), item.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, str):
        raise InputError(
            "input has a function_call without name or arguments", hint="give both", argument="input"
        )
    call = {
        "id": item.get("call_id"),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    if messages and messages[-1]["role"] == "assistant":
        messages[-1].setdefault("tool_calls", []).append(call)
    else:
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(tool.get("name"), str):
        raise InputError("tools has a function without a name", hint="give it one", argument="tools")
    names = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {key: tool[key] for key in names if tool.get(key) is not None}}


def _choice(choice: str | Mapping[str, Any]) -> str | dict[str, Any]:
    if isinstance(choice, str):
        return choice
    if not isinstance(choice.get("name"), str):
        raise InputError(
            "tool_choice names no function",
            hint='give {"type": "function", "name": ...}',
            argument="tool_choice",
        )
    return {"type": "function", "function": {"name": choice["name"]}}


def _format(given: object) -> dict[str, Any] | None:
    """Return a format as the response_format of chat, None for text."""
    if given is None or (isinstance(given, Mapping) and given.get("type") == "text"):
        return None
    if not isinstance(given, Mapping) or given.get("type") not in ("json_schema", "json_object"):
        raise InputError(
            "text.format is unknown", hint="give the type text, json_schema or json_object", argument="text"
        )
    if given["type"] == "json_object":
        return {"type": "json_object"}
    if not isinstance(given.get("schema"), Mapping):
        raise InputError("text.format has no schema", hint="give it as `schema`", argument="text")
    return {"type": "json_schema", "json_schema": {key: given[key] for key in given if key != "type"}}
