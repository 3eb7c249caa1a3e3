"""What do rules that end single trajectories save for each right answer? Prints JSON.

    python bench/online.py [--run DIR ...] [--budget 32] [--orders 4] [--rule NAME ...]
                           [--simulated] [--questions 40]

Stored runs with steps (or, for online:WARM-UP:WINDOW, confidences of tokens), or with --simulated the
presets of the simulation with simulated step traces. Every rule sees the same trajectories in the same
orders as plain sampling with the same vote (auto). Intervals are paired: 95% of 2,000 bootstraps over
questions. "first 24" is a smaller budget. Of a run that is not complete the complete questions count.
For rules that end trajectories "after_warmup" is what is left of the trajectories after the warm-up: of their
tokens, of the right ones and of the others. A rule that ended any at random would leave equal shares of the
last two.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from distrivote.evaluation.endings import Ender, left_of
from distrivote.evaluation.experiments.base import Setting
from distrivote.evaluation.experiments.stopping import (
    NUMBERS,
    WHOLE,
    First,
    Plan,
    Replay,
    costs_of,
    plan_named,
    replay,
)
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.pools import PoolSet
from distrivote.simulation.model import Simulation, simulate
from distrivote.simulation.preset_models import presets
from distrivote.simulation.steps import StepModel, with_steps
from distrivote.steering import DistriVotingOnline
from distrivote.steering.course import Course
from distrivote.store.tables.source import Columns
from distrivote.trajectory import Interventions
from distrivote.voting.filters import mixture_cut

N_BOOTSTRAPS = 2000


def simulated(n_questions: int, budget: int) -> list[PoolSet]:
    found = []
    for number, (name, preset) in enumerate(presets().items()):
        rng = np.random.default_rng(200 + number)
        pools = simulate(preset.simulation, n_questions, budget, rng, name=name, model=name)
        found.append(with_steps(pools, StepModel(), rng))
    return found


def stored(paths: list[str], budget: int) -> list[PoolSet]:
    columns = Columns(partial=True)
    found = []
    for each in load_pool_sets(paths, columns=columns, reads=("lengths", "steps")).pool_sets:
        whole = tuple(pool for pool in each.pools if pool.n_trajectories >= budget)
        found.append(replace(each, pools=whole))
    return found


def row(name: str, ours: list[Replay], plain: list[Replay]) -> dict[str, Any]:
    """Return what a rule comes to over all sets: questions are drawn within each."""
    rng = np.random.default_rng(0)
    values = [
        np.array([found.right.mean(axis=1), found.spent.sum(axis=1), whole.right.mean(axis=1),
                  whole.whole.sum(axis=1)])
        for found, whole in zip(ours, plain, strict=True)
    ]  # fmt: skip

    def measured(draws: list[np.ndarray]) -> tuple[float, float, float]:
        sums = np.mean(
            [part[:, chosen].mean(axis=1) for part, chosen in zip(values, draws, strict=True)], axis=0
        )
        right, spent, plain_right, plain_spent = sums.tolist()
        per_right = spent / right / (plain_spent / plain_right) if right else np.inf
        return 100 * (right - plain_right), 100 * spent / plain_spent, 100 * (per_right - 1)

    sizes = [part.shape[1] for part in values]
    point = measured([np.arange(n) for n in sizes])
    drawn = np.array([measured([rng.integers(0, n, n) for n in sizes]) for _ in range(N_BOOTSTRAPS)])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    worst = min(100 * float((part[0] - part[2]).mean()) for part in values)
    return {
        "rule": name,
        "accuracy": round(point[0], 2),
        "accuracy_interval": [round(float(low[0]), 2), round(float(high[0]), 2)],
        "worst_set": round(worst, 2),
        "tokens": round(point[1], 1),
        "per_right": round(point[2], 1),
        "per_right_interval": [round(float(low[2]), 1), round(float(high[2]), 1)],
    }


def after_warmup(ender: Ender, sets: list[PoolSet], budget: int) -> dict[str, float]:
    """Return what a rule leaves of the trajectories after the warm-up, in the order of their numbers."""
    order, late = np.arange(budget), slice(ender.controller.n_warmup, budget)
    left = np.zeros((2, 3))  # with the rule and without: tokens, right ones, others
    for pool in (pool for each in sets for pool in each.pools):
        costs = costs_of(pool)
        found = left_of(pool, order, costs, ender).costs
        right = pool.correct[order][late]
        whole = (found >= costs[order])[late]
        left[0] += found[late].sum(), np.sum(right & whole), np.sum(~right & whole)
        left[1] += costs[order][late].sum(), np.sum(right), np.sum(~right)
    shares = 100 * left[0] / np.maximum(left[1], 1)
    return {name: round(float(share), 1)
            for name, share in zip(("tokens", "right", "others"), shares, strict=True)}  # fmt: skip


def decision_times() -> dict[str, float]:
    """Return the processor time of a decision at the end of a step, and of a warm-up of 16, in ms."""
    rng = np.random.default_rng(0)
    (pool,) = with_steps(simulate(Simulation(), 1, 16, rng), StepModel(), rng).pools
    assert pool.steps is not None
    records = [Interventions((), tuple(each.ends.tolist()), tuple(each.confidences.tolist()))
               for each in pool.steps]  # fmt: skip
    values = pool.confidence.tolist()
    begun = time.process_time()
    for _ in range(20):
        rule = DistriVotingOnline().after(values, records, mixture_cut(values))
    warmed = time.process_time()
    courses = [Course.of(record) for record in records]
    begun_steps = time.process_time()
    for _ in range(200):
        for course in courses:
            rule.floor.is_above(course)
    n = 200 * len(courses)
    return {
        "after the warm-up": round((warmed - begun) / 20 * 1000, 3),
        "at a step": round((time.process_time() - begun_steps) / n * 1000, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="append", default=[])
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--questions", type=int, default=40, help="of each simulated set")
    parser.add_argument("--budget", type=int, default=32)
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument("--rule", action="append")
    options = parser.parse_args()
    sets = simulated(options.questions, options.budget) if options.simulated else []
    sets += stored(options.run, options.budget) if options.run else []
    if not sets:
        parser.error("give --run or --simulated")
    setting = Setting(tuple(sets), (), options.budget, options.orders, seed=0)
    plain = [replay(each, WHOLE, setting)[NUMBERS] for each in sets]
    rows = []
    for name in options.rule or ("online", "online+gain", "gain", "deepconf-low:1024", "deepconf-high:1024"):
        begun = time.perf_counter()
        plan = Plan(name, First(int(name[6:]))) if name.startswith("first ") else plan_named(name)
        found = [replay(each, plan, setting)[NUMBERS] for each in sets]
        rows.append(row(name, found, plain))
        if plan.ender is not None:
            rows[-1]["after_warmup"] = after_warmup(plan.ender, sets, options.budget)
        print(f"{rows[-1]} ({time.perf_counter() - begun:.0f} s)", file=sys.stderr, flush=True)
    sizes = {each.name: len(each.pools) for each in sets}
    whole = 100 * float(np.mean([each.right.mean() for each in plain]))
    found: dict[str, Any] = {"ms": decision_times()}
    found |= {"budget": options.budget, "questions": sizes, "plain": round(whole, 2), "rules": rows}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
