"""The program in a reply: the last fenced block of Python, or a reply that is a program as a whole."""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from distrivote.answers.extract import reply_start

_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([^\n`]*)$", re.MULTILINE)
_PYTHON = {"", "python", "py", "python3", "py3", "pycon"}
_LONGEST = 100_000
"""Characters; no reply holds a longer program."""


class Program(NamedTuple):
    """A program and where it stands in the reply."""

    source: str
    start: int
    end: int


def program_in(text: str) -> Program | None:
    """Return the last block of Python that defines or computes something, None if there is none.

    A block without its closing fence was cut off and does not count. A block in another language does not
    count either.

    >>> program_in("Here it is:\\n```python\\ndef f(x):\\n    return x\\n```").source
    'def f(x):\\n    return x'
    >>> program_in("```python\\ndef f(x):") is None
    True
    """
    start = reply_start(text)
    for block in reversed(_blocks(text, start)):
        if is_program(block.source):
            return block
    whole = text[start:].strip()
    if _FENCE.search(text, start) or not is_program(whole):
        return None
    at = text.index(whole, start)
    return Program(whole, at, at + len(whole))


def is_program(source: str) -> bool:
    """Say whether a text is Python with at least one function, class or statement of its own.

    >>> is_program("x = 1"), is_program("Paris"), is_program("def f(: pass")
    (True, False, False)
    """
    tree = parsed(source)
    return tree is not None and any(not isinstance(node, ast.Expr | ast.Pass) for node in tree.body)


def parsed(source: str) -> ast.Module | None:
    """Return the syntax tree of a program, None if it is not Python."""
    if len(source) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in a model's strings
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def functions_of(source: str) -> list[str]:
    """Return the names of the functions that a program defines at its top level, in order."""
    tree = parsed(source)
    body = [] if tree is None else tree.body
    return [node.name for node in body if isinstance(node, ast.FunctionDef)]


def _blocks(text: str, start: int) -> list[Program]:
    """Return the closed fenced blocks of Python after an offset."""
    found: list[Program] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text, start):
        if opened is None:
            opened = fence
        elif fence[1][0] == opened[1][0] and len(fence[1]) >= len(opened[1]) and not fence[2].strip():
            begin, end = opened.end() + 1, max(fence.start() - 1, opened.end() + 1)
            if opened[2].strip().lower() in _PYTHON:
                found.append(Program(text[begin:end], begin, end))
            opened = None
    return found
