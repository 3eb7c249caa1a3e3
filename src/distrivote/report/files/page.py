"""A report as one HTML file that works offline: what was run, sortable tables, charts with tooltips.

Everything is in the file: styles, scripts, data. A content security policy allows only these scripts, by
their checksums, and no requests. Everything from a run (names, ids, notes) is escaped, and the data of the
charts is JSON that can't end its script element.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from distrivote.errors import MissingPackageError
from distrivote.evaluation.results import Cell, Chart, Column, Report, Result, Row, Table
from distrivote.nouns import count
from distrivote.report.cells import PAPER, TIED, Shown, as_number, is_numeric, legend, shown_cells
from distrivote.report.charts.chart import (
    VEGA_LITE,
    colours_of,
    least_width,
    legend_of,
    panels,
    subtitle,
    theme,
)
from distrivote.report.charts.series import SOLID, Style
from distrivote.report.settings import spelt, spoken
from distrivote.report.text import visible
from distrivote.report.verdict import verdict

try:
    import vl_convert
except ImportError as error:
    raise MissingPackageError("vl-convert-python", "report", "drawing charts") from error

_GLYPHS = {"circle": "●", "square": "■", "diamond": "◆", "cross": "✚", "triangle-up": "▲"}
_GLYPHS |= {"triangle-down": "▼", "triangle-right": "▶"}

_LONG = 40
"""Characters that a cell shows on one line."""

_TALL = 20
"""Rows that a table shows at once; longer ones scroll under their header."""

TITLE = "DistriVoting, evaluated"


def report_page(report: Report) -> str:
    """Return the whole page."""
    drawn: list[dict[str, object]] = []
    sections = "\n".join(_section(result, drawn) for result in report.results)
    scripts = [_bundle(), _file("page.js")] if drawn else [_file("page.js")]
    data = {"themes": {"light": theme(dark=False), "dark": theme(dark=True)}, "charts": drawn}
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{TITLE}</title>
<link rel="icon" href="data:,">
<style>
{_file("page.css")}</style>
</head>
<body>
<header>
<h1>{TITLE}</h1>
<p>{_told(report)}</p>
</header>
{_contents(report)}
<main>
{_verdict(report)}
{_what_was_run(report)}
{sections}
</main>
<script type="application/json" id="data">{_inert(data)}</script>
{"".join(f'<script type="module">{script}</script>' for script in scripts)}
</body>
</html>
"""


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script (0.9 MB)."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    assert "</script" not in script.lower()
    return script


@cache
def _file(name: str) -> str:
    return files("distrivote.report.files").joinpath(name).read_text("utf-8")


