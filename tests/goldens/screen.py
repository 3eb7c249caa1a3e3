"""What a terminal shows in the end: a line that was written over or erased leaves no trace.

Knows what our displays use: carriage returns, colours, and to erase a line or go up one.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TypeAlias

_PIECES = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")

_Cell: TypeAlias = tuple[str, str]
"""A character and the codes of its style."""


def shown(written: str, *, colours: bool = False) -> str:
    """Return the text that stands on the screen after all that was written.

    Colours are left out, or kept as in <1;31>bold and red<0>.

    >>> shown("12% read\\r\\x1b[Kdone\\n\\x1b[1mall\\x1b[0m of it\\n", colours=True)
    'done\\n<1>all<0> of it\\n'
    """
    lines: list[list[_Cell]] = [[]]
    row, column, style = 0, 0, ""
    for codes, command, move, text in _PIECES.findall(written):
        if text:
            line = lines[row]
            line += [(" ", "")] * (column - len(line))
            line[column : column + len(text)] = [(character, style) for character in text]
            column += len(text)
        elif move == "\r":
            column = 0
        elif move == "\n":
            row, column = row + 1, 0
            if row == len(lines):
                lines.append([])
        elif command == "m":
            style = codes.removeprefix("0") if colours else ""
        elif command == "K":
            del lines[row][0 if codes == "2" else column :]
        elif command == "A":
            row = max(row - int(codes or 1), 0)
        elif command not in ("h", "l"):  # whether the cursor is seen
            raise ValueError(f"the screen does not know \\x1b[{codes}{command}")
    while len(lines) > row + 1 and not lines[-1]:
        lines.pop()
    return "\n".join(map(_text, lines))


def _text(line: list[_Cell]) -> str:
    """Return a line with its styles, without what can't be seen at its end."""
    while line and line[-1] == (" ", ""):
        line.pop()
    runs = [
        (style, "".join(cell[0] for cell in cells)) for style, cells in groupby(line, lambda cell: cell[1])
    ]
    return "".join(f"<{style}>{text}<0>" if style else text for style, text in runs)
