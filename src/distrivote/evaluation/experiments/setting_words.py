"""Settings of SelfStepConf in words: for people, as the paper writes them, and their order."""

from __future__ import annotations

from distrivote.evaluation.results import Cell

_SPLITS = {"delimiter \\n\\n": "\\n\\n", "delimiter \\n": "\\n"}


def order(value: Cell) -> tuple[str, float]:
    """Return the sort key of a setting: words by their first, numbers by their size."""
    if isinstance(value, (int, float)):
        return "", float(value)
    word, _, rest = str(value).partition(" ")
    return word, float(rest) if rest.isdecimal() else 0.0


def words(value: Cell) -> Cell:
    """Return a setting for people: `\\n\\n`, `window of 512`.

    >>> words("delimiter \\\\n\\\\n exact"), words("entropy 0.672 200"), words(0.8)
    ('\\\\n\\\\n, exact token', 'entropy > 0.672 (200+)', 0.8)
    """
    if not isinstance(value, str):
        return value
    kind, _, rest = value.partition(" ")
    if kind == "delimiter":
        return rest.removesuffix(" exact") + (", exact token" if rest.endswith(" exact") else "")
    if kind == "window":
        return f"window of {rest}"
    least = rest.split()
    return f"entropy > {least[0]} ({least[1]}+)" if kind == "entropy" and least[1:] else value


def published_word(value: Cell) -> str:
    """Return a setting as the paper writes it: `window=512`, `HET`, `\\n\\n`, `0.8`."""
    text = str(value)
    if text.startswith("window "):
        return text.replace(" ", "=")
    if text.startswith("entropy"):
        return "HET"
    return _SPLITS.get(text.removesuffix(" exact"), text)
