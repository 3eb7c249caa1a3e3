"""The votes on the fields of a JSON answer, for a terminal: a line per field.

Takes values and gives Rich texts; reads no file and prints nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.text import Text

from distrivote.answers.kinds.kind import one_line
from distrivote.answers.structured.fields import FieldVote
from distrivote.answers.structured.parse import written
from distrivote.report.terminal.columns import Column, indented, lines_of
from distrivote.report.terminal.palette import ELLIPSIS
from distrivote.report.text import shortened

_MOST_FIELDS = 40


def field_lines(fields: Sequence[FieldVote], width: int) -> list[Text]:
    """Return the fields, the value that was elected, its share, and the value that came second."""
    shown = fields[:_MOST_FIELDS]
    columns = [
        Column(
            "field", [Text(shortened(each.path or "(all)")) for each in shown], most=32, least=8, must=True
        ),
        Column("value", [Text(_value(each.value), style="bold") for each in shown], least=8, must=True),
        Column("votes", [Text(f"{each.votes:,} of {each.n:,}") for each in shown], right=True),
        Column("score", [Text(_share(each.share)) for each in shown], right=True),
        Column("next", [Text(_second(each)) for each in shown], most=28, least=8),
    ]
    if not any(each.runner_up for each in shown):
        columns.pop()
    lines = lines_of(columns, width)
    if len(fields) > len(shown):
        lines.append(indented(f"{ELLIPSIS}{len(fields) - len(shown)} more", width, "dim"))
    return lines


def _value(value: object) -> str:
    return shortened(one_line(written(value)))


def _share(share: float) -> str:
    return "" if math.isnan(share) else f"{share:.0%}"


def _second(each: FieldVote) -> str:
    return "" if each.runner_up is None else f"{_value(each.runner_up.value)} ({each.runner_up.votes:,})"
