"""Cells as people read them: units, signs, intervals, and which are the best."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.evaluation.results import Cell, Column, Row, Table
from distrivote.report.cells import as_number, cell_marks, legend, number, shown_cells

ACCURACY = Column("a", "accuracy", "percent", 1, "sd", "low", "high", "highest")


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (0.6911, ACCURACY, "69.1%"),
        (0.6911, Column("a", "accuracy, %", "percent"), "69.1"),
        (1.0, ACCURACY, "100.0%"),
        (-0.0001, ACCURACY, "0.0%"),
        (-0.0123, Column("d", "difference", "percent", 2), "−1.23%"),
        (1234567, Column("n", "tokens", "whole"), "1,234,567"),
        (0.0123, Column("t", "time (s)", "number", 3), "0.012"),
        (None, ACCURACY, ""),
        (math.nan, ACCURACY, ""),
        ("a < b", Column("q", "question"), "a < b"),
        (True, Column("q", "SelfStepConf"), "yes"),
        (30, Column("q", "questions"), "30"),
    ],
)
def test_a_cell_is_spelt(value: Cell, column: Column, text: str) -> None:
    assert number(value, column) == text


def test_a_cell_comes_with_its_interval_and_spread() -> None:
    rows: tuple[Row, ...] = (
        {"a": 0.7, "sd": 0.002, "low": 0.66, "high": 0.74},
        {"a": 0.5, "sd": None, "low": None, "high": None},
    )
    first, second = shown_cells(Table("t", "t", (ACCURACY,), rows), ACCURACY)
    assert (first.text, first.interval, first.spread) == ("70.0%", "66.0 to 74.0", "0.2")
    assert (second.text, second.interval, second.spread) == ("50.0%", "", "")


def test_what_lies_in_the_interval_of_the_best_ties_with_it() -> None:
    rows: list[Row] = [
        {"a": 0.7, "low": 0.66, "high": 0.74},
        {"a": 0.67, "low": 0.5, "high": 0.8},
        {"a": 0.65, "low": 0.5, "high": 0.8},
        {"a": None},
    ]
    assert cell_marks(rows, ACCURACY) == ["best", "tied", "", ""]


def test_a_paired_comparison_outweighs_the_interval() -> None:
    column = Column("a", "accuracy", "percent", low="low", high="high", best="highest", near="near")
    rows: list[Row] = [
        {"a": 0.7, "low": 0.66, "high": 0.74, "near": True},
        {"a": 0.69, "near": False},
        {"a": 0.5, "near": True},
    ]
    assert cell_marks(rows, column) == ["best", "", "tied"]


def test_the_lowest_may_be_the_best() -> None:
    column = Column("t", "time (s)", "number", best="lowest")
    assert cell_marks([{"t": 2.0}, {"t": 1.0}, {"t": math.nan}], column) == ["", "best", ""]


@pytest.mark.parametrize("rows", [[], [{"a": 0.5}], [{"a": 0.5}, {"a": 0.5}], [{"a": None}, {"a": "x"}]])
def test_without_a_difference_nothing_is_the_best(rows: list[Row]) -> None:
    assert cell_marks(rows, ACCURACY) == [""] * len(rows)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1), st.just(math.nan)), max_size=12))
def test_the_best_are_exactly_the_highest(values: list[float | None]) -> None:
    known = [value for value in map(as_number, values) if value is not None]
    found = cell_marks([{"a": value} for value in values], Column("a", "a", "percent", best="highest"))
    expected = {max(known)} if len(set(known)) > 1 else set()
    assert {values[i] for i, mark in enumerate(found) if mark == "best"} == expected
    assert "tied" not in found


def test_the_legend_speaks_only_of_what_is_there() -> None:
    assert legend(Table("t", "t", (Column("a", "a"),), ({"a": "x"},))) == []
    rows: tuple[Row, ...] = ({"a": 0.7, "low": 0.6, "high": 0.8}, {"a": 0.65}, {"a": 0.1})
    words = " ".join(legend(Table("t", "t", (ACCURACY,), rows)))
    assert "bold" in words
    assert "≈" in words
    assert "95% interval" in words
    assert "±" not in words
