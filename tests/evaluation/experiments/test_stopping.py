"""The experiment that replays stopping rules."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.pools import Pool, PoolSet, Steps
from distrivote.evaluation.results import Result, Row
from distrivote.simulation.model import Simulation, simulate
from distrivote.simulation.steps import StepModel, with_steps
from distrivote.store.tables.source import Columns
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
    assert found["beta:0.95", "rounds"]["samples"] == 1.0
    assert found["beta:0.95", "as they finish"]["accuracy"] == 0.0
    assert found["beta:0.95", "as they finish"]["lost"] > 0


def test_sets_stand_alone_and_together_and_in_a_chart() -> None:
    sets = [random_set(6, 24, seed=n, name=f"set {n}", model=f"m{n}") for n in (1, 2)]
    found = result(sets, ["gain:0.02", "gain:0.005"])
    together, each = found.tables
    assert {row["set"] for row in together.rows} == {"all runs"}
    assert {row["set"] for row in each.rows} == {"m1", "m2"}
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


def test_another_column_may_hold_the_lengths(tmp_path: Path) -> None:
    path = tmp_path / "lengths.csv"
    path.write_text("question_id,answer,correct,length\n" + "".join(f"q,7,true,{10 * n}\n" for n in range(8)))
    (found,) = load_pool_sets([str(path)], columns=Columns(length="length"), reads=("lengths",)).pool_sets
    assert found.pools[0].n_tokens is not None
    assert found.pools[0].n_tokens.tolist() == [0, 10, 20, 30, 40, 50, 60, 70]
    with pytest.raises(InputError, match="no column 'size'"):
        load_pool_sets([str(path)], columns=Columns(length="size"), reads=("lengths",))


def with_courses(n_questions: int = 4, budget: int = 24) -> PoolSet:
    """Return a set in which the even trajectories are sure and right, the odd ones unsure and wrong."""
    odd = np.arange(budget) % 2 == 1
    levels = np.where(odd, 5.0, 9.0) + np.arange(budget) % 4 / 10
    steps = tuple(Steps.of(np.array([10, 20, 30, 40]), np.full(4, level)) for level in levels)
    pools = [
        Pool(f"q{number}", odd.astype(np.int64), ~odd, levels, n_tokens=np.full(budget, 40), steps=steps)
        for number in range(n_questions)
    ]
    return PoolSet("courses", "m", "b", tuple(pools))


def test_ended_trajectories_cost_what_they_had_come_to_and_have_no_vote() -> None:
    found = rows(result([with_courses()], ["online:8", "deepconf-high:10", "deepconf-low:10"]))
    online = found["online:8", "numbers"]
    # 8 warm up; of the other 16 the 8 odd ones end after the first of four steps.
    assert online["tokens"] == pytest.approx((8 + 8 + 8 / 4) / 24)
    assert online["accuracy"] == 1.0
    assert online["per_right"] == pytest.approx(online["tokens"])
    assert found["deepconf-low:10", "numbers"]["tokens"] <= found["deepconf-high:10", "numbers"]["tokens"]


def test_a_rule_may_stop_beside_one_that_ends() -> None:
    found = rows(result([with_courses()], ["online:8", "online:8+beta:0.8"]))
    assert found["online:8+beta:0.8", "numbers"]["tokens"] < found["online:8", "numbers"]["tokens"]


def test_windows_of_tokens_may_take_the_place_of_steps() -> None:
    found = rows(result([with_courses()], ["online:8", "online:8:5"]))
    assert found["online:8:5", "numbers"]["tokens"] == pytest.approx((8 + 8 + 8 / 8) / 24)


def test_without_recorded_steps_it_says_so() -> None:
    found = result([with_courses(), easy_and_hard()], ["online:8", "beta"])
    assert any("no steps are recorded" in note for note in found.notes)
    each = found.tables[1]
    assert [row["set"] for row in each.rows if row["rule"] == "online:8"] == ["m"]


def test_with_recorded_steps_the_rules_that_end_stand_beside_the_others() -> None:
    names = {row["rule"] for row in result([with_courses(2)], []).tables[0].rows}
    assert {"online:6", "online:6+gain:0.002", "deepconf-low:10", "deepconf-high:10"} <= names


@pytest.mark.parametrize("name", ["online:", "online:x", "online:1:2:3", "deepconf-middle"])
def test_a_wrong_name_of_a_rule_that_ends_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        result([with_courses(1)], [name])


def test_the_steps_of_a_stored_run_are_read() -> None:
    path = Path(__file__).parents[3] / "examples" / "runs" / "qwen2.5-coder-basic"
    (found,) = load_pool_sets([str(path)], reads=("steps",)).pool_sets
    for one in found.pools:
        assert one.steps is not None
        assert len(one.steps) == one.n_trajectories
        assert all(len(each.tokens) == each.ends[-1] for each in one.steps)


def test_simulated_steps_follow_the_confidences() -> None:
    rng = np.random.default_rng(0)
    for one in with_steps(simulate(Simulation(), 6, 32, rng), StepModel(), rng).pools:
        assert one.steps is not None
        known = ~np.isnan(one.confidence)
        means = np.array([each.tokens.mean() for each in one.steps])
        assert np.corrcoef(means[known], one.confidence[known])[0, 1] > 0
