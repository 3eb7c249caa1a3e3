"""What a user adds to every request: fields of its body, and headers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from distrivote.engines.openai.protocol import Body
from distrivote.errors import InputError

_OWN = {
    "model": "model",
    "seed": "seed",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "n": "n_per_request",
}
"""Fields that have their own argument."""

_SET_HERE = {"messages", "prompt", "stream", "stream_options", "logprobs", "top_logprobs"}
"""Fields that every request sets for the vote."""

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class Extras:
    """Fields and headers of every request.

    >>> Extras({"provider": {"require_parameters": True}}, effort="low").fields
    {'provider': {'require_parameters': True}, 'reasoning_effort': 'low'}
    """

    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    effort: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.body, Mapping):
            raise InputError(
                f"extra_body is {self.body!r}", hint="give an object of fields", argument="extra_body"
            )
        for name in self.body:
            if name in _OWN:
                raise InputError(
                    f"extra_body has {name}", hint=f"give it as `{_OWN[name]}`", argument="extra_body"
                )
            if name in _SET_HERE:
                raise InputError(
                    f"extra_body has {name}, which each request sets for the vote",
                    hint="leave it out",
                    argument="extra_body",
                )
        if self.effort is not None and "reasoning_effort" in self.body:
            raise InputError(
                "extra_body has reasoning_effort too", hint="give one of them", argument="extra_body"
            )
        for name, value in self.headers.items():
            if not _NAME.fullmatch(name) or not value.isascii() or not value.isprintable():
                raise InputError(
                    f"the header {name!r} can't be sent",
                    hint="give a NAME of letters and a VALUE of printable ASCII",
                    argument="headers",
                )

    @property
    def fields(self) -> Body:
        """The fields that every body has."""
        effort = {} if self.effort is None else {"reasoning_effort": self.effort}
        return {**self.body, **effort}

    def settings(self) -> dict[str, Any]:
        """Return the record for a run: headers without their values."""
        found: dict[str, Any] = {}
        if self.fields:
            found["body"] = self.fields
        if self.headers:
            found["headers"] = sorted(self.headers)
        return found


def parse_body(text: str | None) -> dict[str, Any] | None:
    """Return the fields of a JSON object, None for none.

    >>> parse_body('{"thinking": {"type": "disabled"}}')
    {'thinking': {'type': 'disabled'}}
    """
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the extra body is not JSON ({error})", hint='write {"FIELD": VALUE}', argument="extra_body"
        ) from None
    if not isinstance(found, dict):
        raise InputError("the extra body is no object", hint='write {"FIELD": VALUE}', argument="extra_body")
    return found


def header_of(text: str) -> tuple[str, str]:
    """Return the name and the value of a header that is written as NAME: VALUE.

    >>> header_of("X-Title: my program")
    ('X-Title', 'my program')
    """
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise InputError(
            f"the header {name.strip()!r} has no value", hint="write NAME: VALUE", argument="headers"
        )
    return name.strip(), value.strip()
