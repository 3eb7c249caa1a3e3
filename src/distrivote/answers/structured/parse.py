"""JSON with the place of every value: what a vote on single fields needs to know which tokens hold each.

Reads standard JSON in one pass, without recursion, and in time linear in the text. What is not JSON has no
values; nothing is repaired.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, TypeAlias

from distrivote.answers.extract import reply_start

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions from the root to a value."""

_TOKEN = re.compile(
    r'[ \t\r\n]*+(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*+")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)"
    r"|(?P<word>true|false|null)|(?P<mark>[{}\[\]:,]))"
)
_WORDS = {"true": True, "false": False, "null": None}
_FENCE = re.compile(r"^[ \t]*```+[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```+[ \t]*$", re.MULTILINE | re.DOTALL)
_DEEPEST = 100
_MOST_TRIES = 64


class Leaf(NamedTuple):
    """A value that holds no others; an empty object or list is one."""

    value: Any
    start: int
    end: int
    """Its place in the text."""


class Document(NamedTuple):
    """A JSON value and the places of its leaves."""

    value: Any
    leaves: dict[Path, Leaf]
    start: int
    end: int


def document_in(text: str) -> Document | None:
    """Return the JSON of a reply: in its last fenced block that is JSON, else the last that stands bare.

    >>> document_in('Sure:\\n```json\\n{"a": [1, 2]}\\n```').value
    {'a': [1, 2]}
    >>> document_in('It is {"a": 1}, I think.').leaves
    {('a',): Leaf(value=1, start=12, end=13)}
    """
    start = reply_start(text)
    for block in reversed(list(_FENCE.finditer(text, start))):
        if block[1].lower() in ("", "json", "jsonc", "json5", "javascript", "js"):
            found = read(text, block.start(2))
            if found is not None and not text[found.end : block.end(2)].strip():
                return found
    last, at, tries = None, start, 0
    while tries < _MOST_TRIES:
        opening = re.compile(r"[{\[]").search(text, at)
        if opening is None:
            break
        found = read(text, opening.start())
        if found is None:
            at, tries = opening.end(), tries + 1
        else:
            at = found.end
            is_object = isinstance(found.value, dict)
            if last is None or is_object or not isinstance(last.value, dict):
                last = found
    return last


def read(text: str, start: int = 0) -> Document | None:
    """Return the JSON value that begins at an offset, None if none does."""
    leaves: dict[Path, Leaf] = {}
    stack: list[Any] = []
    path: list[str | int] = []
    starts: list[int] = []
    key: str | None = None
    expects = "value"  # value, first-value, key, first-key, colon, comma
    at = start
    while True:
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        at = token.end()
        mark = token["mark"]
        begin = token.start(token.lastgroup or 0)
        if expects in ("key", "first-key"):
            if mark == "}" and expects == "first-key":
                pass
            elif token["string"] is not None and expects in ("key", "first-key"):
                key = _text(token["string"])
                if key is None:
                    return None
                expects = "colon"
                continue
            else:
                return None
        elif expects == "colon":
            if mark != ":":
                return None
            expects = "value"
            continue
        elif expects == "comma":
            if mark == ",":
                expects = "key" if isinstance(stack[-1], dict) else "value"
                continue
            if mark != ("}" if isinstance(stack[-1], dict) else "]"):
                return None
        elif mark is not None and not (mark in "{[" or (mark == "]" and expects == "first-value")):
            return None
        # Here a value begins, is whole, or its container ends.
        if mark in ("{", "["):
            if len(stack) >= _DEEPEST:
                return None
            if stack:
                path.append(key if isinstance(stack[-1], dict) and key is not None else len(stack[-1]))
            stack.append({} if mark == "{" else [])
            starts.append(begin)
            expects = "first-key" if mark == "{" else "first-value"
            continue
        if mark in ("}", "]"):
            value = stack.pop()
            opened = starts.pop()
            if not value:
                leaves[tuple(path)] = Leaf(value, opened, at)
            if not stack:
                return Document(value, leaves, start, at)
            place = path.pop()
        else:
            word = token["word"]
            if token["string"] is not None:
                value = _text(token["string"])
                if value is None:
                    return None
            else:
                value = _WORDS[word] if word is not None else json.loads(token["number"])
            if not stack:
                return Document(value, {(): Leaf(value, begin, at)}, start, at)
            place = key if isinstance(stack[-1], dict) and key is not None else len(stack[-1])
            leaves[(*path, place)] = Leaf(value, begin, at)
        if isinstance(stack[-1], dict):
            stack[-1][place] = value
        else:
            stack[-1].append(value)
        expects = "comma"


def _text(quoted: str) -> str | None:
    try:
        found: str = json.loads(quoted)
    except ValueError:
        return None
    return found


def canonical(value: Any, ignore: frozenset[Path] = frozenset(), path: Path = ()) -> str:
    """Return a JSON value as text that is the same for equal ones: order of keys and 1.0 or 1 do not count.

    >>> canonical({"b": 1.0, "a": [True, None]}) == canonical({"a": [True, None], "b": 1})
    True
    """
    if isinstance(value, dict):
        inner = [
            f"{json.dumps(key, ensure_ascii=False)}:{canonical(value[key], ignore, (*path, key))}"
            for key in sorted(value)
            if (*path, key) not in ignore
        ]
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(each, ignore, (*path, at)) for at, each in enumerate(value)) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return json.dumps(value, ensure_ascii=False)
