"""Columns on a terminal: what does not fit is left out from the right, and named."""

from __future__ import annotations

import pytest
from rich.text import Text

from distrivote.report.terminal.columns import Column, left_out, lines_of

COLUMNS = [
    Column("question", [Text("bat-and-ball")], must=True),
    Column("answer", [Text("5")]),
    Column("share", [Text("100%")], right=True),
    Column("kept", [Text("12 / 32")], right=True),
]


@pytest.mark.parametrize("width", [12, 20, 28, 34, 40, 60])
def test_every_column_is_shown_or_named(width: int) -> None:
    header = lines_of(COLUMNS, width)[0].plain.split()
    lines = [line.plain for line in left_out(COLUMNS, width)]
    assert all(len(line) <= width for line in lines)
    named = " ".join(lines).replace(",", "").split()
    assert all((column.header in header) != (column.header in named) for column in COLUMNS[1:])


def test_the_names_are_those_of_the_columns_on_the_right() -> None:
    assert [line.plain for line in left_out(COLUMNS, 30)] == ["  no room here for: kept"]
    assert [line.plain for line in left_out(COLUMNS, 24)] == ["  no room here for:", "  share, kept"]
