"""Columns of text for a terminal: without a frame, truncated to its width, never wrapped.

If they don't fit, wide columns are narrowed first, then columns are left out from the right, except those
that must stay.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

INDENT = 2
_GAP, _NARROW_GAP = 3, 2


@dataclass(frozen=True, slots=True)
class Column:
    header: str
    cells: Sequence[Text]
    right: bool = False
    """Whether the column is aligned right, as numbers are."""

    most: int = 40
    """Cells wider than this are shortened."""

    least: int | None = None
    """The least width before a column is left out; None: it is not narrowed."""

    must: bool = False
    """Never left out."""

    ends: Sequence[Text] = ()
    """A suffix of each cell that is kept if the cell is shortened; then the cell loses its beginning."""

    @property
    def pairs(self) -> list[tuple[Text, Text]]:
        """The cells, each with its suffix."""
        return list(zip(self.cells, self.ends or [Text()] * len(self.cells), strict=True))

    @property
    def natural(self) -> int:
        widths = [cell.cell_len + end.cell_len for cell, end in self.pairs]
        return max(len(self.header), min(self.most, max(widths, default=0)))

    @property
    def narrowest(self) -> int:
        return self.natural if self.least is None else min(self.natural, self.least)


def lines_of(columns: Sequence[Column], width: int) -> list[Text]:
    """Return the header and a line per row, none wider than the terminal."""
    shown, gap = _fitting(columns, width)
    widths = _widths(shown, width, gap)
    header = [(Text(column.header, style="dim"), Text()) for column in shown]
    rows = zip(*(column.pairs for column in shown), strict=True)
    lines = [_line(cells, shown, widths, gap) for cells in [header, *rows]]
    for line in lines:
        line.truncate(width)
    return lines


def left_out(columns: Sequence[Column], width: int) -> list[Text]:
    """Return lines that name the columns without room; none if all fit."""
    shown, _ = _fitting(columns, width)
    names = [column.header for column in columns if all(column is not other for other in shown)]
    said = f"no room here for: {', '.join(names)}" if names else ""
    return [indented(line, width, "dim") for line in textwrap.wrap(said, max(1, width - INDENT))]


def _fitting(columns: Sequence[Column], width: int) -> tuple[list[Column], int]:
    """Return the columns that fit, and the gap between them."""
    shown = list(columns)
    gap = _GAP if total_width([c.natural for c in shown], _GAP) <= width else _NARROW_GAP
    while total_width([c.narrowest for c in shown], gap) > width:
        extra = [column for column in shown if not column.must]
        if not extra:
            break
        shown = [column for column in shown if column is not extra[-1]]
    return shown, gap


def _widths(columns: Sequence[Column], width: int, gap: int) -> list[int]:
    """Return the widths that fit, taking from the widest column first."""
    widths = [column.natural for column in columns]
    least = [column.narrowest for column in columns]
    if total_width(least, gap) > width:  # a very narrow terminal: the remaining columns must shrink
        least = [1] * len(columns)
    while total_width(widths, gap) > width:
        movable = [i for i, fewest in enumerate(least) if widths[i] > fewest]
        if not movable:
            break
        widths[max(movable, key=lambda i: widths[i])] -= 1
    return widths


def total_width(widths: Sequence[int], gap: int = _NARROW_GAP) -> int:
    """Return the width of a line of columns."""
    return INDENT + sum(widths) + gap * (len(widths) - 1)


def _line(
    cells: Sequence[tuple[Text, Text]], columns: Sequence[Column], widths: Sequence[int], gap: int
) -> Text:
    line = Text(" " * INDENT, no_wrap=True)
    for index, ((cell, end), column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        fitted = _fitted(cell, end, width)
        space = " " * (width - fitted.cell_len)
        line.append(" " * gap if index else "")
        line.append(space if column.right else "")
        line.append_text(fitted)
        line.append(space if not column.right and index < len(cells) - 1 else "")
    return line


def _fitted(cell: Text, end: Text, width: int) -> Text:
    """Return a cell and its suffix in at most `width` columns."""
    if end.cell_len < width:
        fitted = cell.copy()
        fitted.truncate(width - end.cell_len, overflow="ellipsis")
        return fitted.append_text(end)
    if not cell and end.cell_len == width:
        return end
    tail = end
    while tail and tail.cell_len >= width:
        tail = tail[1:]
    return Text("…").append_text(tail)


def indented(text: str, width: int, style: str = "") -> Text:
    """Return an indented line below the columns, truncated to the terminal's width."""
    line = Text(" " * INDENT + text, style=style, no_wrap=True)
    line.truncate(width, overflow="ellipsis")
    return line
