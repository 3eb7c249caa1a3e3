"""Methods of the user's choice against a baseline, on pools whose values can be worked out."""

from __future__ import annotations

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.methods import budgets_of
from distrivote.evaluation.results import Table
from evaluation.made_pools import few_surer_right, pool, pool_set, random_set, surest_wrong


def first_seen(classes: np.ndarray) -> int:
    return int(classes[0])


def tables_of(*methods: str, baseline: str | None = None, **settings: int) -> tuple[Table, ...]:
    sets = (
        pool_set(*(few_surer_right(f"a{i}") for i in range(7)), *(surest_wrong(f"b{i}") for i in range(3))),
    )
    report = evaluate(sets, ["methods"], methods=methods, baseline=baseline, n_repeats=4, **settings)
    return report.results[0].tables


def test_a_table_has_the_baseline_first_and_every_method_once() -> None:
    table, against, over = tables_of("wsc", "bon", "wsc", "sc")
    assert [(row["method"], row["made"]) for row in table.rows] == [("sc", 0.3), ("wsc", 1.0), ("bon", 0.7)]
    assert [row["method"] for row in over.rows] == ["sc", "wsc", "bon"]
    found = {row["method"]: (row["n_won"], row["n_lost"], row["n_equal"]) for row in against.rows}
    assert found == {"wsc": (7, 0, 3), "bon": (7, 3, 0)}
    assert against.rows[0]["difference"] == pytest.approx(0.7)
    assert against.rows[0]["real"] == "yes"


def test_the_baseline_may_be_any_method() -> None:
    _, against, _ = tables_of("sc", baseline="wsc")
    assert [(row["method"], row["difference"]) for row in against.rows] == [("sc", pytest.approx(-0.7))]


def test_every_budget_up_to_the_smallest_pool_has_a_column() -> None:
    over = tables_of("wsc")[2]
    assert [column.name for column in over.columns] == ["method", "at_1", "at_2", "at_4", "at_8"]
    assert over.rows[0]["at_8"] == 0.3
    assert budgets_of(1) == [1]


def test_a_method_of_ones_own_stands_beside_the_others() -> None:
    report = evaluate([random_set(6)], ["methods"], methods=[f"{__name__}:first_seen"], budget=8, n_repeats=4)
    assert f"{__name__}:first_seen" in [row["method"] for row in report.results[0].tables[0].rows]


def test_a_wrong_name_is_an_error_before_anything_is_counted() -> None:
    with pytest.raises(InputError, match="unknown method 'wsk'"):
        tables_of("wsk")


def test_a_benchmark_without_confidences_has_only_the_baseline() -> None:
    unsure = [pool(f"u{i}", [0, 0, 1], [np.nan] * 3) for i in range(6)]
    sets = (pool_set(*(few_surer_right(f"a{i}") for i in range(7))), pool_set(*unsure, benchmark="unsure"))
    report = evaluate(sets, ["methods"], methods=["wsc"], n_repeats=4)
    against = next(table for table in report.results[0].tables if "against" in table.name)
    assert [(row["n_won"], row["n_lost"], row["n_equal"]) for row in against.rows] == [(7, 0, 0)]
