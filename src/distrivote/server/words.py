"""Translates argument names in hints (in backticks) to the fields of requests.

`budget` becomes distrivote.budget, `steering=None` "distrivote": {"ssc": false}. An argument that no request
has is a setting of the operator, and called the server's.
"""

from __future__ import annotations

from dataclasses import dataclass

_OF_VOTES = frozenset(
    (
        *("answer", "budget", "deepconf", "max_error", "method", "min_probability", "online", "same", "ssc"),
        *("stop_when", "strict", "template"),
    )
)
_OF_SSC = frozenset(("alpha", "delta", "reflection", "split"))
_OF_REQUESTS = frozenset(
    [
        *("max_tokens", "messages", "min_p", "prompt", "question", "seed", "temperature", "top_k", "top_p"),
        *("background", "conversation", "input", "model", "previous_response_id", "response_format"),
        *("text", "tool_choice", "tools"),
    ]
)
_RENAMED = {"steering": "ssc"}
_JSON = {"None": "false", "False": "false", "True": "true"}


@dataclass(frozen=True, slots=True)
class Fields:
    """The field names of one kind of request."""

    parent: str | None
    """The object that holds the settings of the vote; None: they are at the top level."""

    def param(self, argument: str | None) -> str | None:
        """Return the path of an argument's field, None if no request has it.

        >>> API.param("budget"), API.param("max_tokens"), PAGE.param("budget"), API.param("base_urls")
        ('distrivote.budget', 'max_tokens', 'budget', None)
        """
        argument = _RENAMED.get(argument or "", argument)
        if argument in _OF_SSC:
            return f"{self.param('ssc')}.{argument}"
        if self.parent is not None and argument in _OF_VOTES:
            return f"{self.parent}.{argument}"
        return argument if argument in _OF_VOTES | _OF_REQUESTS else None

    def spell(self, name: str, value: str | None = None) -> str:
        """Return an argument, or an argument with its value, as these requests write it.

        >>> API.spell("steering", "None"), PAGE.spell("same", '"math"'), API.spell("base_urls")
        ('"distrivote": {"ssc": false}', '"same": "math"', "the server's base_urls")
        """
        path = self.param(name)
        if path is None:
            return f"the server's {name}" if value is None else f"the server's {name}={value}"
        if value is None:
            return path
        pair = f'"{_RENAMED.get(name, name)}": {_JSON.get(value, value)}'
        return pair if self.parent is None or name in _OF_REQUESTS else f'"{self.parent}": {{{pair}}}'


API = Fields("distrivote")
"""Requests to OpenAI's endpoints."""

PAGE = Fields(None)
"""Requests of the page."""