def _policy(scripts: Sequence[str]) -> str:
    sums = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{checksum}'" for checksum in sums)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _inert(data: object) -> str:
    """Return JSON that neither ends a script element nor opens a comment."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _safe(text: object) -> str:
    return escape(visible(str(text)), quote=True)


# What was found, and what was run


def _verdict(report: Report) -> str:
    found = verdict(report)
    if not found:
        return ""
    items = "".join(f"<li>{_safe(sentence)}</li>" for sentence in found)
    return f'<section id="verdict"><h2>What was found</h2><ul class="verdict">{items}</ul></section>'


def _told(report: Report) -> str:
    models = dict.fromkeys(str(source["model"]) for source in report.sources if source.get("model"))
    benchmarks = dict.fromkeys(str(s["benchmark"]) for s in report.sources if s.get("benchmark"))
    parts = dict.fromkeys(
        [", ".join(models), ", ".join(benchmarks), count(len(report.results), "experiment")]
    )
    return " · ".join(_safe(part) for part in parts if part)


def _contents(report: Report) -> str:
    links = "".join(
        f'<li><a href="#{_anchor(result.experiment)}"><b>{_safe(result.experiment)}</b>'
        f" {_safe(result.title)}</a></li>"
        for result in report.results
    )
    return f'<nav aria-label="Contents"><ol><li><a href="#run">What was run</a></li>{links}</ol></nav>'


def _what_was_run(report: Report) -> str:
    settings = "".join(
        f"<div><dt>{_safe(spoken(name))}</dt><dd>{_safe(spelt(value))}</dd></div>"
        for name, value in report.settings.items()
        if value is not None
    )
    table = _table(sources_table(report.sources)) if report.sources else ""
    return (
        f'<section id="run"><h2>What was run</h2><dl>{settings}</dl>{table}{_notes(report.notes)}</section>'
    )


def sources_table(sources: Sequence[Row]) -> Table:
    """Return the runs as a table, a column per field that any of them has."""
    names = list(dict.fromkeys(name for source in sources for name in source))

    def column(name: str) -> Column:
        values = [source.get(name) for source in sources]
        whole = all(value is None or _is_whole(value) for value in values)
        return Column(name, spoken(name), "whole" if whole else "text")

    return Table("runs", "Runs", tuple(map(column, names)), tuple(sources))


def _is_whole(value: Cell) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# Experiments


def _section(result: Result, drawn: list[dict[str, object]]) -> str:
    charts = "".join(_figure(chart, drawn) for chart in result.charts)
    tables = "".join(_table(table) for table in result.tables)
    return (
        f'<section id="{_anchor(result.experiment)}">'
        f"<h2>{_safe(result.title)} <small>{_safe(result.experiment)}</small></h2>"
        f"{_notes(result.notes)}{charts}{tables}</section>"
    )


def _anchor(experiment: str) -> str:
    return "experiment-" + "".join(c if c.isascii() and c.isalnum() else "-" for c in experiment)


def _notes(notes: Sequence[str]) -> str:
    items = "".join(f"<li>{_safe(note)}</li>" for note in notes)
    return f'<ul class="notes">{items}</ul>' if items else ""


def _figure(chart: Chart, drawn: list[dict[str, object]]) -> str:
    made = panels(chart)
    width = f' style="min-width:{least}px"' if (least := least_width(chart)) else ""
    frames = "".join(
        "<div>"
        + (f"<h4>{_safe(title)}</h4>" if len(made) > 1 else "")
        + f'<div class="chart" data-chart="{len(drawn)}" data-panel="{index}" role="img"{width}'
        f' aria-label="{_safe(chart.title)} {_safe(title)}"></div></div>'
        for index, (title, _) in enumerate(made)
    )
    if not made:
        frames = "<p>No values to draw.</p>"
    drawn.append(
        {
            "light": colours_of(chart, dark=False),
            "dark": colours_of(chart, dark=True),
            "panels": [specification for _, specification in made],
        }
    )
    several = " several" if len(made) > 1 else ""
    key = _key(chart) if several else ""
    scrolls = ' tabindex="0"' if width else ""
    return (
        f"<figure><figcaption><h3>{_safe(chart.title)}</h3><p>{_safe(subtitle(chart))}</p></figcaption>{key}"
        f'<div class="frames{several}"{scrolls}>{frames}</div></figure>'
    )


def _key(chart: Chart) -> str:
    """Return what the colours and marks of a chart with several frames mean."""
    items = "".join(
        f'<li style="--day:{style.light};--night:{style.dark}"><i>{_glyph(chart, style)}</i>'
        f" {_safe(name)}</li>"
        for name, style in legend_of(chart)
    )
    return f'<ul class="key">{items}</ul>' if items else ""


def _glyph(chart: Chart, style: Style) -> str:
    if chart.kind in ("bars", "histogram"):
        return _GLYPHS["square"]
    if chart.kind == "points" or not style.line:
        return _GLYPHS.get(style.shape, _GLYPHS["circle"])
    return "—" if style.dash == SOLID else "╌"


# Tables


def _table(table: Table) -> str:
    head = "".join(_header(column) for column in table.columns)
    columns = [(column, shown_cells(table, column)) for column in table.columns]
    body = "".join(_line(columns, index, row) for index, row in enumerate(table.rows))
    marks = " · ".join(legend(table))
    tall = " tall" if len(table.rows) > _TALL else ""
    below = f'<p class="marks">{_safe(marks)}</p>' if marks else ""
    return (
        f"<h3>{_safe(table.title)}</h3>"
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{_safe(table.title)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{below}"
    )


def _header(column: Column) -> str:
    kind = ' class="n"' if is_numeric(column) else ""
    return f'<th scope="col"{kind}><button type="button">{_safe(column.label)}</button></th>'


def _line(columns: Sequence[tuple[Column, Sequence[Shown]]], index: int, row: Row) -> str:
    cells = [_cell(column, cells[index], row, first=k == 0) for k, (column, cells) in enumerate(columns)]
    return f"<tr>{''.join(cells)}</tr>"


def _cell(column: Column, cell: Shown, row: Row, *, first: bool) -> str:
    value = as_number(row.get(column.name))
    kind = "n" if is_numeric(column) else "long" if len(cell.text) > _LONG else ""
    attributes = (f'class="{kind}"' if kind else "") + (f' data-v="{value!r}"' if value is not None else "")
    text = "".join(_parts(cell))
    tag, scope = ("th", ' scope="row"') if first else ("td", "")
    return f"<{tag}{scope} {attributes}>".replace(" >", ">") + f"{text}</{tag}>"


def _parts(cell: Shown) -> Iterator[str]:
    text = _safe(cell.text)
    yield f"<b>{text}</b>" if cell.mark == "best" else text
    if cell.mark == "tied":
        yield f'<span class="tied" title="not really different from the best">{TIED}</span>'
    small = [cell.interval, f"±{cell.spread}" if cell.spread else ""]
    if any(small):
        yield f"<small>{' · '.join(part for part in small if part)}</small>"
    if cell.paper:
        yield f'<small class="paper">{PAPER} {_safe(cell.paper)}</small>'
