"""Axes, colours, shapes, legends and tooltips of charts: what all kinds of them share.

Colours come from the theme. A series has one legend for its colour, shape and dash together, or its name at
the end of its line if there is room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from distrivote.evaluation.results import Axis, Chart
from distrivote.report.charts.rows import Drawing, Drawn, Panel, spread_out

_LINE_HEIGHT = 15


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of one frame."""

    width: int | Literal["container"]
    height: int
    narrow: bool
    legend: bool
    """Whether this frame has the legend, if there is one."""

    def labels(self, drawing: Drawing, panel: Panel | None = None) -> list[Drawn]:
        """Return the names of the lines at their ends; none if there is no room for them."""
        chart, names = drawing.chart, drawing.series
        if (
            chart.kind != "lines"
            or len(drawing.panels) > 1
            or not 1 < len(names) <= 8
            or not drawing.y_domain
        ):
            return []
        if chart.x.format == "text" or chart.y.log or (self.narrow and max(map(len, names)) > 16):
            return []
        rows = (panel or drawing.panels[0]).measured
        ends = [max((r for r in rows if r["s"] == n), key=lambda r: r["x"], default=None) for n in names]
        found = [end for end in ends if end is not None]
        low, high = drawing.y_domain
        places = spread_out([r["y"] for r in found], _LINE_HEIGHT * (high - low) / self.height, low, high)
        if places is None or len(found) < len(names):
            return []
        right = max(r["x"] for r in found)
        return [{"x": right, "y": y, "s": r["s"]} for r, y in zip(found, places, strict=True)]


def tick_format(axis: Axis, step: float = 1.0) -> str | None:
    if axis.format == "percent":
        return ".0%" if step >= 0.01 else ".1%"
    return ",.0f" if axis.format == "whole" else None


def x_axis(drawing: Drawing) -> alt.X:
    axis, values = drawing.chart.x, drawing.x_values
    if axis.format == "text":
        look = alt.Axis(labelAngle=0 if len(values) <= 4 else -40, title=axis.label, labelLimit=160)
        return alt.X("x:N", sort=[str(value) for value in values], axis=look)
    few: Any = values if len(values) <= 10 else None
    look = alt.Axis(title=axis.label, format=tick_format(axis) or alt.Undefined, values=few or alt.Undefined)
    if axis.log:
        return alt.X("x:Q", axis=look, scale=alt.Scale(type="log", base=2, nice=False))
    return alt.X("x:Q", axis=look, scale=alt.Scale(zero=axis.zero, nice=False, padding=6))


def y_axis(drawing: Drawing, field: str = "y") -> alt.Y:
    axis, domain = drawing.chart.y, drawing.y_domain
    step = (domain[1] - domain[0]) / 5 if domain else 1.0
    look = alt.Axis(title=axis.label, format=tick_format(axis, step) or alt.Undefined)
    scale = alt.Scale(domain=list(domain or (0, 1)), nice=False, zero=False)
    if axis.log:
        scale = alt.Scale(type="log", domain=list(domain or (1, 10)))
    return alt.Y(f"{field}:Q", axis=look, scale=scale)


def legend_for(drawing: Drawing, frame: Frame) -> alt.Legend | None:
    if not frame.legend or not drawing.needs_legend or frame.labels(drawing):
        return None
    longest = max(map(len, drawing.series))
    room = 330 if frame.narrow else 560
    # Above the labels of vertical lines, if there are any.
    offset = 24 if drawing.chart.rules else alt.Undefined
    return alt.Legend(offset=offset, columns=max(1, room // (7 * longest + 34)), title=None)


def colour_of(drawing: Drawing, frame: Frame) -> dict[str, Any]:
    """Return the channels that distinguish series; none without series."""
    if not drawing.series:
        return {}
    names, legend = drawing.series, legend_for(drawing, frame)
    return {"color": alt.Color("s:N", scale=alt.Scale(domain=names), sort=names, legend=legend)}


def shape_of(drawing: Drawing, frame: Frame) -> dict[str, Any]:
    if not drawing.series:
        return {}
    stairs = drawing.chart.kind == "steps"
    shapes = ["stroke" if stairs and style.line else style.shape for style in drawing.styles]
    scale = alt.Scale(domain=drawing.series, range=shapes)
    return {"shape": alt.Shape("s:N", scale=scale, legend=legend_for(drawing, frame))}


def dash_of(drawing: Drawing, frame: Frame) -> dict[str, Any]:
    if not drawing.series:
        return {}
    scale = alt.Scale(domain=drawing.series, range=[list(style.dash) for style in drawing.styles])
    return {"strokeDash": alt.StrokeDash("s:N", scale=scale, legend=legend_for(drawing, frame))}


def tooltip_of(chart: Chart, *, published: bool = False, interval: bool = False) -> list[alt.Tooltip]:
    found = [alt.Tooltip("s:N", title="series")] if chart.series else []
    for field, axis in (("x", chart.x), ("y", chart.y), ("v", chart.value)):
        if axis is None:
            continue
        kind = "N" if axis.format == "text" else "Q"
        formats: dict[str, Any] = {"percent": ".1%", "whole": ",.0f", "number": ",.3~r"}
        shown = formats.get(axis.format, alt.Undefined)
        name = f"{axis.label} (published)" if published and field == "y" else axis.label
        found.append(alt.Tooltip(f"{field}:{kind}", title=name, format=shown))
    return [*found, alt.Tooltip("i:N", title="95% interval")] if interval else found
