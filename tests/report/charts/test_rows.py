"""The rows of charts made ready: panels, domains, and labels that don't touch."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.evaluation.results import Axis, Chart
from distrivote.report.charts.rows import drawing_of, nice, spread_out
from report.made_up import CHARTS, budget_chart, humps_chart

FLOATS = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_every_row_is_in_one_panel(chart: Chart) -> None:
    drawing = drawing_of(chart)
    assert len(drawing.rows) == len(chart.rows)


def test_published_rows_are_apart() -> None:
    (panel,) = drawing_of(budget_chart()).panels
    assert len(panel.published) == 10
    assert len(panel.measured) == 30
    assert all("lo" not in row for row in panel.published)


def test_a_facet_gives_panels_with_one_scale() -> None:
    drawing = drawing_of(humps_chart())
    assert [panel.title for panel in drawing.panels] == ["basic", "SelfStepConf"]
    assert drawing.y_domain is not None
    assert drawing.y_domain[0] == 0.0


def test_rows_without_a_place_are_left_out() -> None:
    rows = ({"x": 1, "y": None}, {"x": 0, "y": 1.0}, {"x": 2, "y": math.inf}, {"x": 4, "y": 0.5}, {"y": 1.0})
    chart = Chart("c", "?", "", "lines", Axis("x", "x", log=True), Axis("y", "y"), rows)
    assert [row["x"] for row in drawing_of(chart).rows] == [4.0]


def test_a_chart_without_rows_can_still_be_asked() -> None:
    drawing = drawing_of(Chart("c", "?", "", "bars", Axis("x", "x", "text"), Axis("y", "y"), (), series="s"))
    assert drawing.rows == []
    assert drawing.series == []


@given(FLOATS, FLOATS)
def test_nice_ends_hold_both_values_and_are_not_far_out(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    start, end = nice(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert start < end
    assert start <= low + slack
    assert end >= high - slack
    if high - low > 1e-3:
        assert end - start <= 2 * (high - low) + slack


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_labels_keep_their_order_and_a_gap(places: list[float]) -> None:
    moved = spread_out(places, 0.1, 0.0, 1.0)
    assert moved is not None
    ordered = sorted(moved)
    assert all(b - a >= 0.1 - 1e-9 for a, b in itertools.pairwise(ordered))
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in moved)
    by_place = sorted(range(len(places)), key=lambda i: places[i])
    assert [moved[i] for i in by_place] == ordered


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True))
def test_labels_with_room_stay_where_they_are(places: list[int]) -> None:
    assert spread_out([float(place) for place in places], 1.0, 0.0, 4.0) == pytest.approx(places)


def test_without_room_there_are_no_labels() -> None:
    assert spread_out([0.1, 0.2, 0.3], 0.6, 0.0, 1.0) is None
