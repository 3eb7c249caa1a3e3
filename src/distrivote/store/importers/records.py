"""JSON records from files of other tools, each with its position, and their conversion to rows.

A file is JSON Lines, or one JSON document that is an object or a list of objects. Lines are read one by one;
a document is held in memory. Errors are InputErrors that name the position: "run.jsonl, line 17" or
"run.json, item 3". The importers know what the fields mean.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.importers.base import ImportOptions
from distrivote.store.runs.rows import Row, row_of
from distrivote.store.tables.faults import check_weight, decoded, json_object, quoted
from distrivote.store.tables.labels import label_at
from distrivote.store.tables.source import cant_read
from distrivote.trajectory import Trajectory

LARGEST = 256 << 20
"""Bytes of JSON that are held at once: a line, a document, or a member of an archive."""

_LINES = (".jsonl", ".ndjson")
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"(\s*+:)?|[{}\[\]"]', re.DOTALL)
_DEEPEST = 4
_split_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class LeftOutWarning(UserWarning):
    """Part of a file was left out, such as requests that had failed; the text counts them."""


class Record(NamedTuple):
    """One JSON object of a file."""

    where: str
    """The position, for messages."""

    number: int
    """Its line, or its index in a list, from 1."""

    fields: dict[str, Any]

    def list_at(self, name: str) -> list[Any]:
        """Return a field that must be a list."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            raise InputError(f"{self.where}: {name} {_came(value)}: a list is needed there")
        return value

    def text_at(self, name: str) -> str:
        """Return a field that must be a text."""
        return text(self.fields.get(name), f"{self.where}: {name}")

    def label_at(self, *names: str) -> str | None:
        """Return the first of the fields that has a value, as a label; None if none has."""
        for name in names:
            found = label_at(self.fields.get(name), self.where.__str__, name)
            if found is not None:
                return found
        return None

    def count_at(self, name: str) -> int | None:
        """Return a field that may be a number of tokens."""
        return count(self.fields.get(name), f"{self.where}: {name}")


class RawRecord(NamedTuple):
    """One JSON object of a file, not parsed yet."""

    where: str
    number: int
    content: bytes
    fields_needed: str

    def parsed(self) -> Record:
        """Return the object with its fields; raise InputError with the position if it is invalid."""
        check_weight(self.content, str(self.where))
        text = decoded(self.content, self.where.__str__, self.number == 1)
        return Record(self.where, self.number, json_object(text, self.where.__str__, self.fields_needed))


def raw_records(path: Path, fields: str) -> Iterator[RawRecord | Record]:
    """Yield the same objects as `records`, unparsed where possible.

    A document that is a list is split into its items, so that only one at a time is held as Python values.
    """
    some = False
    for record in _items(path, fields) if _is_document(path) else _raw_lines(path, fields):
        some = True
        yield record
    if not some:
        raise InputError(f"{path} is empty: it should hold JSON objects with {fields}")


def records(path: Path, fields: str) -> Iterator[Record]:
    """Yield the objects of a file of either kind; errors name the `fields` that they should have."""
    some = False
    for record in _listed(path) if _is_document(path) else _lines(path, fields):
        some = True
        yield record
    if not some:
        raise InputError(f"{path} is empty: it should hold JSON objects with {fields}")


def parsed(content: bytes, where: str) -> Any:
    """Return a whole JSON document."""
    check_weight(content, where)
    try:
        return json.loads(decoded(content, where.__str__, first=True))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where} is not valid JSON ({error.msg} at line {error.lineno}, column {error.colno}):"
            " write it again, it may be truncated"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where} can't be read as JSON ({str(error).split(';')[0]}): write it again, less deeply nested"
        ) from error


def document(path: Path) -> Any:
    """Return the JSON document that a file holds."""
    return parsed(_whole(path), str(path))


def _whole(path: Path) -> bytes:
    try:
        size = os.stat(path).st_size
        if size > LARGEST:
            raise InputError(
                f"{path} is one JSON document of {size >> 20} MB, and at most {LARGEST >> 20} MB are read"
                " at once: write it as JSON Lines, one object per line"
            )
        return path.read_bytes()
    except OSError as error:
        cant_read(str(path), error)


def first_fields(head: bytes) -> frozenset[str]:
    """Return the fields of the first object in a JSON file, from the beginning of the file.

    Fields of nested objects are included with their path. A text that is not JSON has none.

    >>> sorted(first_fields(b'[{"id": 1, "choices": [{"text": "cut he'))
    ['choices', 'choices.text', 'id']
    """
    return _fields(bytes(head))


