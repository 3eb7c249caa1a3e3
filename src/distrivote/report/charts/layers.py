"""The layers of one frame of a chart, by kind: marks, intervals, published numbers, lines, labels.

Every mark has a tooltip. Hollow marks are the paper's own numbers.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, TypeAlias

import altair as alt

from distrivote.evaluation.results import Chart
from distrivote.report.charts.axes import (
    Frame,
    colour_of,
    dash_of,
    legend_for,
    shape_of,
    tick_format,
    tooltip_of,
    x_axis,
    y_axis,
)
from distrivote.report.charts.rows import Drawing, Drawn, Panel, spelt
from distrivote.report.charts.series import INK

Layer: TypeAlias = Any  # alt.Chart; its methods are not typed closely enough to help
_MOST_DOTS = 30
_MOST_LABELLED_CELLS = 130


def layers_of(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    """Return the layers of one frame, the lowest first."""
    kind = drawing.chart.kind
    if kind == "heatmap":
        layers = _heatmap(drawing, panel)
    elif kind == "bars":
        layers = _bars(drawing, panel, frame)
    elif kind == "histogram":
        layers = _histogram(drawing, panel, frame)
    elif kind == "points":
        layers = _points(drawing, panel, frame)
    else:
        layers = _lines(drawing, panel, frame)
    # Vega warns about the axes of a layer without rows.
    return [layer for layer in layers if layer.data.values] + _rules(drawing.chart, panel)


def _chart(rows: list[Drawn]) -> Any:
    return alt.Chart(alt.InlineData(values=rows))


def _with_interval(rows: list[Drawn]) -> list[Drawn]:
    return [row for row in rows if "lo" in row]


# Kinds


def _lines(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    chart = drawing.chart
    x, y, colour = x_axis(drawing), y_axis(drawing), colour_of(drawing, frame)
    stairs = {"interpolate": "step"} if chart.kind == "steps" else {}
    style = {} if colour else {"style": "accent"}
    marks_only = {n for n, s in zip(drawing.series, drawing.styles, strict=True) if not s.line}
    lines = [row for row in panel.measured if row.get("s") not in marks_only]
    marks = [row for row in panel.measured if row.get("s") in marks_only]
    layers: list[Layer] = []
    bands = _with_interval(lines)
    if bands:
        weight = 0.18 if len(drawing.series) <= 3 else 0.09
        band = _chart(bands).mark_area(opacity=weight, **style, **stairs)
        layers.append(band.encode(x=x, y=y_axis(drawing, "lo"), y2="hi:Q", **colour))
    line = _chart(lines).mark_line(strokeWidth=2, **style, **stairs)
    layers.append(line.encode(x=x, y=y, **colour, **dash_of(drawing, frame)))
    longest = max(Counter(row.get("s") for row in lines).values(), default=0)
    tip = tooltip_of(chart, interval=bool(bands))
    if longest <= _MOST_DOTS and chart.kind != "steps":
        dots = _chart(lines).mark_point(size=45, filled=True, opacity=1, **style)
        layers.append(dots.encode(x=x, y=y, tooltip=tip, **colour, **shape_of(drawing, frame)))
    # Larger than the dot, so that a finger or a pointer hits it easily.
    target = _chart(lines).mark_point(size=260, filled=True, opacity=0)
    layers.append(target.encode(x=x, y=y, tooltip=tip))
    if marks:
        diamond = _chart(marks).mark_point(size=80, filled=True, opacity=1, shape="diamond")
        layers.append(
            diamond.encode(x=x, y=y, tooltip=tooltip_of(chart), **colour, **shape_of(drawing, frame))
        )
    layers += _hollow(drawing, panel, frame, {"x": x, "y": y})
    labels = frame.labels(drawing, panel)
    if labels:
        text = _chart(labels).mark_text(align="left", dx=8, baseline="middle", fontSize=12, fontWeight=600)
        layers.append(text.encode(x=x, y=y, text="s:N", **colour))
    return layers


def _points(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    """Words are on the vertical axis here too."""
    lying, colour = drawing.lying, colour_of(drawing, frame)
    place: dict[str, Any] = {"y": _words(drawing, grid=True)} if lying else {"x": x_axis(drawing)}
    if lying and len(drawing.series) > 1:
        place["yOffset"] = alt.YOffset("s:N", sort=drawing.series)
    layers: list[Layer] = []
    intervals = _with_interval(panel.measured)
    style = {} if colour else {"style": "accent"}
    if intervals:
        bar = _chart(intervals).mark_rule(strokeWidth=2, opacity=0.7, **style)
        ends = {"x2" if lying else "y2": "hi:Q"}
        layers.append(bar.encode(**place, **_along(drawing, "lo", lying), **ends, **colour))
    many = len(panel.measured) > 200
    size, opacity = (24, 0.5) if many else (70, 0.95)
    dots = _chart(panel.measured).mark_point(size=size, filled=True, opacity=opacity, **style)
    tip = tooltip_of(drawing.chart, interval=bool(intervals))
    place |= _along(drawing, "y", lying)
    layers.append(dots.encode(tooltip=tip, **place, **colour, **shape_of(drawing, frame)))
    return layers + _hollow(drawing, panel, frame, place)


def _words(drawing: Drawing, *, grid: bool = False) -> alt.Y:
    """Return the vertical axis of words."""
    order = [str(value) for value in drawing.x_values]
    axis = alt.Axis(title=None, labelLimit=150, grid=grid)
    return alt.Y("x:N", sort=order, axis=axis, scale=alt.Scale(paddingInner=0.3, paddingOuter=0.15))


def _along(drawing: Drawing, field: str, lying: bool) -> dict[str, Any]:
    """Return the axis of numbers."""
    of: Any = y_axis(drawing, field)
    return {"x": alt.X.from_dict(of.to_dict())} if lying else {"y": of}


def _hollow(drawing: Drawing, panel: Panel, frame: Frame, place: dict[str, Any]) -> list[Layer]:
    """Return the published numbers."""
    if not panel.published:
        return []
    rings = _chart(panel.published).mark_point(size=70, filled=False, strokeWidth=1.8, opacity=1)
    if not drawing.series:
        rings = _chart(panel.published).mark_point(size=70, filled=False, opacity=1, style="hollow")
    tip = tooltip_of(drawing.chart, published=True)
    colour, shape = colour_of(drawing, frame), shape_of(drawing, frame)
    shape = shape if drawing.chart.kind in ("lines", "points") else {}
    return [rings.encode(tooltip=tip, **place, **colour, **shape)]


def _bars(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    """Horizontal bars for words, so that they can be read; vertical bars for numbers."""
    chart, lying = drawing.chart, drawing.lying
    several = len(drawing.series) > 1
    place: dict[str, Any] = {"y": _words(drawing)}
    if not lying:
        axis = alt.Axis(title=chart.x.label, labelAngle=0, format=tick_format(chart.x) or alt.Undefined)
        order: Any = drawing.x_values
        place = {"x": alt.X("x:O", sort=order, axis=axis)}
    if several:
        offset = alt.YOffset if lying else alt.XOffset
        place["yOffset" if lying else "xOffset"] = offset("s:N", sort=drawing.series)
    colour = colour_of(drawing, frame)
    style = {} if colour else {"style": "accent"}
    end = 2 if not several else 1
    intervals = _with_interval(panel.measured)
    bar = _chart(panel.measured).mark_bar(opacity=0.85, cornerRadiusEnd=end, **style)
    tip = tooltip_of(chart, interval=bool(intervals))
    layers: list[Layer] = [bar.encode(**place, **_along(drawing, "y", lying), **colour, tooltip=tip)]
    if intervals:
        rule = _chart(intervals).mark_rule(strokeWidth=1.5, style="interval")
        layers.append(
            rule.encode(**place, **_along(drawing, "lo", lying), **{"x2" if lying else "y2": "hi:Q"})
        )
    if lying:
        published = {(row["x"], row.get("s")): row["y"] for row in panel.published}
        values = [
            {**row, "y": max(row["y"], row.get("hi", 0), published.get((row["x"], row.get("s")), 0))}
            | {"t": spelt(row["y"], chart.y)}
            for row in panel.measured
        ]
        text = _chart(values).mark_text(align="left", dx=6, baseline="middle", fontSize=10 if several else 11)
        layers.append(text.encode(**place, **_along(drawing, "y", lying), text="t:N"))
    return layers + _hollow(drawing, panel, frame, place | _along(drawing, "y", lying))


def _histogram(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    """Rows are the centres of bins of equal width."""
    middles = sorted({row["x"] for row in drawing.rows})
    gaps = [b - a for a, b in pairwise(middles) if b > a]
    half = min(gaps, default=1.0) / 2
    axis = drawing.chart.x
    look = alt.Axis(title=axis.label, format=tick_format(axis) or alt.Undefined)
    x = alt.X("a:Q", axis=look, scale=alt.Scale(zero=axis.zero, nice=False))
    colour = colour_of(drawing, frame)
    style = {} if colour else {"style": "accent"}
    layers = []
    tip = tooltip_of(drawing.chart)
    names: list[str | None] = [*drawing.series] or [None]
    for name in names:
        rows = [
            row | {"a": row["x"] - half, "b": row["x"] + half, "z": 0}
            for row in panel.measured
            if row.get("s") == name
        ]
        bar = _chart(rows).mark_rect(
            fillOpacity=0.4 if name else 0.8, strokeWidth=1, strokeOpacity=0.9, **style
        )
        edges = alt.Stroke("s:N", scale=alt.Scale(domain=drawing.series), legend=legend_for(drawing, frame))
        both = colour | ({"stroke": edges} if colour else {})
        layers.append(bar.encode(x=x, x2="b:Q", y=y_axis(drawing), y2="z:Q", tooltip=tip, **both))
    return layers


def _heatmap(drawing: Drawing, panel: Panel) -> list[Layer]:
    chart = drawing.chart
    shown = chart.value or chart.y
    rows = [row for row in panel.measured if row.get("v") is not None]
    everywhere = [row["v"] for row in drawing.rows if row.get("v") is not None]
    low, high = min(everywhere, default=0.0), max(everywhere, default=1.0)
    # The upper part of the scale is bright and needs dark letters.
    rows = [
        row | {"t": spelt(row["v"], shown).rstrip("%"), "b": row["v"] > low + 0.6 * (high - low)}
        for row in rows
    ]
    place = {
        "x": alt.X(
            "x:O",
            axis=alt.Axis(title=chart.x.label, labelAngle=0, format=tick_format(chart.x) or alt.Undefined),
        ),
        "y": alt.Y(
            "y:O",
            sort="descending" if chart.y.format != "text" else None,
            axis=alt.Axis(title=chart.y.label, format=tick_format(chart.y) or alt.Undefined),
        ),
    }
    ramp = alt.Legend(
        title=shown.label, orient="right", gradientLength=160, format=tick_format(shown) or alt.Undefined
    )
    colour = alt.Color("v:Q", scale=alt.Scale(scheme="viridis", domain=[low, high]), legend=ramp)
    layers: list[Layer] = [_chart(rows).mark_rect().encode(**place, color=colour, tooltip=tooltip_of(chart))]
    if len(rows) <= _MOST_LABELLED_CELLS:
        for bright, ink in ((True, "#1b1f23"), (False, "#ffffff")):
            some = [row for row in rows if row["b"] is bright]
            layers.append(_chart(some).mark_text(color=ink, fontSize=10).encode(**place, text="t:N"))
    return layers


def _rules(chart: Chart, panel: Panel) -> list[Layer]:
    """Return vertical lines with their labels; a threshold is dashed, a cut is not."""
    layers: list[Layer] = []
    for name, at, where in chart.rules:
        if where not in (None, panel.title):
            continue
        words = name.lower()
        dash = INK.dash if any(word in words for word in ("threshold", "tau", "τ")) else (1, 0)
        rows = [{"at": at, "n": f"{name} {spelt(at, chart.x)}"}]
        line = _chart(rows).mark_rule(strokeWidth=1.2, strokeDash=list(dash), style="interval")
        layers.append(line.encode(x="at:Q"))
        text = _chart(rows).mark_text(align="center", dy=-4, baseline="bottom", fontSize=11)
        layers.append(text.encode(x="at:Q", y=alt.value(0), text="n:N"))
    return layers
