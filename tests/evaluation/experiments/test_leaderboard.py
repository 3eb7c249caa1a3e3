"""Methods ranked over many pools, on pools whose values can be worked out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.leaderboard import SIGNAL, USUAL
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.published import large_enough
from distrivote.evaluation.results import Result, Row, Table
from evaluation.made_pools import few_surer_right, pool, pool_set, random_set, surest_wrong


def few(classes: np.ndarray, confidences: np.ndarray) -> np.ndarray:
    """Score each class by how few votes it has."""
    return -np.bincount(classes, weights=np.ones_like(confidences))


def first_seen(classes: np.ndarray) -> int:
    return int(classes[0])


def named(each: PoolSet, name: str, **settings: str) -> PoolSet:
    return replace(each, name=name, settings=settings)


SURER = named(pool_set(*(few_surer_right(f"a{i}") for i in range(8)), benchmark="a"), "surer")
WRONG = named(pool_set(*(surest_wrong(f"b{i}") for i in range(24)), benchmark="b"), "wrong")


def board(*sets: PoolSet, **settings: object) -> Result:
    return evaluate(sets, ["leaderboard"], n_repeats=2, **settings).results[0]  # type: ignore[arg-type]


def rows(table: Table) -> dict[str, Row]:
    return {str(row["method"]): row for row in table.rows}


def test_methods_are_ranked_by_the_mean_over_pools_and_not_over_questions() -> None:
    ranking, where, differences = board(SURER, WRONG).tables
    found = rows(ranking)
    # The majority is right on no question of the 8 and on all of the 24.
    assert found["sc"]["accuracy"] == 0.5
    assert found["wsc"]["accuracy"] == 1.0
    assert (found["bon"]["accuracy"], found["bon"]["difference"]) == (0.5, 0.0)
    assert found["wsc"]["difference"] == found["wsc"]["difference_low"] == 0.5
    assert [row["rank"] for row in ranking.rows] == list(range(1, len(ranking.rows) + 1))
    accuracies = [row["accuracy"] for row in ranking.rows]
    assert accuracies == sorted(accuracies, reverse=True)  # type: ignore[type-var]
    assert "2 pools, 32 different questions" in ranking.title
    assert where.name == "where"
    assert {row["pool"]: (row["wsc"], row["bon"]) for row in differences.rows} == {
        "surer": (1.0, 1.0),
        "wrong": (0.0, -1.0),
    }


def test_every_usual_method_and_auto_with_its_whole_run_stands_in_it() -> None:
    ranking = board(SURER, WRONG).tables[0]
    assert set(rows(ranking)) == {*USUAL, "auto, whole run"}


def test_it_says_where_a_method_really_wins_and_loses() -> None:
    result = board(SURER, WRONG)
    found = rows(result.tables[0])
    assert (found["bon"]["n_pools_won"], found["bon"]["n_pools_lost"]) == (1, 1)
    assert (found["bon"]["n_won"], found["bon"]["n_lost"]) == (8, 24)
    where = {row["pool"]: row for row in result.tables[1].rows}
    assert "bon" in str(where["surer"]["won"]).split("; ")
    assert where["surer"]["lost"] == ""
    assert where["wrong"]["won"] == ""
    assert where["wrong"]["lost"].startswith("bon")  # type: ignore[union-attr]
    assert (where["wrong"]["accuracy"], where["wrong"]["best"]) == (1.0, "sc")


def test_a_new_vote_stands_beside_the_usual_ones() -> None:
    ranking = board(SURER, WRONG, methods=[f"{__name__}:few", "wsc-top:0.1"]).tables[0]
    assert {*USUAL, f"{__name__}:few", "wsc-top10"} <= set(rows(ranking))
    assert rows(ranking)[f"{__name__}:few"]["accuracy"] == 0.5


def test_the_baseline_may_be_any_method() -> None:
    ranking = board(SURER, WRONG, baseline="bon").tables[0]
    found = rows(ranking)
    assert found["bon"]["difference"] is None
    assert found["sc"]["n_won"] == 24
    assert found["sc"]["n_lost"] == 8


def test_signals_of_several_kinds_have_rankings_of_their_own() -> None:
    sets = [replace(SURER, settings={SIGNAL: "length"}), replace(WRONG, settings={SIGNAL: "top tokens"})]
    result = board(*sets)
    assert [table.name for table in result.tables] == [
        "ranking",
        "ranking-length",
        "ranking-top-tokens",
        "where",
        "differences",
    ]
    assert rows(result.tables[1])["bon"]["difference"] == 1.0
    assert {row[SIGNAL] for row in result.tables[3].rows} == {"length", "top tokens"}


def test_pools_without_confidences_are_left_out_and_named() -> None:
    unsure = [pool(f"u{i}", [0, 0, 0, 1, 1, 1, 1, 1], [np.nan] * 8) for i in range(6)]
    result = board(SURER, named(pool_set(*unsure, benchmark="unsure"), "unsure"))
    assert "1 pool, 8 different questions" in result.tables[0].title
    assert any(note.startswith("unsure has no confidences") for note in result.notes)


def test_with_no_confidences_at_all_the_votes_that_need_none_are_ranked() -> None:
    unsure = [pool(f"u{i}", [0, 0, 0, 1, 1, 1, 1, 1], [np.nan] * 8) for i in range(6)]
    made = named(pool_set(*unsure), "unsure")
    result = board(made, methods=[f"{__name__}:first_seen"])
    assert {"sc", f"{__name__}:first_seen"} <= set(rows(result.tables[0]))
    assert "wsc" not in rows(result.tables[0])
    assert any("no pool has confidences" in note for note in result.notes)


def test_pools_of_one_benchmark_do_not_make_questions_more() -> None:
    """Ten models on the same questions leave the interval as wide as one model that has their mean."""
    one = replace(random_set(12, n=16), name="one")
    many = [replace(one, name=f"copy{i}") for i in range(10)]
    alone, together = (rows(board(*sets, budget=8).tables[0])["bon"] for sets in ([one], many))
    assert together["difference"] == pytest.approx(alone["difference"])
    assert together["difference_low"] == pytest.approx(alone["difference_low"])
    assert together["difference_high"] == pytest.approx(alone["difference_high"])


def test_pools_with_too_few_trajectories_are_left_out_and_named() -> None:
    small = named(random_set(3, n=4), "small")
    kept = large_enough([SURER, small], 8)
    assert kept.pool_sets == (SURER,)
    assert kept.notes == ("small: fewer than 8 trajectories of a question, so left out",)
    with pytest.raises(InputError, match=r"no pool has 99 trajectories of every question.*`budget`"):
        large_enough([SURER, small], 99)
