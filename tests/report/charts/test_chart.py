"""Charts of every kind are drawn, for light and dark backgrounds, without a browser."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from report.made_up import CHARTS, EVIL, METHODS, budget_chart, humps_chart, made_up_report, main_table

pytest.importorskip("altair", reason="altair is not installed: pip install '.[report]'")
vl_convert = pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")

from distrivote.errors import InputError  # noqa: E402
from distrivote.evaluation.results import Axis, Chart, Report, Result, Rule  # noqa: E402
from distrivote.report.charts.chart import VEGA_LITE, colours_of, figure, legend_of, panels, subtitle  # noqa: E402
from distrivote.report.charts.figures import file_name, write_figures  # noqa: E402

KINDS = pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)


def marks(specification: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in specification["layer"]]


@KINDS
@pytest.mark.parametrize("dark", [False, True])
def test_every_kind_is_drawn(chart: Chart, dark: bool) -> None:
    svg = vl_convert.vegalite_to_svg(figure(chart, dark=dark), vl_version=VEGA_LITE)
    assert svg.startswith("<svg")
    assert "NaN" not in svg
    assert "undefined" not in svg
    assert chart.x.label in svg or chart.x.format == "text"
    assert ("#15181b" if dark else "#ffffff") in svg
    assert "<script" not in svg


def test_titles_and_series_are_written_out() -> None:
    svg = vl_convert.vegalite_to_svg(figure(budget_chart()), vl_version=VEGA_LITE)
    for words in ("What does a larger budget buy?", "hollow: published", "DIS-GMM*", "WSC-Top50", "75%"):
        assert words in svg, words


@KINDS
def test_colours_are_in_the_theme_and_not_in_the_specification(chart: Chart) -> None:
    light, dark = figure(chart), figure(chart, dark=True)
    assert light is not None
    assert dark is not None
    assert light.pop("config") != dark.pop("config")
    assert json.dumps(light) == json.dumps(dark)


def test_a_line_is_drawn_in_its_own_panel_only() -> None:
    chart = replace(humps_chart(), rules=(Rule("cut", 9.4, "basic"), Rule("cut", 9.9, "SelfStepConf")))
    assert [marks(panel).count("rule") for _, panel in panels(chart)] == [1, 1]
    assert [marks(panel).count("rule") for _, panel in panels(humps_chart())] == [1, 1]


@KINDS
def test_everything_a_pointer_meets_has_a_tooltip(chart: Chart) -> None:
    for _, specification in panels(chart):
        tips = [layer for layer in specification["layer"] if "tooltip" in layer["encoding"]]
        assert tips, specification["layer"]


def test_lines_have_bands_dots_rings_and_names() -> None:
    ((_, specification),) = panels(budget_chart())
    assert marks(specification) == ["area", "line", "point", "point", "point", "text"]
    assert [layer["mark"].get("filled") for layer in specification["layer"]][4] is False


def test_bars_begin_at_zero_and_points_need_not() -> None:
    rows = tuple({"m": name, "a": value} for name, value in METHODS.items())
    for kind, starts_at_zero in (("bars", True), ("points", False)):
        chart = Chart("c", "?", "", kind, Axis("m", "Method", "text"), Axis("a", "a", "percent"), rows)  # type: ignore[arg-type]
        ((_, specification),) = panels(chart)
        low = specification["layer"][0]["encoding"]["x"]["scale"]["domain"][0]
        assert (low == 0) is starts_at_zero


def test_a_page_gets_a_frame_per_panel_and_the_legend_apart() -> None:
    found = panels(humps_chart())
    assert [title for title, _ in found] == ["basic", "SelfStepConf"]
    assert [name for name, _ in legend_of(humps_chart())] == ["wrong", "correct"]
    domains = [spec["layer"][0]["encoding"]["y"]["scale"]["domain"] for _, spec in found]
    assert domains[0] == domains[1]


def test_hollow_marks_are_explained_only_where_there_are_some() -> None:
    assert "hollow" in subtitle(budget_chart())
    assert "hollow" not in subtitle(humps_chart())


def test_series_have_their_colours_in_order() -> None:
    assert colours_of(budget_chart(), dark=False)[0] == "#767676"
    assert len(colours_of(budget_chart(), dark=True)) == 5


def test_fields_with_dots_and_brackets_are_only_names() -> None:
    rows = tuple({"a.b[0]": i, "c'd": i / 10, "s.t": "x\\y"} for i in range(3))
    chart = Chart("c", "?", "", "lines", Axis("a.b[0]", "x"), Axis("c'd", "y"), rows, series="s.t")
    assert "M0" in vl_convert.vegalite_to_svg(figure(chart), vl_version=VEGA_LITE)


def test_a_chart_without_values_is_not_drawn() -> None:
    empty = replace(budget_chart(), rows=())
    assert figure(empty) is None
    assert panels(empty) == []


@pytest.mark.parametrize("chart", [replace(c, rows=c.rows[:1]) for c in CHARTS], ids=lambda chart: chart.name)
def test_one_row_is_enough(chart: Chart) -> None:
    assert "NaN" not in vl_convert.vegalite_to_svg(figure(chart), vl_version=VEGA_LITE)


def test_figures_are_four_files_each(tmp_path: Path) -> None:
    result = Result(
        "main", "?", (main_table(),), (budget_chart(), replace(budget_chart(), name="e", rows=()))
    )
    seen: list[tuple[int, int]] = []
    written = write_figures(
        Report((result,), (), {}), str(tmp_path / "a" / "b"), lambda done, n: seen.append((done, n))
    )
    assert sorted(written) == [
        "main-budget-dark.png",
        "main-budget-dark.svg",
        "main-budget.png",
        "main-budget.svg",
    ]
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(written)
    assert (tmp_path / "a" / "b" / "main-budget.png").read_bytes().startswith(b"\x89PNG")
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.slow
def test_the_same_report_gives_the_same_pictures(tmp_path: Path) -> None:
    report = Report((replace(made_up_report().results[0], charts=(budget_chart(),)),), (), {})
    for name in ("a", "b"):
        write_figures(report, str(tmp_path / name))
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_folder_that_is_a_file_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match="can't make the folder"):
        write_figures(made_up_report(), str(tmp_path / "x"))


@pytest.mark.parametrize("text", ["../../etc/passwd", "a/b", "a b", "DIS-GMM*", EVIL, "x" * 500])
def test_a_file_name_stays_in_its_folder(text: str) -> None:
    name = file_name(text)
    assert name
    assert "/" not in name
    assert not name.startswith(".")
    assert len(name) <= 126
