"""Charts by Altair: every kind that a result may have, as Vega-Lite without colours, and a theme with them.

A specification is the same on light and dark backgrounds: series get their colours from the theme (`theme`),
in the order of the series. `panels` returns the frames of a chart one by one, for a page that arranges them;
`figure` returns them all in one picture with the title. `figures` and `page` draw them.
"""

from __future__ import annotations

import textwrap
from typing import Any, NamedTuple

from distrivote.errors import MissingPackageError
from distrivote.evaluation.results import Chart
from distrivote.report.charts.rows import drawing_of
from distrivote.report.charts.series import BLUE, Style

try:
    import altair as alt

    from distrivote.report.charts.axes import Frame
    from distrivote.report.charts.layers import layers_of
except ImportError as error:
    raise MissingPackageError("altair", "report", "drawing charts") from error

VEGA_LITE = "6.4"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
_WIDTHS = {1: (560, 320), 2: (340, 260), 3: (250, 210)}
"""The frames in a row of a figure: how wide and high each is, in pixels."""


class Theme(NamedTuple):
    """The colours that are not of a series."""

    ink: str
    quiet: str
    grid: str
    paper: str


LIGHT = Theme("#1b1f23", "#59626b", "#e4e8ec", "#ffffff")
DARK = Theme("#e8eaed", "#a3acb5", "#333a41", "#15181b")


def panels(chart: Chart) -> list[tuple[str, dict[str, Any]]]:
    """Return each frame's title and specification, as wide as its container.

    A single frame has its legend; several have none, and `legend_of` returns it. There are no frames if no
    row has values on the axes.
    """
    drawing = drawing_of(chart)
    alone = len(drawing.panels) == 1
    found = []
    for panel in drawing.panels if drawing.rows else ():
        height = drawing.height(280 if alone else 220)
        frame = Frame("container", height, narrow=True, legend=alone)
        made = alt.layer(*layers_of(drawing, panel, frame)).properties(width="container", height=frame.height)
        made = made.properties(padding=4, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
        found.append((panel.title, made.to_dict()))
    return found


def figure(chart: Chart, *, dark: bool = False) -> dict[str, Any] | None:
    """Return one picture of the whole chart, with its title and theme; None if there is nothing to draw."""
    drawing = drawing_of(chart)
    if not drawing.rows:
        return None
    n = len(drawing.panels)
    columns = min(n, 3) if n != 4 else 2
    width, usual = _WIDTHS[columns]
    height = drawing.height(usual)
    made = []
    fullest = max(drawing.panels, key=lambda panel: len({row.get("s") for row in panel.measured}))
    for panel in drawing.panels:
        frame = Frame(width, height, narrow=columns > 1, legend=panel is fullest)
        one = alt.layer(*layers_of(drawing, panel, frame)).properties(width=width, height=height)
        heading = alt.TitleParams(panel.title, fontSize=12, offset=20 if chart.rules else 8)
        made.append(one.properties(title=heading) if n > 1 else one)
    whole = made[0] if n == 1 else alt.concat(*made, columns=columns, spacing=24)
    room = columns * width
    title = alt.TitleParams(
        text=_wrapped(chart.title, room // 8),
        subtitle=_wrapped(subtitle(chart), room // 6),
        anchor="start",
        offset=14,
    )
    specification: dict[str, Any] = whole.properties(title=title, padding=16).to_dict()
    if n == 1 and Frame(width, height, narrow=False, legend=True).labels(drawing):
        # A viewer's font may be wider than the one that the labels were measured with.
        longest = max(map(len, drawing.series))
        specification["padding"] = {"left": 16, "top": 16, "bottom": 16, "right": 16 + 2 * longest}
    config = theme(dark=dark) | {"range": {"category": colours_of(chart, dark=dark)}}
    return specification | {"config": config}


def legend_of(chart: Chart) -> list[tuple[str, Style]]:
    """Return the names and styles of the series; nothing if the frames' titles show them."""
    drawing = drawing_of(chart)
    return list(zip(drawing.series, drawing.styles, strict=True)) if drawing.needs_legend else []


def least_width(chart: Chart) -> int:
    """Return how many pixels a frame needs to be readable; narrower screens scroll."""
    if chart.kind != "heatmap":
        return 0
    return 140 + 32 * len({row.get(chart.x.field) for row in chart.rows})


def subtitle(chart: Chart) -> str:
    """Return the chart's answer, and what hollow marks mean if there are any."""
    hollow = chart.published is not None and any(row.get(chart.published) for row in chart.rows)
    return f"{chart.subtitle} · hollow: published numbers" if hollow else chart.subtitle


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width) or [""]


def colours_of(chart: Chart, *, dark: bool) -> list[str]:
    """Return the colours of the chart's series, in their order."""
    styles = drawing_of(chart).styles or [BLUE]
    return [style.dark if dark else style.light for style in styles]


def theme(*, dark: bool) -> dict[str, Any]:
    """Return the configuration of Vega-Lite without the colours of series."""
    colours = DARK if dark else LIGHT
    accent = BLUE.dark if dark else BLUE.light
    return {
        "background": colours.paper,
        "font": FONT,
        "view": {"stroke": None},
        "title": {
            "color": colours.ink,
            "subtitleColor": colours.quiet,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleFontSize": 12,
            "subtitlePadding": 6,
            "lineHeight": 19,
            "subtitleLineHeight": 16,
        },
        "axis": {
            "labelColor": colours.quiet,
            "titleColor": colours.quiet,
            "titleFontWeight": "normal",
            "labelFontSize": 11,
            "titleFontSize": 12,
            "gridColor": colours.grid,
            "domainColor": colours.quiet,
            "tickColor": colours.quiet,
            "titlePadding": 8,
            "labelOverlap": "greedy",
            "labelSeparation": 6,
        },
        "axisY": {"domain": False, "ticks": False, "tickCount": 5, "labelPadding": 6},
        "axisX": {"grid": False, "tickCount": 6},
        "legend": {
            "orient": "top",
            "title": None,
            "labelColor": colours.ink,
            "titleColor": colours.quiet,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "labelLimit": 240,
            "symbolStrokeWidth": 2,
            "symbolSize": 60,
            "symbolOpacity": 1,
            "offset": 8,
            "rowPadding": 4,
        },
        "text": {"color": colours.ink, "fontSize": 11},
        "rule": {"color": colours.quiet},
        "style": {
            "interval": {"color": colours.ink},
            "accent": {"color": accent},
            "hollow": {"color": colours.ink, "strokeWidth": 1.8, "fill": colours.paper},
            "quiet": {"color": colours.quiet},
        },
    }
