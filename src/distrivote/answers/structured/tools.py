"""Tool calls as answers: where they are in a reply, and when two replies make the same calls.

A server that supports tools returns calls separately from the text (`calls_of_message`). Else they are in the
text, after the end of thinking (`find_calls`):

    Hermes, Qwen    <tool_call>{"name": ..., "arguments": {...}}</tool_call>, one or several
    Llama 3         <|python_tag|>{"name": ..., "parameters": {...}}, several with ";" between them
    Mistral         [TOOL_CALLS][{"name": ..., "arguments": {...}}, ...], or [TOOL_CALLS]name[ARGS]{...}
    JSON            a reply of only calls, one after the other; else the JSON of the reply, fenced or
                    bare (answers/structured/find.py): one call or a list of calls

Arguments are an object, or an object as a JSON string. Calls that can't be parsed, are cut off or name a tool
that does not exist are no answer: of several calls all must be valid. Two replies are the same if they call
the same functions with the same arguments, as `json` compares them, in any order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from distrivote.answers.extract import Extraction, reply_start
from distrivote.answers.structured.find import find_json
from distrivote.answers.structured.parse import State, decode, loaded, written
from distrivote.answers.structured.same import NO_PATHS, Paths, value_key, without
from distrivote.errors import InputError


class Call(NamedTuple):
    """A function and its arguments."""

    name: str
    arguments: dict[str, Any]


class Problem(Enum):
    """Why a reply has no calls as its answer."""

    NO_CALL = "no call"
    UNREADABLE = "unreadable"
    """Cut off, or not a valid call."""

    UNKNOWN_TOOL = "unknown tool"


class Calls(NamedTuple):
    """The tool calls of a reply."""

    calls: tuple[Call, ...] = ()
    end: int | None = None
    """The offset in the text just after the last call; None if they were not in the text."""

    problem: Problem | None = None
    """Why there are none; None if there are."""

    @property
    def extraction(self) -> Extraction | None:
        """The calls as an answer, for `calls_key` and `calls_shown`; None if they are not in the text."""
        return Extraction(calls_json(self.calls), self.end) if self.calls and self.end is not None else None


_MARKS = re.compile(r"<tool_call>|<\|python_tag\|>|\[TOOL_CALLS\]")
_NAMED = re.compile(r"\s*+([\w.-]++)\s*+(?:\[CALL_ID\][^\[]{0,80})?\[ARGS\]\s*+(?=\{)")
_BETWEEN = re.compile(r"[\s;]*+")
_NAME = re.compile(r"[^\W\d]\w*")


def find_calls(text: str, tools: Collection[str] | None = None) -> Calls:
    """Return the tool calls in a reply's text; `tools` are the names that exist, None: any.

    >>> find_calls('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>').calls
    (Call(name='add', arguments={'a': 1}),)
    >>> find_calls('{"name": "sub", "parameters": {}}', ["add"]).problem.value
    'unknown tool'
    """
    start = reply_start(text)
    mark = _MARKS.search(text, start)
    if mark is not None:
        return _checked(_marked(text, mark), tools)
    items, end, state = _sequence(text, start)
    if state is not State.WHOLE or text[end:].strip():
        found = find_json(text)
        if found.extraction is None:
            return Calls(problem=Problem.UNREADABLE if found.is_cut else Problem.NO_CALL)
        items = found.value if isinstance(found.value, list) else [found.value]
        end = found.extraction.end
    if not any(_is_call(item) for item in items):
        return Calls(problem=Problem.NO_CALL)
    return _checked(_calls(items, end), tools)


def calls_of_message(message: Mapping[str, Any], tools: Collection[str] | None = None) -> Calls:
    """Return the calls of a message of OpenAI's API: its `tool_calls`, else those in its text.

    >>> call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    >>> calls_of_message({"role": "assistant", "tool_calls": [call]}).calls
    (Call(name='add', arguments={'a': 1}),)
    """
    given = message.get("tool_calls")
    if isinstance(given, Sequence) and not isinstance(given, str) and given:
        return _checked(_calls(given, None), tools)
    content = message.get("content")
    return find_calls(content, tools) if isinstance(content, str) else Calls(problem=Problem.NO_CALL)


def tool_names(tools: object) -> frozenset[str]:
    """Return the names of the functions in a request's `tools`.

    >>> sorted(tool_names([{"type": "function", "function": {"name": "add", "parameters": {}}}]))
    ['add']
    """
    names = set()
    for at, tool in enumerate(tools if isinstance(tools, (list, tuple)) else [tools]):
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(name, str) or not name:
            raise InputError(
                f"tool {at} has no name",
                hint='give a list of {"type": "function", "function": {"name": ..., "parameters": ...}}',
                argument="tools",
            )
        names.add(name)
    return frozenset(names)


def without_calls(text: str) -> str:
    """Return the text of a reply before its first marked call.

    >>> without_calls('Let me look.\\n<tool_call>{"name": "f"}</tool_call>')
    'Let me look.'
    """
    mark = _MARKS.search(text)
    if mark is not None:
        return text[: mark.start()].rstrip()
    return "" if find_calls(text).calls else text


def calls_key(calls: Sequence[Call], exclude: Paths = NO_PATHS) -> str:
    """Return the comparison key of calls; `exclude` are paths in the arguments that do not count.

    >>> calls_key([Call("f", {"a": 1.0})]) == calls_key([Call("f", {"a": 1})])
    True
    """
    return "\n".join(sorted(value_key([call.name, without(call.arguments, exclude)]) for call in calls))


def calls_json(calls: Sequence[Call]) -> str:
    """Return calls as JSON, the form in which they are an answer.

    >>> calls_json([Call("f", {"a": 1})])
    '[{"name": "f", "arguments": {"a": 1}}]'
    """
    return written([call._asdict() for call in calls])


def calls_from(answer: str) -> tuple[Call, ...]:
    """Return the calls of an answer in the form of `calls_json`, none if it has another form.

    >>> calls_from('[{"name": "f", "arguments": {"a": 1}}]')
    (Call(name='f', arguments={'a': 1}),)
    """
    try:
        items = loaded(answer)
    except ValueError:
        return ()
    return _calls(items if isinstance(items, list) else [items], None).calls


def calls_text(calls: Sequence[Call]) -> str:
    """Return calls as a line for people: equal calls have equal lines.

    >>> calls_text([Call("get_weather", {"unit": "C", "city": "Paris"}), Call("now", {})])
    'get_weather(city="Paris", unit="C"); now()'
    """
    return "; ".join(sorted(_line(call) for call in calls))


def _line(call: Call) -> str:
    parts = []
    for name in sorted(call.arguments):
        shown = name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
        parts.append(f"{shown}={written(json.loads(value_key(call.arguments[name])))}")
    return f"{call.name}({', '.join(parts)})"


def _sequence(text: str, at: int) -> tuple[list[Any], int, State]:
    """Return the consecutive JSON values from an offset, where the last one ends, and its state."""
    items: list[Any] = []
    end = at
    while True:
        found = decode(text, _past_space(text, end))
        if found.state is not State.WHOLE:
            return items, end, found.state
        items += found.value if isinstance(found.value, list) else [found.value]
        end = found.end
        after = _past_space(text, end)
        if text[after : after + 1] not in ("{", "[") or _MARKS.match(text, after):
            return items, end, State.WHOLE


def _past_space(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return at if found is None else found.end()


def _marked(text: str, mark: re.Match[str]) -> Calls:
    """Return the calls after each mark of a format."""
    items: list[Any] = []
    end = mark.end()
    found: re.Match[str] | None = mark
    while found is not None:
        named = _NAMED.match(text, found.end()) if found[0] == "[TOOL_CALLS]" else None
        more, end, state = _sequence(text, found.end() if named is None else named.end())
        if state is not State.WHOLE:
            return Calls(problem=Problem.UNREADABLE)
        items += more if named is None else [{"name": named[1], "arguments": more[0]}]
        found = _MARKS.search(text, end)
    return _calls(items, end)


def _is_call(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    function = item.get("function")
    inner = function if isinstance(function, Mapping) else item
    return isinstance(inner.get("name"), str) and ("arguments" in inner or "parameters" in inner)


def _calls(items: Sequence[Any], end: int | None) -> Calls:
    calls = []
    for item in items:
        call = _call(item)
        if call is None:
            return Calls(problem=Problem.UNREADABLE)
        calls.append(call)
    return Calls(tuple(calls), end) if calls else Calls(problem=Problem.NO_CALL)


def _call(item: object) -> Call | None:
    if not isinstance(item, Mapping):
        return None
    function = item.get("function")
    inner = function if isinstance(function, Mapping) else item
    name = inner.get("name")
    arguments = inner.get("arguments", inner.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = loaded(arguments) if arguments.strip() else {}
        except ValueError:
            return None
    elif arguments is None:
        arguments = {}
    if not isinstance(name, str) or not name.strip() or not isinstance(arguments, dict):
        return None
    return Call(name.strip(), arguments)


def _checked(found: Calls, tools: Collection[str] | None) -> Calls:
    if tools is not None and any(call.name not in tools for call in found.calls):
        return Calls(problem=Problem.UNKNOWN_TOOL)
    return found
