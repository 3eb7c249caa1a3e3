"""A result table for a terminal: aligned decimals, no frame, the paper's numbers a line below ours.

If a table is too wide, the spreads are left out first, then columns that are extra, then the intervals, then
columns from the right, and a line says so. Texts come from runs, so they are escaped and never read as
markup.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from distrivote.evaluation.results import Column, Table
from distrivote.nouns import count
from distrivote.report.cells import PAPER, TIED, Shown, doubled, is_numeric, legend, rows_beside, shown_cells
from distrivote.report.terminal.columns import INDENT, lines_of, total_width
from distrivote.report.terminal.columns import Column as Printed
from distrivote.report.text import shortened

_LONGEST_TEXT, _SHORTEST_TEXT = 40, 12
_INTERVALS = "a to b"


def result_table(table: Table, width: int) -> Group:
    """Return the title, the rows, and what the marks in them mean."""
    n_needed = sum(not column.extra for column in table.columns)
    detail, shown = next(
        (
            (detail, n)
            for n in dict.fromkeys((len(table.columns), n_needed))
            for detail in (2, 1)
            if total_width([c.natural for c in _columns(table, detail)[:n]]) <= width
        ),
        (0, n_needed),
    )
    columns = _columns(table, detail)
    while shown > 1 and total_width([c.narrowest for c in columns[:shown]]) > width:
        shown -= 1
    told = textwrap.wrap(shortened(table.title, 400), max(width - INDENT, _SHORTEST_TEXT))
    titles = [Text(" " * INDENT + line, style="bold", no_wrap=True) for line in told]
    lines = [*titles, *lines_of(columns[:shown], width)]
    below = _phrases(table, detail)
    if detail == 0 and any(phrase.startswith(_INTERVALS) for phrase in legend(table)):
        below.append("…95% intervals left out; -o FILE gives them")
    if shown < len(columns):
        below.append(f"…{count(len(columns) - shown, 'more column')}; -o FILE gives all")
    if not table.rows:
        below = ["no rows"]
    lines += _filled(below, width)
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Group(*lines)


def _columns(table: Table, detail: int) -> list[Printed]:
    shown = [shown_cells(table, column) for column in table.columns]
    beside = rows_beside(shown)
    return [
        Printed(
            shortened(column.label, _LONGEST_TEXT),
            doubled(_texts(cells, column, detail), _paper_texts(cells, column, index, detail), beside),
            right=is_numeric(column),
            most=_LONGEST_TEXT,
            least=None if is_numeric(column) else _SHORTEST_TEXT,
            must=index == 0,
        )
        for index, (column, cells) in enumerate(zip(table.columns, shown, strict=True))
    ]


def _paper_texts(cells: Sequence[Shown], column: Column, index: int, detail: int) -> list[Text]:
    """Return the paper's numbers, as wide as ours so that the decimals are aligned."""
    if not is_numeric(column):
        return [Text(f"  {PAPER}" if index == 0 else "", style="dim") for _ in cells]
    ours = _texts(cells, column, detail)
    after = max(text.cell_len - len(cell.text.rstrip("%")) for text, cell in zip(ours, cells, strict=True))
    return [Text(cell.paper + " " * after if cell.paper else "", style="dim") for cell in cells]


def _texts(cells: Sequence[Shown], column: Column, detail: int) -> list[Text]:
    """Return the cells, each part padded to its widest so that the parts are aligned."""
    if not is_numeric(column):
        return [Text(shortened(cell.text, _LONGEST_TEXT)) for cell in cells]
    marked = any(cell.mark == "tied" for cell in cells)
    spreads = _padded([f"±{cell.spread}" if cell.spread else "" for cell in cells]) if detail > 1 else []
    intervals = _padded([cell.interval for cell in cells]) if detail else []
    texts = []
    for index, cell in enumerate(cells):
        text = Text(cell.text, style="")
        if cell.mark == "best":
            text.stylize("bold")
        if marked:
            text.append(TIED if cell.mark == "tied" else " ")
        for parts in (spreads, intervals):
            if any(parts):
                text.append(f" {parts[index]}", style="dim")
        texts.append(text)
    return texts


def _padded(parts: Sequence[str]) -> list[str]:
    widest = max(map(len, parts), default=0)
    return [part.rjust(widest) for part in parts]


def _phrases(table: Table, detail: int) -> list[str]:
    """Return the legend of what is shown at this level of detail."""
    hidden = {2: (), 1: ("±",), 0: ("±", _INTERVALS)}[detail]
    return [phrase for phrase in legend(table) if not phrase.startswith(hidden or ("\0",))]


def _filled(phrases: Sequence[str], width: int) -> list[Text]:
    """Return the phrases in as few lines as possible."""
    lines: list[str] = []
    for phrase in phrases:
        if lines and INDENT + len(lines[-1]) + 3 + len(phrase) <= width:
            lines[-1] += f" · {phrase}"
        else:
            lines += textwrap.wrap(phrase, max(20, width - INDENT))
    return [Text(" " * INDENT + line, style="dim", no_wrap=True) for line in lines]
