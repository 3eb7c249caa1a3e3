"""The conditions under which a set was sampled, and in which of them sets differ.

Two arms show the effect of a setting only if everything else is equal: the template, how tokens were sampled,
the limit of tokens, how answers were graded. A condition that a set does not record is `None`, which differs
from every value; except for the grader, which older runs did not record.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence

from distrivote.evaluation.paper.model_names import normal_path
from distrivote.evaluation.paper.published import published
from distrivote.evaluation.pools import PoolSet

CONDITIONS: Mapping[str, str] = {
    "thinking": "thinking",
    "template": "template",
    "system": "system message",
    "temperature": "temperature",
    "top_p": "top-p",
    "top_k": "top-k",
    "min_p": "min-p",
    "max_tokens": "max_tokens",
    "stop": "stop strings",
    "k": "number of log-probabilities",
    "stop_when": "stopping rule",
    "grader": "grader",
}
"""The settings of a set that two arms must share -> their names."""

_LENIENT = ("grader",)
_LONGEST = 32

Value = float | int | str | bool | None


def condition(each: PoolSet, name: str) -> Value:
    """Return one condition of a set; for thinking also from what is known about its model."""
    value = each.settings.get(name)
    if name == "thinking":
        return published().thinks(each.model, value if isinstance(value, bool) else None)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return value


def differing(sets: Iterable[PoolSet]) -> list[str]:
    """Return the conditions in which sets differ."""
    some = list(sets)
    found = []
    for name in CONDITIONS:
        values = {condition(each, name) for each in some}
        if len(values - {None} if name in _LENIENT else values) > 1:
            found.append(name)
    return found


def difference_words(sets: Sequence[PoolSet], names: Iterable[str]) -> str:
    """Say in which conditions sets differ, each value with the sets that have it.

    >>> one, other = (PoolSet(n, "m", "b", (), settings={"top_p": p}) for n, p in (("x", 0.9), ("y", 1.0)))
    >>> difference_words([one, other], differing([one, other]))
    'top-p (0.9 in x; 1 in y)'
    """
    parts = []
    for name in names:
        holders: dict[Value, list[str]] = {}
        for each in sets:
            holders.setdefault(condition(each, name), []).append(each.name)
        told = "; ".join(f"{value_words(name, value)} in {', '.join(who)}" for value, who in holders.items())
        parts.append(f"{CONDITIONS[name]} ({told})")
    return ", ".join(parts)


def value_words(name: str, value: Value) -> str:
    """Return a condition's value in words."""
    if name == "thinking":
        return "not said" if value is None else "on" if value else "off"
    if value is None:
        return "none" if name in ("system", "stop", "stop_when") else "not recorded"
    if isinstance(value, (int, float)):
        return f"{value:g}" if abs(value) < 1e5 else f"{value:.0f}"
    text = str(value).replace("\n", " ")
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def label_words(name: str, value: Value) -> str:
    """Return a condition as part of a study's name."""
    if name == "temperature":
        return "at unknown temperature" if value is None else f"at temperature {value:g}"
    if name == "thinking":
        return "as its template has it" if value is None else "thinking" if value else "non-thinking"
    return f"{CONDITIONS[name]} {value_words(name, value)}"


def model_key(model: str) -> tuple[str, str]:
    """Return the canonical form of a model's name, with the quantisation of its weights."""
    known = published().known(model)
    return (normal_path(model), "") if known is None else (known.name, (known.quantised or "").lower())


def benchmark_key(benchmark: str) -> str:
    """Return the canonical name of a benchmark: `q: ./q.jsonl` and `q: q.jsonl` are the same."""
    title, colon, source = benchmark.partition(": ")
    return f"{title}{colon}{posixpath.normpath(source)}" if colon else title
