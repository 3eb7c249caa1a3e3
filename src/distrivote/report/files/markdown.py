"""A report as Markdown: tables under headings, readable as plain text too."""

from __future__ import annotations

from collections.abc import Sequence

from distrivote.evaluation.results import Report, Table
from distrivote.report.cells import PAPER, TIED, Shown, doubled, is_numeric, legend, rows_beside, shown_cells
from distrivote.report.settings import settings_line
from distrivote.report.text import visible
from distrivote.report.verdict import verdict

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def report_markdown(report: Report) -> str:
    """Return every table of the report under the title of its experiment, and all notes."""
    parts = ["# Evaluation", escaped(settings_line(report))]
    parts += [_notes(found)] if (found := verdict(report)) else []
    parts += [_notes(report.notes)] if report.notes else []
    for result in report.results:
        parts.append(f"## {escaped(result.title)}")
        for table in result.tables:
            parts += [f"### {escaped(table.title)}", explained_table(table)]
        parts += [_notes(result.notes)] if result.notes else []
    return "\n\n".join(parts) + "\n"


def explained_table(table: Table) -> str:
    """Return the table, and below it what its marks mean."""
    marks = "; ".join(legend(table))
    return table_markdown(table) + (f"\n\n{marks[0].upper()}{marks[1:]}." if marks else "")


def table_markdown(table: Table) -> str:
    """Return the table with aligned columns; the paper's numbers are a line below ours."""
    shown = [shown_cells(table, column) for column in table.columns]
    beside = rows_beside(shown)
    columns = []
    for index, (column, some) in enumerate(zip(table.columns, shown, strict=True)):
        right = is_numeric(column)
        theirs = [PAPER if index == 0 else cell.paper for cell in some]
        below = [f"*{text}*" if text else "" for text in theirs]
        cells = [escaped(column.label), *doubled([_cell(cell) for cell in some], below, beside)]
        width = max(3, *map(len, cells))
        cells = [cell.rjust(width) if right else cell.ljust(width) for cell in cells]
        rule = "-" * (width - 1) + ":" if right else "-" * width
        columns.append([cells[0], rule, *cells[1:]])
    return "\n".join(f"| {' | '.join(line)} |" for line in zip(*columns, strict=True))


def _cell(cell: Shown) -> str:
    text = escaped(cell.text)
    if cell.mark == "best":
        text = f"**{text}**"
    if cell.mark == "tied":
        text += f" {TIED}"
    if cell.spread:
        text += f" ±{cell.spread}"
    return f"{text} ({cell.interval})" if cell.interval else text


def _notes(notes: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(note)}" for note in notes)


def escaped(text: str) -> str:
    """Return text escaped for Markdown.

    >>> escaped("a|b *c* <script>")
    'a\\\\|b \\\\*c\\\\* &lt;script&gt;'
    """
    return visible(text).translate(_SPECIAL)
