"""The program in a reply: the last fenced block of Python, or a reply that is a program as a whole."""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from distrivote.answers.extract import reply_start

_FENCE = re.compile(r"(?:^|(?<=</think>))[ \t]*(```+|~~~+)[ \t]*([^\n`]*)$", re.MULTILINE)
_PYTHON = {"", "python", "py", "python3", "py3", "pycon"}
_LONGEST = 100_000
"""In characters; longer programs are not considered."""


class Program(NamedTuple):
    """A program and its place in the reply."""

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


def program_key(source: str) -> str:
    """Return a program without layout, comments, docstrings and annotations; any other text unchanged.

    >>> program_key("def f(x: int):  # one\\n    return (x)") == program_key("def f(x):\\n  return x")
    True
    """
    tree = parsed(source)
    if tree is None:
        return source.strip()
    try:
        return ast.unparse(_Bare().visit(tree))
    except (RecursionError, ValueError):
        return source.strip()


class _Bare(ast.NodeTransformer):
    """Removes nodes that do not change what a program does."""

    def visit(self, node: ast.AST) -> ast.AST:
        node = super().visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            first = body[0] if body else None
            is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if is_text and isinstance(first.value.value, str):  # type: ignore[union-attr]
                body[:1] = [] if len(body) > 1 else [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


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
