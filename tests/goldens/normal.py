"""What differs from run to run, replaced: the one place that says what a golden does not hold.

Addresses' ports, folders, times and rates, dates, versions, random names and ids, the last digits of floats.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DIGITS = 9
"""Significant digits of a float: fewer than processors and libraries agree on."""

_REPLACED = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(127\.0\.0\.1|localhost):\d{4,5}\b", r"\1:PORT"),
        (r"\d+\.\d s \([\d,]+ tok/s\)", "0.0 s (0 tok/s)"),
        (r'("seconds":\s?)[\d.e+-]+', r"\g<1>0"),
        (r'("created":\s?)\d+', r"\g<1>0"),
        (r"\b(part-)[0-9a-f]{12}-\d{6}-[0-9a-f]{16}\b", r"\1WRITER-N-CONTENT"),
        (r"\b\d+ parts are now\b", "N parts are now"),
        (r"\baiohttp \d[\d.]*", "aiohttp VERSION"),
        (r"\b(chatcmpl|cmpl|ask)-[0-9a-f]{8,}\b", r"\1-ID"),
        (r'("checksum":\s?")[0-9a-f]{8}', r"\1CHECKSUM"),
        (r"\bclaims/\d{8}\b", "claims/N"),
        (r'("(?:library_version|distrivote_version|version)":\s?")[^"]+', r"\1VERSION"),
        (r"\b(distrivote) \d+\.\d+\.\d+\S*", r"\1 VERSION"),
        (r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?)?", "DATE"),
        # MeanShift in several threads at once: whether scikit-learn warns is a matter of luck.
        (r".*sklearn/utils/parallel\.py:\d+: UserWarning: .*\n  warnings\.warn\(\n", ""),
        (r"(distrivote_vote_seconds_(?:sum|bucket)\S*) [\d.e+-]+", r"\1 0"),
    )
]
_FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?(?![\w.])|(?<![\w.])-?\d+e[+-]?\d+(?![\w.])")


def normal(text: str, folder: Path | None = None) -> str:
    """Return a text without what differs from run to run; `folder` is where it was made.

    >>> normal('{"seconds": 0.18, "share": 0.30000000000000004}')
    '{"seconds": 0, "share": 0.3}'
    """
    if folder is not None:
        text = text.replace(str(folder), "FOLDER")
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    text = re.sub(r" +$", "", text, flags=re.MULTILINE)  # Rich fills lines, others do not
    return _FLOAT.sub(lambda found: _short(found[0]), text)


def _short(number: str) -> str:
    """Return a number as it is, or rounded if it has more digits than are compared."""
    if sum(each.isdigit() for each in number.partition("e")[0].lstrip("-0.")) <= DIGITS:
        return number
    return repr(rounded(float(number)))


def rounded(value: Any) -> Any:
    """Return a value with the floats in it rounded; what JSON has no number for becomes its name."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
        case dict():
            return {key: rounded(inside) for key, inside in value.items()}
        case list() | tuple():
            return [rounded(inside) for inside in value]
    return value


def steady(events: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the events of a stream without those that come by the clock.

    The first vote meanwhile and, in OpenAI's streams, the progress of the first trajectory always come.
    """
    kept, n_tallies = [], 0
    for name, data in events:
        beside = data.get("distrivote") if isinstance(data, dict) else None
        progress = name == "progress" or (isinstance(beside, dict) and beside.get("event") == "progress")
        if progress and (beside is None or beside["n_done"] != 1 or "n_tokens" in beside):
            continue
        n_tallies += name == "tally"
        if name != "tally" or n_tallies == 1:
            kept.append((name, data))
    return kept


def pretty(value: Any, width: int = 200) -> str:
    """Return JSON over several lines, where what fits into one, without what differs, stays in one."""
    return "\n".join(_lines(value, 0, width))


def _lines(value: Any, indent: int, width: int) -> list[str]:
    line = json.dumps(value, ensure_ascii=False)
    if len(normal(line)) + indent <= width or not isinstance(value, (dict, list)) or not value:
        return [line]
    pad = " " * (indent + 1)
    found = []
    named = isinstance(value, dict)
    for number, item in enumerate(value.items() if named else value, 1):
        key, inside = item if named else (None, item)
        first, *rest = _lines(inside, indent + 1, width)
        start = f"{json.dumps(key, ensure_ascii=False)}: " if named else ""
        found += [f"{pad}{start}{first}", *rest]
        if number < len(value):
            found[-1] += ","
    return ["{" if named else "[", *found, " " * indent + ("}" if named else "]")]
