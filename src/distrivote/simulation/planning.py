"""The accuracy and cost of each budget, simulated for a model of which little is known.

A simulation is estimated from pass@1 and AUROC alone: other parameters (how many questions are hard,
confidently wrong, without an answer) are typical values of the presets. So the curve shows what such a model
may do, not what a particular model will do. Both numbers, and the length of a trajectory, can be measured on
stored samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from distrivote.defaults import PLANNED_BUDGETS
from distrivote.errors import InputError
from distrivote.evaluation import metrics
from distrivote.evaluation.pools import Flags, Pool
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Result, Row, Table
from distrivote.simulation.model import Drawn, Simulation, draw, with_auroc, with_pass1
from distrivote.voting.methods import parse_method
from distrivote.voting.vote import vote_batch

BUDGETS = PLANNED_BUDGETS

MISSING = 0.25
"""Trajectories without an answer, as a share of 1 - pass@1; four times as often on hard questions. This
and the next are medians over the presets, rounded."""

HARD = 0.8
"""Hard questions, as a share of 1 - pass@1."""

MISLED = 0.4
"""Confidently wrong questions, as a share of the hard ones; fewer if the AUROC allows no more. This and
the next were set so that the planned gains over SC are on average those of the paper."""

DROP = 1.0
"""How much lower confidences are on hard questions, in separations."""

_Z = 1.96


def typical(pass1: float, auroc: float) -> Simulation:
    """Return a simulation with this pass@1 and AUROC and otherwise typical values of the presets.

    >>> simulation = typical(0.6, 0.75)
    >>> round(simulation.pass1, 3), round(simulation.auroc, 3)
    (0.6, 0.75)
    """
    for name, value in (("pass@1", pass1), ("AUROC", auroc)):
        if not 0 < value < 1:
            raise InputError(f"{name} is {value}: give a number between 0 and 1")
    hard = HARD * (1 - pass1)
    missing = MISSING * (1 - pass1) / (1 + 3 * hard)
    shape = Simulation(
        hard_share=hard,
        hard_rate=min(0.1, pass1 / 2),
        confidently_wrong=0.0,
        unanswered=missing,
        hard_unanswered=4 * missing,
    )
    shape = with_pass1(shape, pass1)
    for part in (MISLED, MISLED / 2, MISLED / 4):
        try:
            return with_auroc(replace(shape, confidently_wrong=part * hard), auroc, DROP)
        except InputError:
            continue
    return with_auroc(shape, auroc, DROP)


class MeasuredRun(NamedTuple):
    """What is measured on trajectories with known truth; NaN for missing values."""

    pass1: float
    """The mean over questions of the share of right trajectories."""

    auroc: float
    """Over all trajectories together that have an answer and a confidence."""

    n_tokens: float
    """The mean over the trajectories whose length is known."""

    n_trajectories: int
    n_questions: int


def measured(pools: Sequence[Pool]) -> MeasuredRun:
    """Return what a plan needs to know about a model, from its trajectories on at least one question.

    >>> pool = Pool("q", np.array([0, 0, 1, -1]), np.array([True, True, False, False]),
    ...             np.array([9.0, 5.0, 7.0, np.nan]), n_tokens=np.array([100, 200, 300, 400]))
    >>> measured([pool])
    MeasuredRun(pass1=0.5, auroc=0.5, n_tokens=250.0, n_trajectories=4, n_questions=1)
    """
    confidence = np.concatenate([pool.confidence for pool in pools])
    correct = np.concatenate([pool.correct for pool in pools])
    answered = np.concatenate([pool.classes for pool in pools]) >= 0
    known = answered & np.isfinite(confidence)
    told = [pool.n_tokens[pool.n_tokens > 0] for pool in pools if pool.n_tokens is not None]
    lengths = np.concatenate([np.empty(0, dtype=np.int64), *told])
    return MeasuredRun(
        float(np.mean([pool.correct.mean() for pool in pools])),
        float(metrics.auroc(confidence[None], correct[None], known[None])[0]),
        float(lengths.mean()) if len(lengths) else math.nan,
        len(correct),
        len(pools),
    )


def plan(
    pass1: float,
    auroc: float,
    rng: np.random.Generator,
    *,
    price_per_million: float,
    n_tokens: float,
    budgets: Sequence[int] = BUDGETS,
    methods: Sequence[str] = ("sc", "dis-gmm"),
    n_questions: int = 3000,
) -> Result:
    """Return the simulated accuracy and the cost per question of each budget.

    Args:
        pass1: The expected share of right trajectories of the model, 0 to 1.
        auroc: How well confidence separates right from wrong, over all trajectories together.
        rng: The same state gives the same plan.
        price_per_million: What a million generated tokens cost, in any currency.
        n_tokens: The mean length of a trajectory.
        budgets: Trajectories per question.
        methods: The methods to compare; the gain is that of the last over the first.
        n_questions: The number of simulated questions; the intervals are those of the simulation.
    """
    if not 0 <= price_per_million < math.inf:
        raise InputError(f"the price is {price_per_million}: give a number from 0 up, per million tokens")
    if not 0 < n_tokens < math.inf:
        raise InputError(f"n_tokens is {n_tokens}: give the mean length of a trajectory, above 0")
    if not budgets or min(budgets) < 1:
        raise InputError(f"budgets are {', '.join(map(str, budgets)) or 'none'}: give numbers from 1 up")
    if n_questions < 2:
        raise InputError(f"n_questions is {n_questions}: simulate 2 or more, thousands for narrow intervals")
    names = list(dict.fromkeys(parse_method(method).name for method in methods))
    simulation = typical(pass1, auroc)
    drawn = draw(simulation, n_questions, max(budgets), rng)
    rows: list[Row] = []
    points: list[Row] = []
    for budget in sorted(set(budgets)):
        right = _right(drawn, budget, names)
        cost = budget * n_tokens * price_per_million / 1e6
        row: dict[str, Cell] = {"budget": budget, "n_tokens": budget * n_tokens, "cost": cost}
        for name, flags in right.items():
            low, high = _wilson(flags)
            row |= {name: float(flags.mean()), f"{name}_low": low, f"{name}_high": high}
            measured: Row = {"accuracy": float(flags.mean()), "low": low, "high": high}
            points.append({"budget": budget, "cost": cost, "method": name, **measured})
        if len(names) > 1:
            gain, low, high = _paired(right[names[-1]], right[names[0]])
            row |= {"gain": gain, "gain_low": low, "gain_high": high}
        rows.append(row)
    return Result(
        "plan",
        "What does each budget buy?",
        (_table(rows, names),),
        (_chart(points, pass1, auroc),),
        _notes(simulation, n_questions),
    )


def _right(drawn: Drawn, budget: int, methods: Sequence[str]) -> dict[str, Flags]:
    """Return whether each method is right on each question with the first trajectories only."""
    classes, confidences = drawn.classes[:, :budget], drawn.confidences[:, :budget]
    winners = vote_batch(classes, confidences, methods)
    given = drawn.correct[:, :budget]
    answer = classes[np.arange(len(classes)), given.argmax(axis=1)]
    return {name: given.any(axis=1) & (winners[name] == answer) for name in methods}


def _wilson(right: Flags) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share."""
    n, share = len(right), float(right.mean())
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def _paired(one: Flags, other: Flags) -> tuple[float, float, float]:
    """Return the mean difference on the same questions and its 95% interval."""
    differences = one.astype(np.float64) - other
    mean = float(differences.mean())
    half = _Z * float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return mean, mean - half, mean + half


