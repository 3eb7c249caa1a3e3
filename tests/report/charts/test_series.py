"""Series: the same order and look everywhere, and no two alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.evaluation.results import Cell
from distrivote.report.charts.series import BLUE, GREEN, VERMILLION, in_order, styles_of

METHODS = [
    "SC", "WSC", "BoN", "MoB (q = 0.75)", "WSC-Top50", "WSC-GMM", "DIS-Top50", "DIS-GMM",
    "WSC-GMM*", "DIS-GMM*",
]  # fmt: skip


@given(st.permutations(METHODS))
def test_methods_have_one_order_with_the_starred_last(names: list[Cell]) -> None:
    assert in_order(names) == METHODS


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        ([0.8, 0.2, 0.8], [0.2, 0.8]),
        (["b", "a", "b"], ["b", "a"]),
        (["SC", "mine"], ["SC", "mine"]),
        ([], []),
    ],
)
def test_numbers_go_by_size_and_other_names_as_they_come(given: list[Cell], ordered: list[Cell]) -> None:
    assert in_order(given) == ordered


def test_a_method_looks_the_same_whatever_stands_beside_it() -> None:
    everywhere = dict(zip(METHODS, styles_of(METHODS), strict=True))
    for name in METHODS:
        assert styles_of([name]) == [everywhere[name]]
    assert styles_of(["DIS-GMM", "SC"])[0] == BLUE


def test_a_star_keeps_the_colour_and_changes_the_dash() -> None:
    plain, starred = styles_of(["DIS-GMM", "DIS-GMM*"])
    assert plain.light == starred.light
    assert plain.dash != starred.dash
    assert plain.shape != starred.shape


def test_names_with_a_meaning_have_its_colour() -> None:
    assert styles_of(["right", "wrong"]) == [GREEN, VERMILLION]
    threshold, reflection = styles_of(["threshold", "reflections"])
    assert threshold.dash != (1, 0)
    assert not reflection.line


@given(st.lists(st.sampled_from([*METHODS, "a", "b", "top 10%", "right"]), unique=True, max_size=6))
def test_colour_never_stands_alone(names: list[Cell]) -> None:
    looks = [(style.light, style.dash, style.shape) for style in styles_of(names)]
    assert len(set(looks)) == len(looks)
