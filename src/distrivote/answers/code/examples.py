"""Calls of a function that a question shows, with their expected results where it states them.

    a doctest              the line after the call is its result
    f(3) == 9              also ->, =>, ➞, →, returns, should return, = and "is"

Only calls of functions that the question defines or names, with literal arguments, are taken.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from distrivote.answers.code.program import parsed

_MOST = 64
_DEFINED = re.compile(r"^[ \t]*def[ \t]+([A-Za-z_]\w*)[ \t]*\(", re.MULTILINE)
_GIVES = re.compile(
    r"[ \t`]*(?:==|=>|->|➞|→|➜|=|\breturns?\b|\bshould (?:return|be|give|output)\b|\bgives?\b|\bis\b)"
    r"(?:[ \t]+(?:the )?(?:output|result|value)\b:?)?[ \t:`]*"
)
_JSON_WORDS = {"true": "True", "false": "False", "null": "None"}
_RESULT_LINE = re.compile(r"[ \t]*\n[ \t]*(?:#[ \t]*)?(?:=>|->|➞|→)?[ \t]*")


class Example(NamedTuple):
    """One call that a question shows."""

    arguments: tuple[Any, ...]
    expected: Any = None
    stated: bool = False
    """Whether the question states the result."""


def examples_in(question: str, entry: str) -> list[Example]:
    """Return the calls of the function `entry` that a question shows, in order and without repeats.

    >>> examples_in("def inc(x): ...\\n>>> inc(1)\\n2\\ninc(5) == 6", "inc")
    [Example(arguments=(1,), expected=2, stated=True), Example(arguments=(5,), expected=6, stated=True)]
    """
    found: dict[str, Example] = {}
    for match in re.finditer(rf"(?<![\w.]){re.escape(entry)}[ \t]*\(", question):
        if re.search(r"\bdef[ \t]+$", question[: match.start()]):
            continue
        end = closing_of(question, match.end() - 1)
        call = None if end is None else _arguments(question[match.start() : end])
        if end is None or call is None:
            continue
        doctest = question[: match.start()].rstrip(" \t").endswith(">>>")
        result = _result(question, end, doctest)
        example = Example(call) if result is None else Example(call, result[0], True)
        key = repr(call)
        if key not in found or (example.stated and not found[key].stated):
            found[key] = example
        if len(found) >= _MOST:
            break
    return list(found.values())


def entry_of(question: str, sources: list[str]) -> str | None:
    """Return the function that is asked for: the last one in the question, else the programs' own.

    >>> entry_of("def f(x):\\n    pass\\n\\ndef g(x):\\n", [])
    'g'
    """
    defined = _DEFINED.findall(question)
    if defined:
        return str(defined[-1])
    counts: dict[str, int] = {}
    for source in sources:
        tree = parsed(source)
        names = [] if tree is None else [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
        for name in set(names):
            named = re.search(rf"\b{re.escape(name)}\b", question) is not None
            counts[name] = counts.get(name, 0) + (1000 if named else 0) + (2 if name == names[-1] else 1)
    return max(counts, key=lambda name: counts[name], default=None)


def _arguments(call: str) -> tuple[Any, ...] | None:
    """Return the literal arguments of a call, None if they are not literals or are keyword arguments."""
    try:
        node = ast.parse(call.strip(), mode="eval").body
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        return tuple(ast.literal_eval(argument) for argument in node.args)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def closing_of(text: str, opening: int) -> int | None:
    """Return the offset just after the parenthesis that closes the one at `opening`."""
    depth, quote, at = 0, "", opening
    while at < min(len(text), opening + 4000):
        letter = text[at]
        if quote:
            if letter == "\\":
                at += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _result(text: str, end: int, doctest: bool) -> tuple[Any] | None:
    """Return the value that is stated after a call, in a tuple; None if there is none."""
    gives = (_RESULT_LINE if doctest else _GIVES).match(text, end)
    if gives is None:
        return None
    line_end = text.find("\n", gives.end())
    line = text[gives.end() : line_end if line_end >= 0 else len(text)]
    return _leading_literal(line)


def _leading_literal(line: str) -> tuple[Any] | None:
    """Return the literal at the beginning of a line, in a tuple: a remark may follow it."""
    line = line.strip()
    ends = [len(line), *[m.start() for m in re.finditer(r"[\s,.;#`]|$", line)][::-1]]
    for stop in dict.fromkeys(ends):
        piece = line[:stop].rstrip(" \t,.;`")
        if not piece:
            continue
        try:
            return (ast.literal_eval(_JSON_WORDS.get(piece, piece)),)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            continue
    return None
