"""Text cells of CSV that a spreadsheet would take for formulas: a quote is put before them.

A spreadsheet computes a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return, and a formula
can send the content of other cells elsewhere. A quote makes it text. Plain numbers such as -3 stay as they
are. A cell that has quotes before such a character gets one more, so that taking off one quote gives every
text back.

Quotes are taken off only in files that we wrote, since elsewhere `'-x'` may be a text of its own. They are
known by a header that no other program writes: quotation marks around its first name without need, and around
the others only where needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_FORMULA = re.compile(r"'*+[=+\-@\t\r]")
_NUMBER = re.compile(r"'*+[+-](?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_NEEDS_MARKS = re.compile(r'[",;\t\r\n]|^\s|\s$')


def _needs_quote(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def guarded(text: str) -> str:
    """Return a text as a cell that no spreadsheet computes.

    >>> guarded("=1+1"), guarded("-x"), guarded("-3"), guarded("'=x"), guarded("x = 1")
    ("'=1+1", "'-x", '-3', "''=x", 'x = 1')
    """
    return "'" + text if _needs_quote(text) else text


def bare(cell: str) -> str:
    """Return the text of a cell that `guarded` has made."""
    return cell[1:] if cell.startswith("'") and _needs_quote(cell[1:]) else cell


def header_line(names: Sequence[str]) -> str:
    """Return the header of a CSV file of ours, without its line end."""
    cells = [guarded(name) for name in names]
    return ",".join(
        _marked(cell) if not at or _NEEDS_MARKS.search(cell) else cell for at, cell in enumerate(cells)
    )


def reader_of(header: str, cells: Sequence[str]) -> Callable[[str], str]:
    """Return what makes texts of the cells of a CSV file, which begins with this line and these cells."""
    shows = not _NEEDS_MARKS.search(cells[0]) and not all(map(_NEEDS_MARKS.search, cells[1:]))
    first_line = header_line([bare(cell) for cell in cells]).split("\n", 1)[0]
    return bare if shows and header.rstrip("\n") == first_line else str


def _marked(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
