"""Answers in one line each, so that a reader can tell them apart: for tables and sentences.

Long answers to one question often begin alike. JSON is named by the values that differ from the chosen
answer's, a program by its first line that not all programs have, anything else by the line of its kind.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from distrivote.answers.kinds.kind import Kind, one_line
from distrivote.answers.structured.parse import written

_MOST_CHANGES = 3


def names_of(kind: Kind, answers: Sequence[str], chosen: str) -> dict[str, str]:
    """Return a line for each answer; no two of them are the same.

    >>> from distrivote.answers.kinds.structures import JSON
    >>> names_of(JSON, ['{"a": 1, "b": 2}', '{"a": 1, "b": 3}'], '{"a": 1, "b": 2}')
    {'{"a": 1, "b": 2}': '{"a": 1, "b": 2}', '{"a": 1, "b": 3}': 'b: 3'}
    """
    if kind.name.startswith("json"):
        names = {answer: _changes(answer, chosen) or kind.line(answer) for answer in answers}
    elif kind.name == "code":
        n_having = Counter(line for answer in answers for line in set(_lines(answer)))
        names = {answer: _own_line(answer, n_having, len(answers)) or kind.line(answer) for answer in answers}
    else:
        names = {answer: kind.line(answer) for answer in answers}
    seen: Counter[str] = Counter()
    for answer, name in names.items():
        seen[name] += 1
        if seen[name] > 1:
            names[answer] = f"{name} ({seen[name]})"
    return names


def _lines(source: str) -> list[str]:
    return [line.strip() for line in source.splitlines() if line.strip()]


def _own_line(source: str, n_having: Counter[str], n: int) -> str | None:
    return next((one_line(line) for line in _lines(source) if n_having[line] < n), None)


def _changes(answer: str, chosen: str) -> str | None:
    """Say where an object differs from the chosen one, None if it does not or is not an object."""
    if answer == chosen:
        return None
    try:
        ours, theirs = json.loads(answer), json.loads(chosen)
    except ValueError:
        return None
    changed = [text for text in _differences(ours, theirs, "") if text]
    if not changed:
        return None
    shown = ", ".join(changed[:_MOST_CHANGES])
    more = len(changed) - _MOST_CHANGES
    return f"{shown}, {more} more" if more > 0 else shown


def _differences(ours: Any, theirs: Any, path: str) -> list[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = []
        for key in [*ours, *(key for key in theirs if key not in ours)]:
            at = f"{path}.{key}" if path else str(key)
            if key not in ours:
                found.append(f"no {at}")
            elif key not in theirs:
                found.append(f"{at}: {one_line(written(ours[key]))}")
            else:
                found += _differences(ours[key], theirs[key], at)
        return found
    if isinstance(ours, list) and isinstance(theirs, list):
        pairs = zip(ours, theirs, strict=False)
        found = [text for at, (a, b) in enumerate(pairs) for text in _differences(a, b, f"{path}[{at}]")]
        if len(ours) != len(theirs):
            found.append(f"{len(ours)} of {path}" if path else f"{len(ours)} values")
        return found
    return (
        [] if ours == theirs else [f"{path}: {one_line(written(ours))}" if path else one_line(written(ours))]
    )
