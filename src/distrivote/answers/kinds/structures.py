"""JSON and tool calls as kinds of answers (answers/structured finds and compares them)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from functools import partial

from distrivote.answers.equality import NAMED, Equality
from distrivote.answers.extract import Extraction
from distrivote.answers.kinds.kind import Kind, one_line
from distrivote.answers.structured.find import find_json
from distrivote.answers.structured.same import paths, text_key
from distrivote.answers.structured.schema import Schema
from distrivote.answers.structured.tools import calls_from, calls_key, calls_text, find_calls

BY_FIELD = "json:fields"


def compact(answer: str) -> str:
    """Return JSON in one line.

    >>> compact('{\\n  "a": [1,\\n 2]\\n}')
    '{"a": [1, 2]}'
    """
    try:
        return one_line(json.dumps(json.loads(answer), ensure_ascii=False))
    except (ValueError, RecursionError):
        return one_line(answer)


def json_kind(schema: Schema | None = None, *, ignore: Iterable[str] = (), by_field: bool = False) -> Kind:
    """Return the kind whose answer is the JSON of a reply.

    Args:
        schema: The schema that the JSON must satisfy; JSON that does not is no answer.
        ignore: Paths that do not count when two are compared, such as "items[].id".
        by_field: Whether each field is voted on by itself; else the winner is the object of a trajectory.
    """
    left_out = paths(ignore)

    def find(text: str) -> Extraction | None:
        found = find_json(text)
        if found.extraction is None or (schema is not None and schema.flaw(found.value) is not None):
            return None
        return found.extraction

    same = Equality("json", key=partial(text_key, ignore=left_out)) if left_out else NAMED["json"]
    title = "JSON, field by field" if by_field else "JSON"
    return Kind(
        BY_FIELD if by_field else "json",
        find,
        same,
        title,
        is_long=True,
        closes=True,
        by_field=by_field,
        schema=schema,
        line=compact,
    )


def tool_kind(tools: Collection[str] | None = None, *, exclude: Iterable[str] = ()) -> Kind:
    """Return the kind whose answer is the tool calls of a reply.

    Args:
        tools: The names of the functions that exist; a call of any other is no answer. None: any.
        exclude: Paths in the arguments that do not count when two calls are compared.
    """
    left_out = paths(exclude)

    def find(text: str) -> Extraction | None:
        return find_calls(text, tools).extraction

    same = NAMED["tool"]
    if left_out:
        same = Equality("tool", key=lambda answer: calls_key(calls_from(answer), left_out))
    return Kind(
        "tool", find, same, "tool call", closes=True, line=lambda a: one_line(calls_text(calls_from(a)))
    )


JSON = json_kind()
JSON_BY_FIELD = json_kind(by_field=True)
TOOL = tool_kind()
