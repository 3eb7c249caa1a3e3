"""What happens to a request: it is voted on, forwarded to the upstream as it is, or refused.

A vote needs several independent samples of a text. Other requests (images, n > 1, log-probabilities for
the client, temperature 0) are sent to the upstream once, unchanged; a strict server, or one without upstream,
refuses them. Fields that only the upstream knows are sent with every trajectory of a vote.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from distrivote.answers.kinds import Kind, json_kind, tool_kind
from distrivote.answers.structured.schema import schema_of
from distrivote.answers.structured.tools import tool_names
from distrivote.errors import InputError
from distrivote.nouns import plural, verb
from distrivote.server.schemas import ChatRequest, CompletionRequest

_OWN = frozenset(
    [
        *("model", "messages", "prompt", "temperature", "top_p", "top_k", "min_p", "max_tokens"),
        *("max_completion_tokens", "stop", "seed", "stream", "stream_options", "n", "distrivote"),
        *("logprobs", "top_logprobs", "echo", "best_of", "modalities"),
    ]
)
"""Fields that the vote itself uses."""

_HARMLESS = frozenset(
    [
        *("user", "metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_retention"),
        *("verbosity", "safety_identifier", "reasoning_effort", "parallel_tool_calls", "tool_choice"),
        *("response_format", "prediction", "web_search_options"),
    ]
)
"""Fields that an engine in this process may ignore."""


_NOTHING: tuple[Any, ...] = (0, False, [], {}, "")
_LONGEST_NAME = 200
_MOST_NAMED = 8


def why_not_voted(body: ChatRequest | CompletionRequest, budget: int) -> str | None:
    """Return why a request can't be voted on with that budget, None if it can."""
    if body.n is not None and body.n > 1:
        return f"n is {body.n}, and a vote gives one answer"
    if body.temperature == 0 and budget > 1:
        return "temperature is 0, so that all samples would be the same"
    if isinstance(body, CompletionRequest):
        if body.logprobs is not None or body.echo or (body.best_of or 1) > 1 or body.suffix:
            return "logprobs, echo, best_of or suffix is set, which is about one reply and not about a vote"
        return None
    if body.logprobs or body.top_logprobs:
        return "logprobs or top_logprobs is set, and log-probabilities are those of one reply, not of a vote"
    others = [each for each in body.modalities or () if each != "text"]
    kinds = [
        str(part["type"])
        for message in body.messages
        for part in (message.content if isinstance(message.content, list) else ())
        if part["type"] != "text"
    ]
    for field, what in (*(("modalities", each) for each in others), *(("messages", each) for each in kinds)):
        return f"{field} has {what[:60]!r}, and only texts are voted on"
    return None


def kind_asked(body: ChatRequest | CompletionRequest) -> Kind | None:
    """Return the kind of answer that the fields of a request ask for, None if they name none."""
    if not isinstance(body, ChatRequest):
        return None
    if body.tools and body.tool_choice != "none":
        return tool_kind(tool_names(body.tools))
    if body.response_format is not None and body.response_format.get("type") != "text":
        try:
            return json_kind(schema_of(body.response_format))
        except InputError as error:
            error.argument = "response_format"
            raise
    return None


def upstream_fields(body: ChatRequest | CompletionRequest, has_upstream: bool) -> dict[str, Any]:
    """Return the fields that are sent to the upstream with every trajectory.

    Without an upstream there are none; InputError if the model in this process can't honour one.
    """
    given = body.model_dump(exclude_none=True, exclude_unset=True)
    fields = {name: value for name, value in given.items() if name not in _OWN}
    if has_upstream:
        return fields
    _check_fields(fields)
    return {}


def _check_fields(given: Mapping[str, Any], known: Collection[str] = _HARMLESS) -> None:
    """Raise InputError if an engine in this process can't honour a field."""
    if given.get("tools"):
        raise InputError(
            "the model in this process calls no tools",
            hint="leave out `tools`, or use a server with an upstream",
            argument="tools",
        )
    unknown = [name for name, value in given.items() if name not in known and value not in _NOTHING]
    if unknown:
        shown = ", ".join(repr(name[:_LONGEST_NAME]) for name in unknown[:_MOST_NAMED])
        rest = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        fields, them = plural(len(unknown), "field"), verb(len(unknown), "them")
        raise InputError(
            f"unknown {fields} {shown}{rest}: leave {them} out, or use a server with an upstream that knows"
            f" {them}"
        )
