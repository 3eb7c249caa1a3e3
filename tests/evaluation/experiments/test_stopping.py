"""The experiment that replays stopping rules."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.results import Result, Row
from evaluation.made_pools import pool, pool_set, random_set

NAN = float("nan")


def easy_and_hard() -> PoolSet:
    """Two questions of 16: one on which all agree and are right, one that is wrong until its second half."""
    easy = pool("easy", [0] * 16, [NAN] * 16)
    hard = pool("hard", [0] * 7 + [1] * 9, [NAN] * 16, right=(1,))
    lengths = [np.full(16, 10), np.full(16, 30)]
    both = [dataclasses.replace(each, n_tokens=n) for each, n in zip((easy, hard), lengths, strict=True)]
    return pool_set(*both)


def result(sets: list[PoolSet], rules: list[str], **kwargs: object) -> Result:
    report = evaluate(sets, ["stopping"], n_repeats=1, rules=rules, **kwargs)  # type: ignore[arg-type]
    return report.results[0]


def rows(found: Result) -> dict[tuple[str, str], Row]:
    return {(str(row["rule"]), str(row["order"])): row for row in found.tables[0].rows}


def test_a_rule_is_charged_for_what_it_sampled() -> None:
    row = rows(result([easy_and_hard()], ["beta"]))["beta:0.95", "numbers"]
    # Four of each: 40 + 120 of 160 + 480 tokens, and the second question is lost.
    assert (row["accuracy"], row["to_whole"], row["same"]) == (0.5, -0.5, 0.5)
    assert (row["samples"], row["tokens"], row["rounds"]) == (0.25, 0.25, 4.0)


def test_smaller_budgets_stand_beside_the_rules() -> None:
    found = rows(result([easy_and_hard()], ["esc:5"]))
    assert [rule for rule, _ in found] == ["first 2", "first 4", "first 8", "esc:5"]
    assert found["first 8", "numbers"]["samples"] == 0.5


def test_with_slots_the_bias_towards_short_ones_is_seen() -> None:
    """The wrong answers are short: who believes those that finish first believes them."""
    one = pool("q", [0, 1] * 8, [NAN] * 16, right=(0,))
    made = pool_set(dataclasses.replace(one, classes=one.classes, n_tokens=np.array([100, 1] * 8)))
    found = rows(result([made], ["beta"], slots=16))
    assert found["beta:0.95", "rounds, 16 slots"]["samples"] == 1.0
    assert found["beta:0.95", "as they finish, 16 slots"]["accuracy"] == 0.0
    assert found["beta:0.95", "as they finish, 16 slots"]["lost"] > 0


def test_sets_stand_alone_and_together_and_in_a_chart() -> None:
    sets = [random_set(6, 24, seed=n, name=f"set {n}", model=f"m{n}") for n in (1, 2)]
    found = result(sets, ["gain:0.02", "gain:0.005"])
    assert {row["set"] for row in found.tables[0].rows} == {"set 1", "set 2", "all runs"}
    (chart,) = found.charts
    assert {row["family"] for row in chart.rows} == {"first", "gain"}
    assert all(row["set"] == "all runs" for row in chart.rows)


def test_a_run_gets_the_same_numbers_twice() -> None:
    sets = [random_set(5, 20)]
    first, second = (evaluate(sets, ["stopping"], n_repeats=3, rules=["gain"], seed=4) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("rules", "slots", "says"), [(["betta"], None, "betta"), ([], 0, "0 slots")])
def test_what_makes_no_sense_is_refused_at_once(rules: list[str], slots: int | None, says: str) -> None:
    with pytest.raises(InputError, match=says):
        evaluate([random_set(2, 8)], ["stopping"], rules=rules, slots=slots)


def test_a_file_with_lengths_is_charged_by_them(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    lines = ["question_id,answer,correct,n_tokens"]
    lines += [f"a,7,true,{n}" for n in (5, 10, 20, 40)]
    path.write_text("\n".join(lines) + "\n")
    (found,) = load_pool_sets([str(path)], reads=("lengths",)).pool_sets
    assert found.pools[0].n_tokens is not None
    assert found.pools[0].n_tokens.tolist() == [5, 10, 20, 40]
    row = rows(result([found], ["beta:0.8"]))["beta:0.8", "numbers"]
    assert row["tokens"] == 15 / 75


def test_a_file_without_lengths_is_charged_by_trajectories(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("question_id,answer,correct\n" + "a,7,true\n" * 4)
    (found,) = load_pool_sets([str(path)], reads=("lengths",)).pool_sets
    assert found.pools[0].n_tokens is None
    made = result([found], ["beta:0.8"])
    assert rows(made)["beta:0.8", "numbers"]["tokens"] == 0.5
    assert any("tokens are trajectories" in note for note in made.notes)
