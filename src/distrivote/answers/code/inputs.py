"""Inputs to test programs on: the calls that the question shows, and small variations of them.

A variation keeps the type of every argument: a number a little larger, zero or negated; a list shorter,
empty, reversed or with one element twice; a string likewise. Without any example the annotations of the
function determine the types. The order is fixed; no random numbers are used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from distrivote.answers.code.program import parsed

N_INPUTS = 20
"""How many inputs programs are tested on, including those of the examples."""

LARGEST = 4_000
"""The maximum length of one input as text, in characters."""

_BY_TYPE: dict[str, tuple[Any, ...]] = {
    "int": (3, 0, 1, 10, 7, -2),
    "float": (1.5, 0.0, -2.25, 10.0),
    "bool": (True, False),
    "str": ("abcab", "", "a", "Hello World", "12 ab"),
    "list": ([3, 1, 2], [], [1], [2, 2, 5, -1]),
    "list[str]": (["ab", "c", "ab"], [], ["b", "aa"]),
    "list[float]": ([1.5, 0.5, 2.0], [], [-1.0, 3.25]),
    "list[list]": ([[1, 2], [3]], [], [[0]]),
    "dict": ({"a": 1, "b": 2}, {}),
    "tuple": ((1, 2, 3), ()),
}


def inputs_for(
    examples: Sequence[tuple[Any, ...]], sources: Sequence[str], entry: str, n: int = N_INPUTS
) -> list[tuple[Any, ...]]:
    """Return up to n argument tuples: the examples first, then variations of them in turn.

    >>> inputs_for([(2,)], [], "f", 4)
    [(2,), (3,), (0,), (-2,)]
    """
    seeds = list(examples) or list(_by_annotation(sources, entry))
    found: dict[str, tuple[Any, ...]] = {}
    streams = [_changed(seed) for seed in seeds]
    for arguments in [*seeds, *_in_turn(streams)]:
        key = repr(arguments)
        if len(key) <= LARGEST:
            found.setdefault(key, arguments)
        if len(found) >= n:
            break
    return list(found.values())


def _in_turn(streams: list[Iterator[tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
    while streams:
        for stream in list(streams):
            try:
                yield next(stream)
            except StopIteration:
                streams.remove(stream)


def _changed(arguments: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield tuples with one argument changed; the arguments take turns."""
    streams = [iter(_changes(argument)) for argument in arguments]
    alive = list(range(len(streams)))
    while alive:
        for position in list(alive):
            try:
                value = next(streams[position])
            except StopIteration:
                alive.remove(position)
                continue
            yield (*arguments[:position], value, *arguments[position + 1 :])


def _changes(value: Any) -> list[Any]:
    """Return values of the same type that are a little different."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, 0, -value, 1, value * 2 + 1, value - 1]
        case float():
            return [value + 0.5, 0.0, -value, value * 2]
        case str():
            half = len(value) // 2
            return [value[::-1], "", value + value[:1], value.swapcase(), value[:half], value[1:]]
        case list() | tuple():
            return _changed_sequence(value)
        case dict():
            items = list(value.items())
            return [{}, dict(items[:-1]), dict(reversed(items))]
        case _:
            return []


def _changed_sequence(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    kind = type(value)
    found = [value[:-1], kind(reversed(value)), kind(), (*value, value[0]) if value else value]
    for position, element in enumerate(value[:2]):
        for other in _changes(element)[:2]:
            found.append((*value[:position], other, *value[position + 1 :]))
    return [kind(each) for each in found]


def _by_annotation(sources: Sequence[str], entry: str) -> Iterator[tuple[Any, ...]]:
    """Yield argument tuples by the annotations of the function in the first program that defines it."""
    for source in sources:
        tree = parsed(source)
        for node in [] if tree is None else tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == entry:
                needed = node.args.args[: len(node.args.args) - len(node.args.defaults)]
                values = [_BY_TYPE.get(_type_name(each.annotation), _BY_TYPE["int"]) for each in needed]
                for turn in range(max((len(each) for each in values), default=1)):
                    yield tuple(each[turn % len(each)] for each in values)
                return


def _type_name(annotation: ast.expr | None) -> str:
    """Return the key of `_BY_TYPE` for an annotation."""
    text = "int" if annotation is None else ast.unparse(annotation).replace("typing.", "").lower()
    text = text.removeprefix("optional[").replace(" ", "")
    if text.startswith(("list[list", "list[tuple")):
        return "list[list]"
    for name in ("list[str]", "list[float]"):
        if text.startswith(name):
            return name
    return next(
        (name for name in ("list", "str", "int", "float", "bool", "dict", "tuple") if text.startswith(name)),
        "int",
    )
