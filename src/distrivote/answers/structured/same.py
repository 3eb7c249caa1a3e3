"""When two JSON values are the same: by a text that is equal for equal values.

    objects   the order of keys does not count; keys count as written
    lists     the order of items counts
    numbers   as numbers: 1, 1.0 and 1e0 are the same; true is not 1
    strings   as written, in Unicode's composed form (NFC), without white space at both ends: case counts

Values at an `ignore` path are left out of the comparison. A path starts at the root:

    id              the key "id" of the root; $.id is the same
    customer.name   a key within a key
    items[].id      "id" in every item of the list "items"; [2] is the third item only
    meta.*          every key of "meta"
    ["a.b"].c       a key with a dot or another special character, in quotes as in JSON
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeAlias

from distrivote.answers.structured.parse import Path, loaded
from distrivote.errors import InputError


class Every(Enum):
    """A step of a path that matches every item or every key."""

    ITEM = "[]"
    KEY = "*"


Step: TypeAlias = str | int | Every
Paths: TypeAlias = dict[Step, "Paths | None"]
"""The paths that are left out, step by step; None: the value itself."""

NO_PATHS: Paths = {}
Scalar: TypeAlias = str | int | float | bool | None

_NAME = r"[^\s.\[\]*\"$]+"
_STEP = re.compile(rf'(?:^|\.)(?:({_NAME})|(\*))|\[(\*?)\]|\[([0-9]{{1,9}})\]|\[("(?:[^"\\]|\\.)*")\]')
_COMPACT = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def value_key(value: Any, ignore: Paths = NO_PATHS) -> str:
    """Return a text that is the same for values that are the same, and for no others.

    >>> value_key({"b": 1.0, "a": ["x "]}) == value_key({"a": ["x"], "b": 1})
    True
    >>> value_key({"id": 7, "n": 1}, paths(["id"]))
    '{"n":1}'
    """
    return _COMPACT(_plain(without(value, ignore)))


def without(value: Any, ignore: Paths) -> Any:
    """Return a value without the values at these paths.

    >>> without({"a": [{"id": 1, "b": 2}]}, paths(["a[].id"]))
    {'a': [{'b': 2}]}
    """
    return _pruned(value, [ignore]) if ignore else value


def text_key(answer: str, ignore: Paths = NO_PATHS) -> str:
    """Return the key of JSON as written; of a text that is not JSON, the text.

    >>> text_key('{"a": 1.0}') == text_key('{ "a": 1 }'), text_key("{a}")
    (True, '{a}')
    """
    try:
        return value_key(loaded(answer), ignore)
    except ValueError:
        return answer.strip()


def scalar_key(value: Scalar) -> tuple[bool, Scalar]:
    """Return the comparison key of a single value, as in `value_key`.

    >>> scalar_key(1.0) == scalar_key(1), scalar_key(True) == scalar_key(1)
    (True, False)
    """
    return isinstance(value, bool), _text(value) if isinstance(value, str) else value


def paths(given: Iterable[str]) -> Paths:
    """Return paths that are left out of a comparison, read from their text.

    >>> paths(["$.id", "items[].id"])
    {'id': None, 'items': {<Every.ITEM: '[]'>: {'id': None}}}
    """
    if isinstance(given, str):
        raise InputError(f"ignore is {given!r}: give a list of paths", argument="answer")
    root: Paths = {}
    for path in given:
        level: Paths | None = root
        steps = _steps(path)
        for step in steps[:-1]:
            level = None if level is None else level.setdefault(step, {})
        if level is not None:
            level[steps[-1]] = None
    return root


def path_text(path: Path) -> str:
    """Return a path as text, in the form that `paths` reads.

    >>> path_text(("items", 0, "unit price")), path_text(())
    ('items[0]["unit price"]', '$')
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(_NAME, step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text or "$"


def _steps(path: object) -> list[Step]:
    steps: list[Step] = []
    text = path.strip() if isinstance(path, str) else ""
    rest = text.removeprefix("$.") if text.startswith("$.") else text.removeprefix("$")
    at = 0
    while at < len(rest):
        found = _STEP.match(rest, at)
        if found is None or (at == 0 and rest[0] == "."):
            break
        name, key, _item, place, quoted = found.groups()
        if name is not None:
            steps.append(name)
        elif key is not None:
            steps.append(Every.KEY)
        elif place is not None:
            steps.append(int(place))
        else:
            steps.append(Every.ITEM if quoted is None else _unquoted(quoted, path))
        at = found.end()
    if not steps or at < len(rest):
        raise InputError(
            f"the path {path!r} can't be read",
            hint='write keys with dots and lists with [], as in "items[].id"',
            argument="answer",
        )
    return steps


def _unquoted(quoted: str, path: object) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise InputError(
            f"the path {path!r} has a key that is not a JSON string", argument="answer"
        ) from None


def _pruned(value: Any, ignore: list[Paths]) -> Any:
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        for key, each in value.items():
            inner = [level[step] for level in ignore for step in (key, Every.KEY) if step in level]
            if None not in inner:
                kept[key] = _pruned(each, [level for level in inner if level]) if inner else each
        return kept
    if isinstance(value, list):
        items = []
        for at, each in enumerate(value):
            inner = [level[step] for level in ignore for step in (at, Every.ITEM) if step in level]
            if None not in inner:
                items.append(_pruned(each, [level for level in inner if level]) if inner else each)
        return items
    return value


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is dict:
        return {key: _plain(each) for key, each in value.items()}
    if kind is list:
        return [_plain(each) for each in value]
    return int(value) if kind is float and value.is_integer() else value


def _text(value: str) -> str:
    return value.strip() if value.isascii() else unicodedata.normalize("NFC", value).strip()
