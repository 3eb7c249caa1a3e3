"""Charts as picture files: SVG and PNG, for light and dark backgrounds, without a browser or a network."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from distrivote.errors import InputError, MissingPackageError
from distrivote.evaluation.results import Report
from distrivote.report.charts.chart import VEGA_LITE, figure
from distrivote.store.results.files import whole_file

try:
    import vl_convert
except ImportError as error:
    raise MissingPackageError("vl-convert-python", "report", "drawing charts") from error

_SCALE = 2
"""Pixels of a PNG per pixel of the page."""


def write_figures(report: Report, folder: str, watch: Callable[[int, int], None] | None = None) -> list[str]:
    """Write every chart into the folder, which is created if needed; return the files' names.

    A chart is four files: name.svg, name.png, name-dark.svg and name-dark.png, where the name is that of
    the experiment and the chart.
    """
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"can't make the folder {folder} ({error.strerror}): name another one") from error
    charts = [(result.experiment, chart) for result in report.results for chart in result.charts]
    written = []
    for index, (experiment, chart) in enumerate(charts):
        for dark in (False, True):
            drawn = figure(chart, dark=dark)
            if drawn is None:
                continue
            name = file_name(f"{experiment}-{chart.name}") + ("-dark" if dark else "")
            svg = vl_convert.vegalite_to_svg(drawn, vl_version=VEGA_LITE)
            png = vl_convert.svg_to_png(svg, scale=_SCALE)
            for suffix, content in ((".svg", svg.encode()), (".png", png)):
                with whole_file(str(place / (name + suffix))) as file:
                    file.write(content)
                written.append(name + suffix)
        if watch is not None:
            watch(index + 1, len(charts))
    return written


def file_name(text: str) -> str:
    """Return a text as a file's name.

    >>> file_name("main-accuracy of ../a")
    'main-accuracy-of-a'
    """
    return re.sub(r"[^\w*]+", "-", text).strip("-").replace("*", "-star")[:120]
