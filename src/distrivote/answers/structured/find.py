"""Where the JSON of a reply is. The search order, after the end of thinking:

    whole     the reply itself, of any type
    fenced    the last fenced block that is one object or list; an unclosed block extends to the end
    bare      the last object or list in the text: a non-empty one has priority over {} and a list of plain
              values, which may be prose ("see [1]")

A reply that breaks off within its JSON has no answer, whatever came before. JSON is strict, and nothing is
repaired (answers/structured/parse.py): neither an object with a trailing comma nor a part of it is an answer.
Everything takes time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from distrivote.answers.extract import Extraction, reply_start
from distrivote.answers.structured.parse import Decoded, State, closing, decode

_FENCE = re.compile(r"^[ \t]*+(```++|~~~++)[ \t]*+([^\n`]*)$", re.MULTILINE)
_LANGUAGES = frozenset(["", "json", "jsonc", "json5", "javascript", "js"])
_OPENING = re.compile(r'\{(?=\s*+(?:["}]|\Z))|\[(?=\s*+(?:[][{"0-9tfn-]|\Z))')
"""A bracket that may begin JSON: most of those in prose and formulas do not."""

_WORK = 8
"""The maximum number of times the text is read, including brackets that did not begin JSON."""


class Finding(NamedTuple):
    """The JSON found in a reply."""

    extraction: Extraction | None = None
    """The JSON as written and where it ends; None if there is none, or it is cut off."""

    value: Any = None

    start: int = 0
    """Where the JSON begins in the text."""

    is_cut: bool = False
    """Whether the reply breaks off within its JSON."""


def find_json(text: str) -> Finding:
    """Return the JSON of a reply.

    >>> find_json('Sure:\\n```json\\n{"a": [1, 2]}\\n```').value
    {'a': [1, 2]}
    >>> find_json('It is {"a": 1}, I think.').extraction
    Extraction(answer='{"a": 1}', end=14, start=6)
    >>> find_json('{"a": 1} or rather {"a": ')
    Finding(extraction=None, value=None, start=0, is_cut=True)
    """
    start = reply_start(text)
    end = len(text.rstrip())
    while start < end and text[start].isspace():
        start += 1
    if start >= end:
        return Finding()
    whole = decode(text, start)
    if whole.state is State.WHOLE and whole.end == end:
        return _finding(text, start, whole)
    for begin, stop in reversed(list(blocks(text, start))):
        found = _in_block(text, begin, stop)
        if found is not None:
            return found
    return _bare(text, start)


def json_answer(text: str) -> Extraction | None:
    """Return the JSON of a reply as written: an extractor.

    >>> json_answer("no JSON") is None
    True
    """
    return find_json(text).extraction


def blocks(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the fenced blocks that may hold JSON; the last may be unclosed."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text, start):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            if opened[2].strip().lower() in _LANGUAGES:
                yield opened.end(), fence.start()
            opened = None
    if opened is not None and opened[2].strip().lower() in _LANGUAGES:
        yield opened.end(), len(text)


def _in_block(text: str, begin: int, stop: int) -> Finding | None:
    opening = _OPENING.search(text, begin, stop)
    if opening is None or text[begin : opening.start()].strip():
        return None
    found = decode(text, opening.start())
    if found.state is State.CUT:
        return Finding(is_cut=True)
    if found.state is State.WHOLE and not text[found.end : stop].strip():
        return _finding(text, opening.start(), found)
    return None


def _bare(text: str, start: int) -> Finding:
    best: tuple[int, Decoded] | None = None
    at, work = start, _WORK * len(text)
    while work > 0:
        opening = _OPENING.search(text, at)
        if opening is None:
            break
        begin = opening.start()
        found = decode(text, begin)
        if found.state is State.CUT:
            return Finding(is_cut=True)
        if found.state is State.WHOLE:
            if best is None or _is_rich(found.value) or not _is_rich(best[1].value):
                best = begin, found
            at = found.end
        elif found.end <= begin + 1:  # not even its first key or item: prose, or a formula
            at = begin + 1
        else:  # an object that is not JSON, so nothing in it counts
            close = closing(text, begin)
            at = found.end if close is None else max(close, found.end)
            work -= len(text) - begin if close is None else close - begin
    return Finding() if best is None else _finding(text, *best)


def _is_rich(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, (dict, list)) for item in value)
    return bool(value)


def _finding(text: str, start: int, found: Decoded) -> Finding:
    return Finding(Extraction(text[start : found.end], found.end, start), found.value, start)
