"""The experiments about trust, probabilities and abstaining."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.pools import Pool, PoolSet
from distrivote.evaluation.results import Result, Row
from distrivote.evaluation.winners import WHOLE_RUN, votes_of
from distrivote.simulation.model import Simulation, simulate, with_auroc
from distrivote.voting.vote import vote, vote_batch
from evaluation.made_pools import few_surer_right, pool, pool_set, random_set, surest_wrong


def rows(result: Result, table: str) -> list[Row]:
    (found,) = [each for each in result.tables if each.name == table]
    return list(found.rows)


def ragged_set() -> PoolSet:
    made = random_set(6, 30, seed=3)
    shorter = [
        Pool(p.question, p.classes[:n], p.correct[:n], p.confidence[:n])
        for p, n in zip(made.pools, (30, 24, 27, 30, 20, 29), strict=True)
    ]
    return dataclasses.replace(made, pools=tuple(shorter))


def test_whole_pools_are_voted_on_as_the_library_does() -> None:
    made = ragged_set()
    votes = votes_of(made, None, 5, 0)
    for index, each in enumerate(made.pools):
        answers = [None if given < 0 else int(given) for given in each.classes]
        for method in ("sc", "dis-gmm", "auto"):
            tally = vote(answers, each.confidence.tolist(), method)
            winners = votes.winners[method]
            assert winners.right[index, 0] == (tally.answer == 0)
            assert winners.probability[index, 0] == pytest.approx(tally.probability)
            assert winners.share[index, 0] == pytest.approx(tally.votes[tally.answer] / tally.n_cast)


def test_the_whole_run_learns_as_a_batch_does() -> None:
    made = simulate(Simulation(separation=3.0, hard_share=0.6), 40, 24, np.random.default_rng(2))
    votes = votes_of(made, None, 1, 0)
    winners = vote_batch([p.classes for p in made.pools], [p.confidence for p in made.pools], ["auto"])[
        "auto"
    ]
    right = [bool(p.right_classes[won]) for p, won in zip(made.pools, winners, strict=True)]
    assert votes.right(WHOLE_RUN)[:, 0].tolist() == right
    assert votes.separation > 0.7


def test_the_table_says_what_auto_wins_and_loses() -> None:
    made = pool_set(few_surer_right("a"), few_surer_right("b"), surest_wrong("c"))
    (result,) = evaluate([made], ["trust"], n_repeats=2).results
    (accuracy,) = rows(result, "accuracy")
    assert accuracy["SC"] == pytest.approx(1 / 3)
    single, whole = rows(result, "differences")
    assert (single["method"], whole["method"]) == ("auto, one question", "auto, whole run")
    assert float(single["won"] or 0) - float(single["lost"] or 0) == pytest.approx(
        3 * float(single["to_sc"] or 0)
    )
    assert len(rows(result, "separation")) == 1


def test_several_runs_are_shown_apart_and_together_at_every_budget() -> None:
    sets = [
        random_set(5, 40, seed=1, name="one", model="one"),
        random_set(5, 44, seed=2, name="two", model="two"),
    ]
    (result,) = evaluate(sets, ["trust"], n_repeats=2).results
    found = [(row["set"], row["budget"]) for row in rows(result, "accuracy")]
    budgets = ["16", "32", "40", "all"]
    assert found == [(name, budget) for name in ("one", "two", "all runs") for budget in budgets]
    (chart,) = result.charts
    assert {row["run"] for row in chart.rows} == {"one", "two", "all runs"}


def test_the_trust_of_a_run_tells_strong_from_misleading_confidences() -> None:
    plain = Simulation(confidently_wrong=0.0, hard_share=0.4)
    sets = [
        simulate(with_auroc(plain, auroc), 60, 32, np.random.default_rng(4), name=name, model=name)
        for name, auroc in (("strong", 0.85), ("misleading", 0.3))
    ]
    (result,) = evaluate(sets, ["trust"], n_repeats=2).results
    learned = {row["set"]: float(row["separation"] or 0) for row in rows(result, "separation")}
    assert learned["strong"] > 0.7 > 0 > learned["misleading"]


def test_runs_without_confidences_are_left_out_and_named() -> None:
    bare = pool_set(pool("a", [0, 0, 1], [np.nan] * 3))
    (result,) = evaluate([bare], ["trust"], n_repeats=1).results
    assert not result.tables
    assert "no confidences, so there is nothing to trust" in result.notes[0]


def test_probabilities_stand_beside_shares_of_votes() -> None:
    sets = [
        random_set(20, 32, seed=1, name="one", model="one"),
        random_set(20, 32, seed=2, name="two", model="two"),
    ]
    calibration, risk = evaluate(sets, ["calibration", "risk-coverage"], n_repeats=3).results
    found = {(row["set"], row["method"], row["claim"]) for row in rows(calibration, "calibration")}
    assert len(found) == 3 * 3 * 2
    assert ("all runs", "auto", "share of votes") in found
    (chart,) = calibration.charts
    assert [row["came_true"] for row in chart.rows if row["claim"] == "perfect"] == [0.0, 1.0]
    covered = rows(risk, "risk-coverage")
    assert [row["claim"] for row in covered[:2]] == ["probability", "share of votes"]
    assert all(0 <= float(row["at_50%"] or 0) <= 1 for row in covered)
    assert max(float(row["coverage"] or 0) for row in risk.charts[0].rows) == 1.0


def test_a_budget_outside_the_calibration_is_noted() -> None:
    (result,) = evaluate([random_set(8)], ["calibration"], budget=4, n_repeats=2).results
    assert "fitted on 8 to 256 answers per question, and these votes have 4" in result.notes[0]


def test_pools_without_any_answer_claim_nothing() -> None:
    empty = pool_set(pool("a", [-1] * 8, [np.nan] * 8))
    for result in evaluate([empty], ["trust", "calibration", "risk-coverage"], n_repeats=1).results:
        assert not any(table.rows for table in result.tables)
        assert not result.charts
