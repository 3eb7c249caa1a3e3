"""Formatted cells of a result table: a number with its unit, its interval, and its mark.

Every format (terminal, page, Markdown, LaTeX) uses these texts, so that they agree to the last digit. The
best of a column is the highest or lowest measured value. A cell ties with it if the difference between them
is not real: the column names the field that says so (`near`, a paired comparison); without one, a cell ties
if the best one's interval contains its value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from distrivote.evaluation.results import Cell, Column, Row, Table
from distrivote.report.terms import terms_in

_T = TypeVar("_T")
Mark: TypeAlias = Literal["best", "tied", ""]
MISSING = ""
UNKNOWN = "–"
TIED = "≈"
PAPER = "paper"
"""The mark of the paper's own numbers."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One cell, in the parts that a table may format differently."""

    text: str
    interval: str = ""
    """As in "66.0 to 72.1"; empty if there is none."""

    spread: str = ""
    """The standard deviation over repeats."""

    mark: Mark = ""
    paper: str = ""
    """The paper's own number, without a sign for its unit; empty if it has none."""


def number(value: Cell, column: Column, *, sign: bool = True) -> str:
    """Return a cell's text.

    >>> accuracy = Column("accuracy", "accuracy", "percent")
    >>> number(0.6911, accuracy), number(0.6911, accuracy, sign=False), number(None, accuracy)
    ('69.1%', '69.1', '')
    >>> number(-1234.5, Column("n", "n", "whole")), number(True, Column("ssc", "SelfStepConf"))
    ('−1,234', 'yes')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if column.format == "text":
        return f"{value:,}" if isinstance(value, int) else _signed(f"{value:,.{column.decimals}f}")
    if column.format == "whole":
        return _signed(f"{value:,.0f}")
    if column.format == "percent":
        unit = "%" if sign and "%" not in column.label else ""
        return _signed(f"{100 * value:.{column.decimals}f}") + unit
    return _signed(f"{value:,.{column.decimals}f}")


def _signed(text: str) -> str:
    """Return the number with a typographic minus sign, and none before a zero.

    >>> _signed("-0.0"), _signed("-0.1")
    ('0.0', '−0.1')
    """
    if text.startswith("-") and not any(digit in text for digit in "123456789"):
        return text[1:]
    return text.replace("-", "−")


def shown_cells(table: Table, column: Column, *, sign: bool = True) -> list[Shown]:
    """Return the cells of one column, top to bottom."""
    marks = cell_marks(table.rows, column)
    return [
        Shown(
            number(row.get(column.name), column, sign=sign) or (UNKNOWN if is_numeric(column) else MISSING),
            _interval(row, column),
            _spread(row, column),
            mark,
            "" if column.paper is None else number(row.get(column.paper), column, sign=False),
        )
        for row, mark in zip(table.rows, marks, strict=True)
    ]


def rows_beside(columns: Sequence[Sequence[Shown]]) -> list[bool]:
    """Return for each row of a table whether the paper has any number for it: then it takes two lines."""
    return [any(cell.paper for cell in cells) for cells in zip(*columns, strict=True)]


def doubled(ours: Sequence[_T], theirs: Sequence[_T], beside: Sequence[bool]) -> list[_T]:
    """Return a column's cells, each with the paper's under it in rows that take two lines.

    >>> doubled(["69.1", "70.2"], ["68.9", ""], [True, False])
    ['69.1', '68.9', '70.2']
    """
    pairs = zip(ours, theirs, beside, strict=True)
    return [cell for one, other, two in pairs for cell in ((one, other) if two else (one,))]


def _interval(row: Row, column: Column) -> str:
    if column.low is None or column.high is None:
        return ""
    low, high = (number(row.get(end), column, sign=False) for end in (column.low, column.high))
    return f"{low} to {high}" if low and high else ""


def _spread(row: Row, column: Column) -> str:
    return "" if column.spread is None else number(row.get(column.spread), column, sign=False)


def cell_marks(rows: Sequence[Row], column: Column) -> list[Mark]:
    """Return the mark of each cell. A single value, or equal values, have no best."""
    values = [as_number(row.get(column.name)) for row in rows]
    known = [value for value in values if value is not None]
    if column.best is None or len(set(known)) < 2:
        return [""] * len(rows)
    best = max(known) if column.best == "highest" else min(known)
    leader = rows[values.index(best)]
    low, high = (as_number(leader.get(end)) if end else None for end in (column.low, column.high))

    def mark(row: Row, value: float | None) -> Mark:
        if value is None:
            return ""
        if value == best:
            return "best"
        if column.near is not None:
            tied = bool(row.get(column.near))
        else:
            tied = low is not None and high is not None and low <= value <= high
        return "tied" if tied else ""

    return [mark(row, value) for row, value in zip(rows, values, strict=True)]


def as_number(value: Cell) -> float | None:
    """Return a number as a float; None for texts, booleans, NaN and missing values."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value)


def is_numeric(column: Column) -> bool:
    """Say whether the column is aligned right."""
    return column.format != "text"


def legend(table: Table) -> list[str]:
    """Return what the marks and the small numbers in a table mean, a phrase each."""
    cells = [cell for column in table.columns for cell in shown_cells(table, column)]
    phrases = []
    if any(cell.mark == "best" for cell in cells):
        phrases.append("bold: the best of its column")
    if any(cell.mark == "tied" for cell in cells):
        phrases.append(f"{TIED}: not really different from the best")
    if any(cell.interval for cell in cells):
        phrases.append("a to b: 95% interval over questions")
    if any(cell.spread for cell in cells):
        phrases.append("±: standard deviation over repeats (draws)")
    if any(cell.paper for cell in cells):
        phrases.append(f"{PAPER}: the published number")
    return phrases + terms_in(table)