@lru_cache(maxsize=1)  # every format asks for the same file in turn
def _fields(head: bytes) -> frozenset[str]:
    beginning = head.decode("utf-8-sig", "replace").lstrip() if head[:1] in b"\xef \t\r\n[{" else ""
    if not re.match(r"(?:\[\s*+)?+\{", beginning):
        return frozenset()
    found: set[str] = set()
    names: list[str] = []  # the field that leads to each object or list that is open
    latest = ""
    for token in _TOKEN.finditer(beginning):
        mark = token.group()
        if mark in ("{", "["):
            names.append(latest)
            latest = ""
        elif mark in ("}", "]"):
            latest = names.pop() if names else ""
            if not "".join(names) and len(names) <= beginning.startswith("["):
                break
        elif mark == '"':
            break
        elif token[1]:
            latest = mark[: -len(token[1])][1:-1]
            path = [name for name in (*names, latest) if name]
            if len(path) <= _DEEPEST:
                found.add(".".join(path))
    return frozenset(found)


@contextmanager
def at(where: str) -> Iterator[None]:
    """Add the position to errors that lack it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def text(value: object, what: str) -> str:
    """Return a text; missing is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{what} {_came(value)}: a text is needed there")
    return value


def number(value: object, what: str) -> float:
    """Return a number, NaN if it is missing."""
    if value is None:
        return math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):
            return float(value)
    raise InputError(f"{what} {_came(value)}: a number is needed there")


def count(value: object, what: str) -> int | None:
    """Return a number of tokens, None if it is missing."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value >= 2**31:
        raise InputError(f"{what} {_came(value)}: a whole number is needed there")
    return value if value >= 0 else None


def mean(values: Sequence[float]) -> float:
    """Return the mean of numbers, NaN if their sum is beyond what a double holds."""
    try:
        return math.fsum(values) / len(values)
    except (OverflowError, ValueError):  # the latter for infinities of both signs
        return math.nan


def row(
    trajectory: Trajectory,
    problem: Problem,
    reading: ImportOptions,
    where: str,
    *,
    told: tuple[str | None] | None = None,
    correct: bool | None = None,
    seed: int | None = None,
) -> Row:
    """Return the row of a trajectory; `told` holds the answer if the file has it, None for none."""
    extract = reading.extract or "auto" if told is None else lambda _: told[0]
    with at(where):
        return row_of(
            problem,
            trajectory,
            seed=seed,
            correct=correct,
            extract=extract,
            split=reading.split,
            k=reading.k,
        )


def counted(made: Row, n_tokens: int | None) -> Row:
    """Return the row with the number of tokens from the file, if the row has no tokens."""
    return (
        dataclasses.replace(made, n_tokens=n_tokens) if n_tokens is not None and not made.n_tokens else made
    )


def shown(value: object, longest: int = 40) -> str:
    """Return a value for a message; for lists and objects, which may be deep, only their kind."""
    return _KINDS.get(type(value)) or quoted(value, longest)


_KINDS: dict[type, str] = {list: "a list", dict: "an object"}


def _came(value: object) -> str:
    return "is missing" if value is None else f"is {shown(value)}"


def _is_document(path: Path) -> bool:
    """Whether the file is one document: a list, or an object that continues after its first line."""
    if path.suffix.lower() in _LINES:
        return False
    try:
        with open(path, "rb") as file:
            stripped = (line.strip(_BLANKS) for line in iter(lambda: file.readline(LARGEST), b""))
            beginning = next(filter(None, stripped), b"")
    except OSError as error:
        cant_read(str(path), error)
    if not beginning.startswith(b"{"):
        return beginning.startswith(b"[")
    # A line of JSON Lines is complete: every brace is closed before its end.
    return not beginning.endswith(b"}")


def _listed(path: Path) -> Iterator[Record]:
    whole = document(path)
    if isinstance(whole, dict):
        yield Record(str(path), 1, whole)
        return
    for place, item in enumerate(whole, 1):
        where = f"{path}, item {place}"
        if not isinstance(item, dict):
            raise InputError(f"{where} is {shown(item)}: a list of JSON objects is needed")
        yield Record(where, place, item)


def _items(path: Path, fields: str) -> Iterator[RawRecord | Record]:
    content = _whole(path)
    try:
        items = _split_list(content.removeprefix(_BLANKS[:3]))
    except (ValueError, RecursionError):
        yield from _listed(path)  # one object; otherwise this raises the error
        return
    for place, item in enumerate(items, 1):
        yield RawRecord(f"{path}, item {place}", place, bytes(item), fields)


def _lines(path: Path, fields: str) -> Iterator[Record]:
    return (raw.parsed() for raw in _raw_lines(path, fields))


def _raw_lines(path: Path, fields: str) -> Iterator[RawRecord]:
    try:
        with open(path, "rb") as file:
            for place, line in enumerate(iter(lambda: file.readline(LARGEST + 1), b""), 1):
                where = f"{path}, line {place}"
                if len(line) > LARGEST:
                    raise InputError(
                        f"{where} is longer than {LARGEST >> 20} MB: write fewer samples on one line"
                    )
                check_weight(line, where)
                if not (line.removeprefix(_BLANKS[:3]) if place == 1 else line).isspace():
                    yield RawRecord(where, place, line, fields)
    except OSError as error:
        cant_read(str(path), error)
