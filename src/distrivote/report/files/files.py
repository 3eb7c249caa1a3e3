"""A report as files for programs and papers, written atomically in the format of the suffix.

Tables in .csv and .parquet are tidy and long: a line per cell, all experiments in one file, so that they
can be filtered and joined without knowing any table's shape. JSON holds the whole report. How long an
experiment took is not included: the same seed gives the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from distrivote.errors import InputError
from distrivote.evaluation.results import Cell, Chart, Column, Report, Row, Table
from distrivote.report.cells import as_number, is_numeric
from distrivote.store.results.files import check_place, whole_file, writing

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("table", pa.string()),
        ("row", pa.int64()),
        ("label", pa.string()),
        ("column", pa.string()),
        ("value", pa.float64()),
        ("text", pa.string()),
        ("spread", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("paper", pa.float64()),
    ]
)
"""`label` is the texts of the row, joined; numbers are in `value`, texts in `text`."""

_SUFFIXES = (".html", ".parquet", ".csv", ".json", ".md", ".tex")


def check_result_file(path: str, sources: Sequence[str]) -> None:
    """Raise InputError if the suffix is unknown, there is no such folder, or a run would be overwritten."""
    if Path(path).suffix.lower() not in _SUFFIXES:
        known = f"{', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"
        raise InputError(f"can't tell the format of {path}: end its name in {known}")
    for source in sources:
        check_place(path, source)
    if Path(path).suffix.lower() == ".html":
        import distrivote.report.files.page  # noqa: F401  # names the missing package


def write_report(report: Report, path: str) -> None:
    """Write the report in the format of the path's suffix."""
    suffix = Path(path).suffix.lower()
    if suffix in (".parquet", ".csv"):
        with writing(path) as writer:
            writer.write(tidy_table(report))
        return
    with whole_file(path) as file:
        file.write(_text(report, suffix).encode())


def _text(report: Report, suffix: str) -> str:
    if suffix == ".html":
        from distrivote.report.files.page import report_page

        return report_page(report)
    if suffix == ".md":
        from distrivote.report.files.markdown import report_markdown

        return report_markdown(report)
    if suffix == ".tex":
        from distrivote.report.files.latex import report_latex

        return report_latex(report)
    return report_json(report)


def tidy_table(report: Report) -> pa.Table:
    """Return a line per cell of every table; missing cells have neither value nor text."""
    lines = [
        line
        for result in report.results
        for table in result.tables
        for line in _tidy_lines(result.experiment, table)
    ]
    return pa.Table.from_pylist(lines, SCHEMA)


def _tidy_lines(experiment: str, table: Table) -> Iterator[dict[str, Cell]]:
    words = [column.name for column in table.columns if not is_numeric(column)]
    for index, row in enumerate(table.rows):
        label = " · ".join(str(row[name]) for name in words if row.get(name) is not None)
        for column in table.columns:
            value = row.get(column.name)
            number = float(value) if isinstance(value, bool) else as_number(value)
            yield {
                "experiment": experiment,
                "table": table.name,
                "row": index,
                "label": label,
                "column": column.name,
                "value": number,
                "text": value if isinstance(value, str) else None,
                "spread": _field(row, column.spread),
                "low": _field(row, column.low),
                "high": _field(row, column.high),
                "paper": _field(row, column.paper),
            }


def _field(row: Row, name: str | None) -> float | None:
    return None if name is None else as_number(row.get(name))


_PLACE = ("experiment", "table")


def wide_lines(report: Report) -> Iterator[list[str]]:
    """Return fields line by line: a block per table, its header first, an empty line between blocks.

    Numbers are not rounded, shares are from 0 to 1, for programs that read a pipe.
    """
    blocks = [(result.experiment, table) for result in report.results for table in result.tables]
    for index, (experiment, table) in enumerate(blocks):
        if index:
            yield []
        names = [name for column in table.columns for name in _fields(column)]
        # A column that is named after a benchmark may have the name of one of the two.
        yield [*_PLACE, *(f"{name}_" if name in _PLACE else name for name in names)]
        for row in table.rows:
            yield [experiment, table.name, *(_plain(row.get(name)) for name in names)]


def _fields(column: Column) -> list[str]:
    names = (column.name, column.spread, column.low, column.high, column.paper)
    return [name for name in names if name is not None]


def _plain(value: Cell) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def report_json(report: Report) -> str:
    """Return one JSON document with everything in the report; NaN and infinities are null."""
    document = {
        "settings": _row(report.settings),
        "sources": [_row(source) for source in report.sources],
        "notes": list(report.notes),
        "results": [
            {
                "experiment": result.experiment,
                "title": result.title,
                "tables": [_table(table) for table in result.tables],
                "charts": [_chart(chart) for chart in result.charts],
                "notes": list(result.notes),
            }
            for result in report.results
        ],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _table(table: Table) -> dict[str, Any]:
    columns = [
        {
            "name": column.name,
            "label": column.label,
            "format": column.format,
            "spread": column.spread,
            "low": column.low,
            "high": column.high,
            "best": column.best,
            "near": column.near,
            "paper": column.paper,
        }
        for column in table.columns
    ]
    rows = [_row(row) for row in table.rows]
    return {"name": table.name, "title": table.title, "columns": columns, "rows": rows}


def _chart(chart: Chart) -> dict[str, Any]:
    fields = {"x": chart.x.field, "y": chart.y.field, "value": chart.value.field if chart.value else None}
    fields |= {"series": chart.series, "facet": chart.facet, "low": chart.low, "high": chart.high}
    return {
        "name": chart.name,
        "title": chart.title,
        "subtitle": chart.subtitle,
        "kind": chart.kind,
        **{name: field for name, field in fields.items() if field is not None},
        "rows": [_row(row) for row in chart.rows],
    }


def _row(row: Row) -> dict[str, Cell]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }
