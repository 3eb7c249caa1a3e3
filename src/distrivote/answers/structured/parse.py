"""Strict JSON: the value at an offset of a text, and the place of every leaf in it.

Strict means RFC 8259: no comments, no trailing comma, no single quotes, no NaN, no raw line break in strings.
Nothing is repaired. An object with the same key twice is invalid too, since parsers differ in which value
counts; so is a number beyond the range of a double or a value nested deeper than 100. Numbers with a fraction
or an exponent are doubles, others are exact.
"""

from __future__ import annotations

import json
import math
import re
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions from the root to a value."""

Place: TypeAlias = tuple[int, int]
"""Where a value begins in a text, and the offset just after it."""

DEEPEST = 100

# Every repetition below is possessive: no input makes these patterns backtrack.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_LITERAL = re.compile(
    rf"({_STRING})(\s*+:)?+|(-?+[0-9][-+.0-9eE]*+|true|false|null|\{{\s*+\}}|\[\s*+\])", re.DOTALL
)
_BRACKET = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_BEGUN = re.compile(r"-|t|tr|tru|f|fa|fal|fals|n|nu|nul|\.|\.?[0-9]*[eE][-+]?|\\u[0-9a-fA-F]{0,3}")
"""The beginning of a word or a number at which a text may break off."""


class State(Enum):
    WHOLE = "whole"
    CUT = "cut"
    """The text ends within the value, and it was valid JSON so far."""

    INVALID = "invalid"


class Decoded(NamedTuple):
    """The value at an offset of a text."""

    state: State
    value: Any

    end: int
    """The offset just after the value; if it is not complete, the offset where parsing stopped."""


class Document(NamedTuple):
    """A JSON value and where each of its leaves is: an empty object or list is a leaf, too."""

    value: Any
    places: tuple[Place, ...]
    """In the order of the text, which is also that of the value."""


def decode(text: str, start: int = 0) -> Decoded:
    """Return the JSON value that begins at an offset.

    >>> decode('{"a": 1} and more')
    Decoded(state=<State.WHOLE: 'whole'>, value={'a': 1}, end=8)
    >>> decode('{"a": [1, 2').state.value, decode("{'a': 1}").state.value
    ('cut', 'invalid')
    """
    try:
        value, end = _STRICT.raw_decode(text, start)
    except json.JSONDecodeError as error:
        is_cut = _breaks_off(text, error)
        return Decoded(State.CUT if is_cut else State.INVALID, None, error.pos)
    except ValueError:  # valid JSON syntax, but invalid by the rules above
        return Decoded(State.INVALID, None, closing(text, start) or len(text))
    except RecursionError:
        return Decoded(State.INVALID, None, len(text))
    if text.count("{", start, end) + text.count("[", start, end) > DEEPEST and _depth(value) > DEEPEST:
        return Decoded(State.INVALID, None, end)
    return Decoded(State.WHOLE, value, end)


def loaded(text: str) -> Any:
    """Return the value of a text that is only JSON; raises ValueError if it is not.

    >>> loaded(' {"a": 1} ')
    {'a': 1}
    """
    found = decode(text, len(text) - len(text.lstrip()))
    if found.state is not State.WHOLE or text[found.end :].strip():
        raise ValueError("not JSON")
    return found.value


def document(text: str, start: int = 0, end: int | None = None) -> Document:
    """Return the JSON value in a span of a text, with the places of its leaves in the text.

    >>> document('say {"a": [10, "b"]}', 4)
    Document(value={'a': [10, 'b']}, places=((11, 13), (15, 18)))
    """
    found = decode(text, start)
    if found.state is not State.WHOLE:
        raise ValueError("not JSON")
    matches = _LITERAL.finditer(text, start, found.end if end is None else end)
    # A string before a colon is a key: then group 2 matches.
    return Document(found.value, tuple(m.span(m.lastindex or 0) for m in matches if m.lastindex != 2))


def closing(text: str, start: int) -> int | None:
    """Return the offset just after the bracket that closes the one at `start`, None if none does.

    >>> closing('{"}": [1,]} {', 0)
    11
    """
    depth = 0
    for match in _BRACKET.finditer(text, start):
        mark = match[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth <= 0:
                return match.end()
    return None


def written(value: Any) -> str:
    """Return a value as JSON in one line, without escapes of non-ASCII letters that can be encoded.

    >>> written({"b": "é", "a": [1, None]})
    '{"b": "é", "a": [1, null]}'
    """
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value)
    return text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key twice")
    return made


def _double(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("beyond a double")
    return value


def _constant(name: str) -> Any:
    raise ValueError(name)


_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_float=_double, parse_constant=_constant)


def _breaks_off(text: str, error: json.JSONDecodeError) -> bool:
    """Say whether a text is JSON up to its end."""
    if error.msg.startswith("Unterminated string"):
        return True
    rest = text[error.pos :].strip() if len(text) - error.pos < 64 else text[error.pos :].lstrip()
    if not rest:
        return True
    if error.msg.startswith("Invalid \\"):
        return len(rest) < 6 and '"' not in rest
    is_comma = rest == "," and error.msg.startswith("Illegal trailing comma")
    return is_comma or _BEGUN.fullmatch(rest) is not None


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [child for each in inner for child in each if isinstance(child, (dict, list))]
    return deepest
