"""The rows of a chart prepared for drawing: short field names, panels, domains, and label positions.

Fields are x, y, s (series), lo and hi (interval), v (colour of a heatmap), i (the interval as text): the
original names may hold dots or brackets, which Vega would read as paths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row
from distrivote.report.cells import as_number, number
from distrivote.report.charts.series import Style, in_order, styles_of

Drawn: TypeAlias = dict[str, Any]

_N_TICKS = 5


@dataclass(frozen=True, slots=True)
class Panel:
    """One frame of a chart."""

    title: str
    measured: list[Drawn]
    published: list[Drawn]


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that a chart's frames have in common."""

    chart: Chart
    panels: tuple[Panel, ...]
    series: list[str]
    styles: list[Style]
    x_values: list[Cell]
    """The different values of x, in order."""

    y_domain: tuple[float, float] | None
    """None if y is words."""

    @property
    def lying(self) -> bool:
        """Whether words are on the vertical axis and numbers on the horizontal one."""
        return self.chart.kind in ("bars", "points") and self.chart.x.format == "text"

    @property
    def needs_legend(self) -> bool:
        """Whether there are series that the titles of the frames don't name already."""
        return len(self.series) > 1 and self.series != [panel.title for panel in self.panels]

    def height(self, usual: int) -> int:
        """Return the height of a frame in pixels: words on the vertical axis need a line each."""
        if not self.lying:
            return usual
        a_series = 12 if self.chart.kind == "points" else 20
        each = 26 if len(self.series) < 2 else 8 + a_series * len(self.series)
        return max(60, each * len(self.x_values))

    @property
    def rows(self) -> list[Drawn]:
        return [row for panel in self.panels for row in (*panel.measured, *panel.published)]


def drawing_of(chart: Chart) -> Drawing:
    """Return the rows in panels; a row without values on the axes is left out."""
    kept = [row for row in chart.rows if _placed(row, chart.x) and _placed(row, chart.y)]
    names = in_order([_name(row, chart.series) for row in kept]) if chart.series else []
    facets = list(dict.fromkeys(_name(row, chart.facet) for row in kept)) if chart.facet else [None]
    panels = tuple(
        Panel(
            "" if facet is None else str(facet),
            [_drawn(row, chart) for row in kept if _in(row, chart, facet) and not _is_published(row, chart)],
            [_drawn(row, chart) for row in kept if _in(row, chart, facet) and _is_published(row, chart)],
        )
        for facet in facets or [None]
    )
    domain = None if chart.y.format == "text" else y_domain(chart, kept)
    xs = in_order([row[chart.x.field] for row in kept])
    return Drawing(chart, panels, [str(name) for name in names], styles_of(names), xs, domain)


def _name(row: Row, field: str | None) -> Cell:
    value = row.get(field) if field else None
    return "" if value is None else value


def _in(row: Row, chart: Chart, facet: Cell) -> bool:
    return facet is None or _name(row, chart.facet) == facet


def _is_published(row: Row, chart: Chart) -> bool:
    return chart.published is not None and bool(row.get(chart.published))


def _placed(row: Row, axis: Axis) -> bool:
    value = row.get(axis.field)
    if axis.format == "text":
        return value is not None
    found = as_number(value)
    return found is not None and math.isfinite(found) and not (axis.log and found <= 0)


def _drawn(row: Row, chart: Chart) -> Drawn:
    drawn: Drawn = {"x": _value(row, chart.x), "y": _value(row, chart.y)}
    if chart.series is not None:
        drawn["s"] = str(_name(row, chart.series))
    if chart.low is not None and chart.high is not None:
        low, high = as_number(row.get(chart.low)), as_number(row.get(chart.high))
        if low is not None and high is not None:
            drawn |= {"lo": low, "hi": high, "i": f"{spelt(low, chart.y)} to {spelt(high, chart.y)}"}
    if chart.value is not None:
        drawn["v"] = as_number(row.get(chart.value.field))
    return drawn


def _value(row: Row, axis: Axis) -> Cell:
    value = row[axis.field]
    return str(value) if axis.format == "text" else as_number(value)


def spelt(value: float | None, axis: Axis) -> str:
    """Return a number as the label of an axis.

    >>> spelt(0.6911, Axis("y", "accuracy", "percent")), spelt(9.4321, Axis("y", "confidence"))
    ('69.1%', '9.43')
    """
    if axis.format == "number" and value is not None:
        return f"{value:.3g}".replace("-", "−") if abs(value) < 1000 else f"{value:,.0f}"
    return number(value, Column(axis.field, "", axis.format))


def y_domain(chart: Chart, rows: Sequence[Row]) -> tuple[float, float]:
    """Return round ends that include every value and interval, and zero if the chart wants it."""
    fields = [chart.y.field, *(field for field in (chart.low, chart.high) if field is not None)]
    found = [as_number(row.get(field)) for row in rows for field in fields]
    values = [value for value in found if value is not None and math.isfinite(value)]
    if chart.y.zero or chart.kind in ("bars", "histogram"):
        values.append(0.0)
    if chart.y.log:
        values = [value for value in values if value > 0]
        return (min(values), max(values)) if values else (1.0, 10.0)
    low, high = nice(min(values, default=0.0), max(values, default=1.0))
    return (max(low, 0.0) if min(values, default=0.0) >= 0 else low), high


def nice(low: float, high: float) -> tuple[float, float]:
    """Return the smallest interval with round ends around the two.

    >>> nice(0.613, 0.787), nice(3.0, 3.0)
    ((0.6, 0.8), (2.4, 3.6))
    """
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5 * (abs(low) > 1 or 0.1), high + 0.5 * (abs(high) > 1 or 0.1)
    raw = (high - low) / _N_TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    return round(math.floor(low / step + 1e-9) * step, 12), round(math.ceil(high / step - 1e-9) * step, 12)


def spread_out(places: Sequence[float], gap: float, low: float, high: float) -> list[float] | None:
    """Return the positions moved as little as needed to be a gap apart, in the same order.

    None if there is no room for all of them between low and high.

    >>> spread_out([0.70, 0.71, 0.50], 0.1, 0.0, 1.0)
    [0.6549999999999999, 0.755, 0.5]
    """
    if (len(places) - 1) * gap > high - low:
        return None
    order = sorted(range(len(places)), key=lambda i: places[i])
    groups: list[tuple[float, int]] = []  # where labels that touch have their middle, and how many they are

    def inside(centre: float, n: int) -> float:
        reach = (n - 1) / 2 * gap
        return min(max(centre, low + reach), high - reach)

    for index in order:
        centre, n = inside(places[index], 1), 1
        while groups and centre - groups[-1][0] < (n + groups[-1][1]) / 2 * gap - 1e-12:
            before, m = groups.pop()
            centre, n = inside((before * m + centre * n) / (m + n), m + n), m + n
        groups.append((centre, n))
    moved = [centre + (k - (n - 1) / 2) * gap for centre, n in groups for k in range(n)]
    placed = [0.0] * len(places)
    for index, place in zip(order, moved, strict=True):
        placed[index] = place
    return placed
