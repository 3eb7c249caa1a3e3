"""The layers of one frame of a chart, by kind: marks, intervals, published numbers, lines, labels.

Colours come from the theme. Everything that a pointer can meet has a tooltip. Hollow marks are the
paper's own numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import altair as alt

from distrivote.evaluation.results import Axis, Chart
from distrivote.report.chart_rows import Drawing, Drawn, Panel, spelt, spread_out
from distrivote.report.series import INK

Layer: TypeAlias = Any  # alt.Chart; its methods are not typed closely enough to help
_LINE_HEIGHT = 15
_MOST_DOTS = 30
_MOST_LABELLED_CELLS = 130


@dataclass(frozen=True, slots=True)
class Frame:
    """The place that one frame has."""

    width: int | Literal["container"]
    height: int
    narrow: bool
    legend: bool
    """Whether this frame carries the legend, if there is one."""

    def labels(self, drawing: Drawing, panel: Panel | None = None) -> list[Drawn]:
        """Return the names of the lines at their ends; none where there is no room for them."""
        chart, names = drawing.chart, drawing.series
        if chart.kind != "lines" or len(drawing.panels) > 1 or not 1 < len(names) <= 8 or not drawing.y_domain:
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
    # A layer without rows would make Vega complain about its axes.
    return [layer for layer in layers if layer.data.values] + _rules(drawing.chart)


# Axes and channels


def _format(axis: Axis, step: float = 1.0) -> str | None:
    if axis.format == "percent":
        return ".0%" if step >= 0.01 else ".1%"
    return ",.0f" if axis.format == "whole" else None


def _x(drawing: Drawing) -> alt.X:
    axis, values = drawing.chart.x, drawing.x_values
    if axis.format == "text":
        look = alt.Axis(labelAngle=0 if len(values) <= 4 else -40, title=axis.label, labelLimit=160)
        return alt.X("x:N", sort=[str(value) for value in values], axis=look)
    few = [value for value in values if value is not None] if len(values) <= 10 else None
    look = alt.Axis(title=axis.label, format=_format(axis) or alt.Undefined, values=few or alt.Undefined)
    if axis.log:
        return alt.X("x:Q", axis=look, scale=alt.Scale(type="log", base=2, nice=False))
    return alt.X("x:Q", axis=look, scale=alt.Scale(zero=axis.zero, nice=False, padding=6))


def _y(drawing: Drawing, field: str = "y") -> alt.Y:
    axis, domain = drawing.chart.y, drawing.y_domain
    step = (domain[1] - domain[0]) / 5 if domain else 1.0
    look = alt.Axis(title=axis.label, format=_format(axis, step) or alt.Undefined)
    scale = alt.Scale(domain=list(domain or (0, 1)), nice=False, zero=False)
    if axis.log:
        scale = alt.Scale(type="log", domain=list(domain or (1, 10)))
    return alt.Y(f"{field}:Q", axis=look, scale=scale)


def _legend(drawing: Drawing, frame: Frame) -> alt.Legend | None:
    if not frame.legend or len(drawing.series) < 2 or frame.labels(drawing):
        return None
    longest = max(map(len, drawing.series))
    room = 330 if frame.narrow else 560
    # Above the labels of vertical lines, where there are some.
    offset = 24 if drawing.chart.rules else alt.Undefined
    return alt.Legend(offset=offset, columns=max(1, room // (7 * longest + 34)), title=None)


def _colour(drawing: Drawing, frame: Frame) -> dict[str, Any]:
    """Return the channels that tell series apart; none without series."""
    if not drawing.series:
        return {}
    names, legend = drawing.series, _legend(drawing, frame)
    return {"color": alt.Color("s:N", scale=alt.Scale(domain=names), sort=names, legend=legend)}


def _shape(drawing: Drawing, frame: Frame) -> dict[str, Any]:
    if not drawing.series:
        return {}
    stairs = drawing.chart.kind == "steps"
    shapes = ["stroke" if stairs and style.line else style.shape for style in drawing.styles]
    scale = alt.Scale(domain=drawing.series, range=shapes)
    return {"shape": alt.Shape("s:N", scale=scale, legend=_legend(drawing, frame))}


def _dash(drawing: Drawing, frame: Frame) -> dict[str, Any]:
    if not drawing.series:
        return {}
    legend = _legend(drawing, frame) if drawing.chart.kind == "steps" else None
    scale = alt.Scale(domain=drawing.series, range=[list(style.dash) for style in drawing.styles])
    return {"strokeDash": alt.StrokeDash("s:N", scale=scale, legend=legend)}


def _tooltip(chart: Chart, *, published: bool = False, interval: bool = False) -> list[alt.Tooltip]:
    found = [alt.Tooltip("s:N", title="series")] if chart.series else []
    for field, axis in (("x", chart.x), ("y", chart.y), ("v", chart.value)):
        if axis is None:
            continue
        kind = "N" if axis.format == "text" else "Q"
        shown = {"percent": ".1%", "whole": ",.0f", "number": ",.3~r", "text": alt.Undefined}[axis.format]
        name = f"{axis.label} (published)" if published and field == "y" else axis.label
        found.append(alt.Tooltip(f"{field}:{kind}", title=name, format=shown))
    return [*found, alt.Tooltip("i:N", title="95% interval")] if interval else found


def _chart(rows: list[Drawn]) -> Any:
    return alt.Chart(alt.Data(values=rows))


def _with_interval(rows: list[Drawn]) -> list[Drawn]:
    return [row for row in rows if "lo" in row]


# Kinds


def _lines(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    chart = drawing.chart
    x, y, colour = _x(drawing), _y(drawing), _colour(drawing, frame)
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
        layers.append(band.encode(x=x, y=_y(drawing, "lo"), y2="hi:Q", **colour))
    line = _chart(lines).mark_line(strokeWidth=2, **style, **stairs)
    layers.append(line.encode(x=x, y=y, **colour, **_dash(drawing, frame)))
    longest = max((sum(r.get("s") == n for r in lines) for n in drawing.series or [None]), default=0)
    tip = _tooltip(chart, interval=bool(bands))
    if longest <= _MOST_DOTS and chart.kind != "steps":
        dots = _chart(lines).mark_point(size=45, filled=True, opacity=1, **style)
        layers.append(dots.encode(x=x, y=y, tooltip=tip, **colour, **_shape(drawing, frame)))
    # Larger than it looks: a finger or a pointer need not hit the dot.
    target = _chart(lines).mark_point(size=260, filled=True, opacity=0)
    layers.append(target.encode(x=x, y=y, tooltip=tip))
    if marks:
        diamond = _chart(marks).mark_point(size=80, filled=True, opacity=1, shape="diamond")
        layers.append(diamond.encode(x=x, y=y, tooltip=_tooltip(chart), **colour, **_shape(drawing, frame)))
    layers += _hollow(drawing, panel, frame, {"x": x, "y": y})
    labels = frame.labels(drawing, panel)
    if labels:
        text = _chart(labels).mark_text(align="left", dx=8, baseline="middle", fontSize=12, fontWeight=600)
        layers.append(text.encode(x=x, y=y, text="s:N", **colour))
    return layers


def _points(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    x, y, colour = _x(drawing), _y(drawing), _colour(drawing, frame)
    layers: list[Layer] = []
    intervals = _with_interval(panel.measured)
    if intervals:
        bar = _chart(intervals).mark_rule(strokeWidth=1.5, opacity=0.7)
        layers.append(bar.encode(x=x, y=_y(drawing, "lo"), y2="hi:Q", **colour))
    many = len(panel.measured) > 200
    size, opacity = (24, 0.5) if many else (70, 0.95)
    style = {} if colour else {"style": "accent"}
    dots = _chart(panel.measured).mark_point(size=size, filled=True, opacity=opacity, **style)
    tip = _tooltip(drawing.chart, interval=bool(intervals))
    layers.append(dots.encode(x=x, y=y, tooltip=tip, **colour, **_shape(drawing, frame)))
    return layers + _hollow(drawing, panel, frame, {"x": x, "y": y})


def _hollow(drawing: Drawing, panel: Panel, frame: Frame, place: dict[str, Any]) -> list[Layer]:
    """Return the published numbers."""
    if not panel.published:
        return []
    rings = _chart(panel.published).mark_point(size=70, filled=False, strokeWidth=1.8, opacity=1)
    if not drawing.series:
        rings = _chart(panel.published).mark_point(size=70, filled=False, opacity=1, style="hollow")
    tip = _tooltip(drawing.chart, published=True)
    colour, shape = _colour(drawing, frame), _shape(drawing, frame)
    shape = shape if drawing.chart.kind in ("lines", "points") else {}
    return [rings.encode(tooltip=tip, **place, **colour, **shape)]


def _bars(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    """Words lie on their side, so that they can be read; numbers stand."""
    chart, lying = drawing.chart, drawing.chart.x.format == "text"
    order = [str(value) if lying else value for value in drawing.x_values]
    several = len(drawing.series) > 1
    names = alt.Axis(title=None if lying else chart.x.label, labelLimit=150, grid=False, labelAngle=0)
    if not lying:
        names = alt.Axis(title=chart.x.label, labelAngle=0, format=_format(chart.x) or alt.Undefined)
    room = alt.Scale(paddingInner=0.3, paddingOuter=0.15)
    of_words = (alt.Y if lying else alt.X)("x:O", sort=order, axis=names, scale=room)
    place: dict[str, Any] = {"y" if lying else "x": of_words}
    if several:
        offset = alt.YOffset if lying else alt.XOffset
        place["yOffset" if lying else "xOffset"] = offset("s:N", sort=drawing.series)

    def along(field: str) -> dict[str, Any]:
        of = _y(drawing, field).to_dict()
        return {"x": alt.X.from_dict(of)} if lying else {"y": alt.Y.from_dict(of)}

    colour = _colour(drawing, frame)
    style = {} if colour else {"style": "accent"}
    end = 2 if not several else 1
    intervals = _with_interval(panel.measured)
    bar = _chart(panel.measured).mark_bar(opacity=0.85, cornerRadiusEnd=end, **style)
    tip = _tooltip(chart, interval=bool(intervals))
    layers: list[Layer] = [bar.encode(**place, **along("y"), **colour, tooltip=tip)]
    if intervals:
        rule = _chart(intervals).mark_rule(strokeWidth=1.5, style="interval")
        layers.append(rule.encode(**place, **along("lo"), **{"x2" if lying else "y2": "hi:Q"}))
    if lying:
        published = {(row["x"], row.get("s")): row["y"] for row in panel.published}
        values = [
            {**row, "y": max(row["y"], row.get("hi", 0), published.get((row["x"], row.get("s")), 0))}
            | {"t": spelt(row["y"], chart.y)}
            for row in panel.measured
        ]
        text = _chart(values).mark_text(align="left", dx=6, baseline="middle", fontSize=10 if several else 11)
        layers.append(text.encode(**place, **along("y"), text="t:N"))
    return layers + _hollow(drawing, panel, frame, place | along("y"))


def _histogram(drawing: Drawing, panel: Panel, frame: Frame) -> list[Layer]:
    """Rows are the middles of bins of one width."""
    middles = sorted({row["x"] for row in drawing.rows})
    gaps = [b - a for a, b in zip(middles, middles[1:], strict=False) if b > a]
    half = min(gaps, default=1.0) / 2
    axis = drawing.chart.x
    look = alt.Axis(title=axis.label, format=_format(axis) or alt.Undefined)
    x = alt.X("a:Q", axis=look, scale=alt.Scale(zero=axis.zero, nice=False))
    colour = _colour(drawing, frame)
    style = {} if colour else {"style": "accent"}
    layers = []
    tip = _tooltip(drawing.chart)
    for name in drawing.series or [None]:
        rows = [
            row | {"a": row["x"] - half, "b": row["x"] + half, "z": 0}
            for row in panel.measured
            if row.get("s") == name
        ]
        bar = _chart(rows).mark_rect(fillOpacity=0.4 if name else 0.8, strokeWidth=1, strokeOpacity=0.9, **style)
        edges = alt.Stroke("s:N", scale=alt.Scale(domain=drawing.series), legend=_legend(drawing, frame))
        both = colour | ({"stroke": edges} if colour else {})
        layers.append(bar.encode(x=x, x2="b:Q", y=_y(drawing), y2="z:Q", tooltip=tip, **both))
    return layers


def _heatmap(drawing: Drawing, panel: Panel) -> list[Layer]:
    chart = drawing.chart
    shown = chart.value or chart.y
    rows = [row for row in panel.measured if row.get("v") is not None]
    everywhere = [row["v"] for row in drawing.rows if row.get("v") is not None]
    low, high = min(everywhere, default=0.0), max(everywhere, default=1.0)
    # The upper part of the ramp is bright: dark letters there.
    rows = [row | {"t": spelt(row["v"], shown).rstrip("%"), "b": row["v"] > low + 0.6 * (high - low)} for row in rows]
    place = {
        "x": alt.X("x:O", axis=alt.Axis(title=chart.x.label, labelAngle=0, format=_format(chart.x) or alt.Undefined)),
        "y": alt.Y(
            "y:O",
            sort="descending" if chart.y.format != "text" else None,
            axis=alt.Axis(title=chart.y.label, format=_format(chart.y) or alt.Undefined),
        ),
    }
    ramp = alt.Legend(title=shown.label, orient="right", gradientLength=160, format=_format(shown) or alt.Undefined)
    colour = alt.Color("v:Q", scale=alt.Scale(scheme="viridis", domain=[low, high]), legend=ramp)
    layers: list[Layer] = [_chart(rows).mark_rect().encode(**place, color=colour, tooltip=_tooltip(chart))]
    if len(rows) <= _MOST_LABELLED_CELLS:
        for bright, ink in ((True, "#1b1f23"), (False, "#ffffff")):
            some = [row for row in rows if row["b"] is bright]
            layers.append(_chart(some).mark_text(color=ink, fontSize=10).encode(**place, text="t:N"))
    return layers


def _rules(chart: Chart) -> list[Layer]:
    """Return vertical lines with their labels; a threshold is dashed, a cut is not."""
    layers: list[Layer] = []
    for name, at in chart.rules:
        words = name.lower()
        dash = INK.dash if any(word in words for word in ("threshold", "tau", "τ")) else (1, 0)
        rows = [{"at": at, "n": f"{name} {spelt(at, chart.x)}"}]
        line = _chart(rows).mark_rule(strokeWidth=1.2, strokeDash=list(dash), style="interval")
        layers.append(line.encode(x="at:Q"))
        text = _chart(rows).mark_text(align="center", dy=-4, baseline="bottom", fontSize=11)
        layers.append(text.encode(x="at:Q", y=alt.value(0), text="n:N"))
    return layers
