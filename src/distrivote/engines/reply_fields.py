"""Replies read field by field, from dicts and from the packages' own objects alike, into the types of `wire`.

This is the slow path, for whatever `wire` does not decode: objects of the openai package, numbers that JSON
does not have, null where a number should be. An error says the place and what to pass instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from distrivote.engines.wire import (
    Choice,
    Logprobs,
    Message,
    OddChoice,
    Response,
    TokenDetails,
    TokenEntry,
    ToolCall,
    ToolFunction,
    TopEntry,
    Usage,
)
from distrivote.errors import InputError


class FalseNumberError(InputError):
    """A log-probability that is a boolean."""

    def __init__(self, value: bool, place: str) -> None:
        self.flaw = f"log-probability {str(value).lower()} is not a number"
        super().__init__(f"{place}: {self.flaw}: pass a number")


def response_from(document: Any) -> Response:
    """Return a response that was read as a dict; its choices record what is wrong with them."""
    if not isinstance(document, dict):
        raise InputError(f"{str(document)[:60]!r} is no reply")
    model = document.get("model")
    return Response(
        [_odd_choice(choice) for choice in document.get("choices") or []],
        usage_from(document.get("usage")),
        model if isinstance(model, str) else None,
        document.get("error"),
    )


def usage_from(usage: Any) -> Usage:
    """Return token counts, without invalid ones."""
    thinking = _counted(field(field(usage, "completion_tokens_details"), "reasoning_tokens"))
    return Usage(
        _counted(field(usage, "prompt_tokens")),
        _counted(field(usage, "completion_tokens")),
        None if thinking is None else TokenDetails(thinking),
    )


def _counted(n: Any) -> int | None:
    return n if isinstance(n, int) and n >= 0 else None


def _odd_choice(choice: Any) -> Choice:
    """Return a choice of a stream; one with a number or log-probabilities of a wrong kind has a flaw."""
    if not isinstance(choice, dict):
        raise InputError(f"{str(choice)[:60]!r} is no choice")
    index, shown, flaw = choice.get("index"), "", ""
    if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
        shown, index = repr(index)[:20], None
    try:
        logprobs = logprobs_from(choice.get("logprobs"), "a reply")
        thought = logprobs_from(choice.get("reasoning_logprobs"), "a reply")
    except FalseNumberError as error:
        flaw, logprobs, thought = error.flaw, None, None
    reason = choice.get("finish_reason")
    return OddChoice(
        index,
        _message(choice.get("delta"), "its text"),
        _message(choice.get("message"), "its text"),
        text_of(choice.get("text"), "its text"),
        logprobs,
        thought,
        None if reason is None else str(reason),
        choice.get("error"),
        shown,
        flaw,
    )


def message_from(message: Any, where: str) -> Message:
    """Return the text of a chat reply."""
    found = _message(message, where)
    return Message() if found is None else found


def _message(message: Any, where: str) -> Message | None:
    if message is None:
        return None
    thinking = field(message, "reasoning_content") or field(message, "reasoning")
    return Message(
        text_of(field(message, "content"), f"{where}: its content"),
        text_of(thinking, f"{where}: its reasoning"),
        None,
        text_of(field(message, "refusal"), f"{where}: its refusal"),
        _tool_calls(field(message, "tool_calls")),
    )


def _tool_calls(calls: Any) -> list[ToolCall] | None:
    """Return the tool calls of a message; what is not one is left out."""
    if not is_list(calls) or not calls:
        return None
    found = []
    for call in calls:
        function, index = field(call, "function"), field(call, "index")
        name = field(function, "name")
        made = ToolFunction(name if isinstance(name, str) else None, field(function, "arguments"))
        found.append(ToolCall(index if isinstance(index, int) else None, made))
    return found


def logprobs_from(logprobs: Any, where: str) -> Logprobs | None:
    """Return the tokens of a choice, in the form of chat or of completions; None if there are none."""
    content, tokens = field(logprobs, "content"), field(logprobs, "tokens")
    thinking = field(logprobs, "reasoning_content")
    if content is None:
        return None if tokens is None else _lists(logprobs, tokens, where)
    return Logprobs(
        _entries(content, f"{where}, token"),
        _entries(thinking, f"{where}, reasoning token") if thinking else None,
    )


def _entries(entries: Any, where: str) -> list[TokenEntry]:
    if not is_list(entries):
        raise InputError(f"{where}s are not a list: pass logprobs as the server sent them")
    return [_entry(entry, f"{where} {t}") for t, entry in enumerate(entries)]


def _entry(entry: Any, place: str) -> TokenEntry:
    token = piece(field(entry, "token"), place)
    raw = field(entry, "bytes")
    try:
        encoded = None if raw is None else list(bytes(list(raw)))
    except (TypeError, ValueError):
        raise InputError(
            f"{place}: bytes is {raw!r}: pass a list of numbers from 0 to 255, or null"
        ) from None
    top = field(entry, "top_logprobs") or []
    if not is_list(top):
        raise InputError(f"{place}: top_logprobs is not a list: pass it as the server sent it")
    return TokenEntry(
        token,
        number(field(entry, "logprob"), place, math.nan),
        encoded,
        [TopEntry(number(field(other, "logprob"), place, -math.inf)) for other in top],
    )


def _lists(logprobs: Any, tokens: Any, where: str) -> Logprobs:
    n = len(tokens) if is_list(tokens) else 0
    own = field(logprobs, "token_logprobs") or [None] * n
    top = field(logprobs, "top_logprobs") or [None] * n
    if not all(map(is_list, (tokens, own, top))) or not len(tokens) == len(own) == len(top):
        raise InputError(
            f"{where}: tokens, token_logprobs and top_logprobs are not lists of the same length: pass them"
            " as the server sent them"
        )
    places = [f"{where}, token {t}" for t in range(n)]
    for row, place in zip(top, places, strict=True):
        if not isinstance(row, Mapping | None):
            raise InputError(f"{place}: top_logprobs is not an object: pass it as the server sent it")
    return Logprobs(
        tokens=[piece(token, place) for token, place in zip(tokens, places, strict=True)],
        token_logprobs=[number(value, place, math.nan) for value, place in zip(own, places, strict=True)],
        top_logprobs=[
            {str(name): number(value, place, -math.inf) for name, value in (row or {}).items()}
            for row, place in zip(top, places, strict=True)
        ],
    )


def field(item: Any, name: str) -> Any:
    """Return a field of a dict or an object, None if it is missing."""
    if isinstance(item, dict):  # checking for Mapping is five times as slow, and this runs a million times
        return item.get(name)
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def is_list(value: Any) -> bool:
    """Return whether a value is a list or another sequence."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def text_of(value: Any, what: str) -> str | None:
    """Return a text, or None."""
    if value is not None and not isinstance(value, str):
        raise InputError(f"{what} is a {type(value).__name__}: pass a string, or None")
    return value


def piece(value: Any, place: str) -> str:
    """Return the text of a token."""
    if not isinstance(value, str):
        raise InputError(
            f"{place} has {value!r} instead of its text: sample with detokenization on, or pass the"
            " reply without its logprobs"
        )
    return value


def number(value: Any, place: str, missing: float) -> float:
    """Return a log-probability; `missing` if it was not given or is NaN."""
    if value is None:
        return missing
    if isinstance(value, bool):
        raise FalseNumberError(value, place)
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{place}: log-probability {value!r} is not a number: pass a number") from None
    return missing if found != found else found
