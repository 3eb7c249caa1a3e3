"""Plans: what each budget buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrivote.errors import InputError
from distrivote.evaluation.results import Result
from distrivote.simulation.planning import _paired, _wilson, plan, typical


def planned(pass1: float = 0.6, auroc: float = 0.75, **others: Any) -> Result:
    asked = {"price_per_million": 0.4, "n_tokens": 8000, "budgets": (1, 16, 64), "n_questions": 1000} | others
    return plan(pass1, auroc, np.random.default_rng(4), **asked)


@settings(deadline=None)
@given(st.floats(0.02, 0.98), st.floats(0.1, 0.95))
def test_a_typical_simulation_has_the_pass1_and_auroc_that_were_asked_for(pass1: float, auroc: float) -> None:
    simulation = typical(pass1, auroc)
    assert simulation.pass1 == pytest.approx(pass1)
    assert simulation.auroc == pytest.approx(auroc)


def test_with_an_auroc_of_one_half_confidence_says_nothing() -> None:
    simulation = typical(0.6, 0.5)
    assert simulation.separation == pytest.approx(0, abs=1e-9)
    assert simulation.hard_drop == pytest.approx(0, abs=1e-9)


def test_costs_are_tokens_times_price() -> None:
    rows = planned().tables[0].rows
    assert [row["budget"] for row in rows] == [1, 16, 64]
    assert [row["cost"] for row in rows] == pytest.approx([0.0032, 0.0512, 0.2048])


def test_one_trajectory_is_right_as_often_as_pass1_says() -> None:
    first = planned(n_questions=4000).tables[0].rows[0]
    # The standard error over 4,000 questions is 0.0077: four of them.
    assert first["sc"] == first["dis-gmm"] == pytest.approx(0.6, abs=0.031)
    assert first["gain"] == 0


def test_a_telling_confidence_buys_more_than_a_misleading_one() -> None:
    gains = [planned(auroc=auroc).tables[0].rows[-1]["gain"] for auroc in (0.4, 0.75, 0.9)]
    assert gains == sorted(gains)
    assert gains[0] < 0 < gains[1]


def test_intervals_hold_their_values_and_narrow_with_more_questions() -> None:
    few, many = planned(n_questions=100).tables[0].rows[1], planned(n_questions=2500).tables[0].rows[1]
    for row in (few, many):
        for name in ("sc", "dis-gmm", "gain"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    width = [row["sc_high"] - row["sc_low"] for row in (few, many)]
    assert width[0] / width[1] == pytest.approx(5, rel=0.2)


def test_the_chart_shows_every_method_and_budget() -> None:
    (chart,) = planned(methods=["sc", "wsc-gmm", "dis-gmm"]).charts
    assert {(row["budget"], row["method"]) for row in chart.rows} == {
        (budget, method) for budget in (1, 16, 64) for method in ("sc", "wsc-gmm", "dis-gmm")
    }
    assert all(row["low"] <= row["accuracy"] <= row["high"] for row in chart.rows)


def test_one_method_alone_has_no_gain() -> None:
    table = planned(methods=["sc"]).tables[0]
    assert "gain" not in [column.name for column in table.columns]
    assert "gain" not in table.rows[0]


def test_every_column_is_in_every_row() -> None:
    table = planned().tables[0]
    names = {name for column in table.columns for name in (column.name, column.low, column.high) if name}
    assert all(names <= set(row) for row in table.rows)


def test_the_same_state_gives_the_same_plan() -> None:
    assert planned() == planned()


def test_it_says_that_it_is_a_simulation() -> None:
    assert "simulation, not a measurement" in planned().notes[0]


@pytest.mark.parametrize("n_right", [0, 1, 37, 100])
def test_wilson_is_the_interval_of_the_textbook(n_right: int) -> None:
    from scipy.stats import binomtest

    flags = np.arange(100) < n_right
    expected = binomtest(n_right, 100).proportion_ci(method="wilson")
    assert _wilson(flags) == pytest.approx((expected.low, expected.high), abs=1e-4)


def test_the_paired_interval_is_that_of_the_differences() -> None:
    one, other = np.array([True, True, False, True]), np.array([True, False, False, False])
    mean, low, high = _paired(one, other)
    assert mean == 0.5
    assert (high - low) / 2 == pytest.approx(1.96 * np.std([0, 1, 0, 1], ddof=1) / 2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"pass1": 0.0}, r"pass@1 is 0\.0: give a number between 0 and 1"),
        ({"auroc": 1.0}, r"AUROC is 1\.0: give a number between 0 and 1"),
        ({"pass1": float("nan")}, "pass@1 is nan"),
        ({"price_per_million": -1.0}, r"the price is -1\.0"),
        ({"n_tokens": 0}, "n_tokens is 0"),
        ({"budgets": ()}, "budgets are none"),
        ({"budgets": (8, 0)}, "budgets are 8, 0"),
        ({"n_questions": 1}, "n_questions is 1"),
        ({"methods": ["dis-gnm"]}, "dis-gnm"),
    ],
)
def test_what_makes_no_plan_is_said_in_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        planned(**changes)
