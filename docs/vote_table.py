"""A table of votes as Markdown, for the sections of docs/results.md that have no experiments."""

from __future__ import annotations

from collections.abc import Sequence


def vote_table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a title and a table; the first column is text, the others are numbers."""
    return f"**{title}**\n\n{table_of(heads, lines)}"


def table_of(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table without a title."""
    marks = ["---", *["--:"] * (len(heads) - 1)]
    rows = [
        "".join(f"| {cell} " if cell else "| " for cell in cells) + "|" for cells in (heads, marks, *lines)
    ]
    return "\n".join(rows)


def points(mean: float, low: float, high: float) -> str:
    """Return a difference with its interval."""
    return f"{mean:z.1f} ({low:z.1f} to {high:z.1f})".replace("-", "−")