def _table(rows: Sequence[Row], methods: Sequence[str]) -> Table:
    accuracies = tuple(
        Column(name, name, "percent", low=f"{name}_low", high=f"{name}_high", best="highest")
        for name in methods
    )
    gain = (Column("gain", f"{methods[-1]} − {methods[0]}", "percent", low="gain_low", high="gain_high"),)
    columns = (
        Column("budget", "budget", "whole"),
        Column("n_tokens", "tokens per question", "whole"),
        Column("cost", "cost per question", "number", 4),
        *accuracies,
        *(gain if len(methods) > 1 else ()),
    )
    return Table("plan", "Simulated accuracy and cost by budget", columns, tuple(rows))


def _chart(points: Sequence[Row], pass1: float, auroc: float) -> Chart:
    return Chart(
        "plan",
        "What does each budget buy?",
        f"Simulated, for pass@1 {pass1:.0%} and AUROC {auroc:.2f}",
        "lines",
        Axis("budget", "trajectories per question", "whole", log=True),
        Axis("accuracy", "accuracy", "percent"),
        tuple(points),
        series="method",
        low="low",
        high="high",
    )


def _notes(simulation: Simulation, n_questions: int) -> tuple[str, ...]:
    return (
        "This is a simulation, not a measurement: before you spend much, sample a few questions and measure"
        " pass@1, AUROC and the vote itself.",
        f"Assumed: {simulation.hard_share:.0%} hard questions, {simulation.confidently_wrong:.1%} confidently"
        f" wrong, {simulation.unanswered:.1%} of the trajectories without an answer on easy questions and"
        f" {simulation.hard_unanswered:.1%} on hard ones.",
        f"Intervals are those of {n_questions:,} simulated questions; a benchmark of 30 varies far more.",
    )
