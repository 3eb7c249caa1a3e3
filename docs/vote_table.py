"""A table of votes as Markdown, for the sections of docs/results.md that have no experiments."""

from __future__ import annotations

from collections.abc import Sequence


def vote_table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a title and a table; the first column is text, the others are numbers."""
    marks = ["---", *["--:"] * (len(heads) - 1)]
    rows = [
        "".join(f"| {cell} " if cell else "| " for cell in cells) + "|" for cells in (heads, marks, *lines)
    ]
    return f"**{title}**\n\n" + "\n".join(rows)


def points(mean: float, low: float, high: float) -> str:
    """Return a difference with its interval."""
    return f"{mean:.1f} ({low:.1f} to {high:.1f})".replace("-", "−")
