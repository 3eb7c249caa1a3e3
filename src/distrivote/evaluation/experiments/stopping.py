"""What would stopping rules have saved, and cost? Stored trajectories are replayed to each rule.

Every rule sees the same trajectories in the same orders: that of their numbers first, then random ones. The
vote is `auto`, which is majority voting where there are no confidences. Shares of tokens are of what the
whole budget takes; where no lengths are known every trajectory counts the same. Rules that end single
trajectories (`endings`) need recorded steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from distrivote.defaults import METHOD
from distrivote.evaluation.draws import draw
from distrivote.evaluation.endings import Ender, Left, ender_named, is_ender, left_of, usual_enders
from distrivote.evaluation.estimates import Sample, compare, estimate
from distrivote.evaluation.experiments.base import ALL_RUNS, Experiment, Findings, Setting, cells
from distrivote.evaluation.pools import Flags, Floats, Ints, Pool, PoolSet
from distrivote.evaluation.replays import Looks, Stop, as_they_finish, in_rounds, one_by_one
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Table
from distrivote.evaluation.scoring import Scores
from distrivote.nouns import count
from distrivote.voting.ballot import Ballot
from distrivote.voting.stopping import StopRule, stop_rule
from distrivote.voting.vote import elect

RULES = (
    *("gain:0.02", "gain:0.01", "gain:0.005", "gain:0.002", "sure:0.95", "anytime:0.95"),
    *("beta:0.8", "beta:0.9", "beta:0.95", "dirichlet:0.95", "consensus:0.95", "esc:5"),
)
"""The rules that are compared by default, without `vote`, which takes long."""

_BUDGETS = (0.125, 0.25, 0.5)
"""Smaller budgets that are compared with the rules, as shares of the whole."""

MOST_ORDERS = 8
NUMBERS, ROUNDS, FINISHED = "numbers", "rounds", "as they finish"
"""The orders in which a rule sees trajectories, in words."""


class First(NamedTuple):
    """A smaller budget, as a rule."""

    n: int

    @property
    def name(self) -> str:
        return f"first {self.n}"

    def settled(self, ballot: Ballot, n_left: int) -> bool:  # noqa: ARG002
        return len(ballot.classes) >= self.n


class Plan(NamedTuple):
    """What is replayed: a rule that stops, one that ends trajectories, or both."""

    name: str
    rule: StopRule | None = None
    ender: Ender | None = None


WHOLE = Plan("whole")


class Replay(NamedTuple):
    """The results of one rule on one set in one way: (n_questions, n_orders) each."""

    right: Flags
    answers: Ints
    n_finished: Floats
    spent: Floats
    lost: Floats
    whole: Floats
    n_rounds: Floats


def costs_of(pool: Pool) -> Floats:
    """Return what each trajectory costs: tokens, else seconds, else 1."""
    if pool.n_tokens is not None and (pool.n_tokens > 0).any():
        return pool.n_tokens.astype(np.float64)
    if pool.seconds is not None and np.isfinite(pool.seconds).all():
        return pool.seconds
    return np.ones(pool.n_trajectories)


def orders_of(pool: Pool, budget: int, n_repeats: int, seed: int) -> Ints:
    """Return (n_orders, budget) the trajectories in each order; the first order is that of their numbers."""
    n = min(n_repeats, MOST_ORDERS) - 1
    numbers = np.arange(budget)[None]
    return np.concatenate((numbers, draw(pool.question, pool.n_trajectories, budget, n, seed)))


def ways_of(slots: int | None) -> tuple[str, ...]:
    """Return the ways to replay."""
    if slots is None:
        return (NUMBERS,)
    return NUMBERS, ROUNDS, FINISHED


def replay(source: PoolSet, plan: Plan, setting: Setting) -> dict[str, Replay]:
    """Replay a set to a rule, in every way."""
    ways = ways_of(setting.slots)
    stops: dict[str, list[list[Stop]]] = {way: [] for way in ways}
    lefts: list[list[Left]] = []
    orders = [orders_of(pool, setting.budget, setting.n_repeats, setting.seed) for pool in source.pools]
    for pool, some in zip(source.pools, orders, strict=True):
        costs = costs_of(pool)
        lefts.append([_left(pool, order, costs, plan.ender) for order in some])
        rows: dict[str, list[Stop]] = {way: [] for way in ways}
        for left in lefts[-1]:
            looks = Looks(plan.rule, left.classes, left.confidences)
            for way, found in zip(ways, _stops(looks, left.costs, setting.slots), strict=False):
                rows[way].append(found)
        for way in ways:
            stops[way].append(rows[way])
    whole = np.array(
        [
            [float(costs_of(pool)[order].sum()) for order in some]
            for pool, some in zip(source.pools, orders, strict=True)
        ]
    )
    return {way: _replay(source, lefts, stops[way], whole) for way in ways}


def _left(pool: Pool, order: Ints, costs: Floats, ender: Ender | None) -> Left:
    if ender is None or pool.steps is None:
        return Left(pool.classes[order], pool.confidence[order], costs[order])
    return left_of(pool, order, costs, ender)


def _stops(looks: Looks, costs: Floats, slots: int | None) -> Iterator[Stop]:
    yield one_by_one(looks, costs)
    if slots is not None:
        yield in_rounds(looks, costs, slots)
        yield as_they_finish(looks, costs, slots)


def _replay(
    source: PoolSet, lefts: Sequence[Sequence[Left]], stops: Sequence[Sequence[Stop]], whole: Floats
) -> Replay:
    """Vote on what had finished."""
    classes, confidences, sizes = [], [], []
    for some, found in zip(lefts, stops, strict=True):
        for left, stop in zip(some, found, strict=True):
            classes.append(left.classes[stop.finished])
            confidences.append(left.confidences[stop.finished])
            sizes.append(int(stop.finished.sum()))
    offsets = np.cumsum([0, *sizes])
    elected = elect(np.concatenate(classes), np.concatenate(confidences), offsets, [METHOD])[METHOD].winner
    shape = whole.shape
    answers = elected.reshape(shape)
    right = np.zeros(shape, dtype=np.bool_)
    for row, pool in enumerate(source.pools):
        right[row] = np.append(pool.right_classes, False)[answers[row]]

    def values(field: str) -> Floats:
        return np.array([[float(getattr(stop, field)) for stop in some] for some in stops])

    n_finished = np.array(sizes, dtype=np.float64).reshape(shape)
    spent = values("spent")
    return Replay(right, answers, n_finished, spent, values("lost"), whole, values("n_rounds"))


def _sample(source: PoolSet, values: Floats) -> Sample:
    names = tuple(pool.question for pool in source.pools)
    counts = np.full(values.shape[1], float(len(values)))
    return Sample(source.name, names, values.mean(axis=1), values.sum(axis=0), counts)


def plans_of(setting: Setting) -> list[Plan]:
    """Return what is compared: smaller budgets, and the rules that were asked for."""
    smaller = dict.fromkeys(max(1, round(setting.budget * share)) for share in _BUDGETS)
    found = [Plan(First(n).name, First(n)) for n in smaller if n < setting.budget]
    pools = tuple(pool for source in setting.sets for pool in source.pools)
    return found + [
        plan_named(name) for name in setting.rules or (*RULES, *usual_enders(pools, setting.budget))
    ]


def plan_named(name: str) -> Plan:
    """Return what a name means: a stopping rule, one that ends trajectories, or both as online+gain."""
    first, plus, second = name.partition("+")
    if not is_ender(first):
        rule = stop_rule(name, METHOD)
        return Plan(name if rule is None else rule.name, rule)
    rule = stop_rule(second, METHOD) if plus else None
    return Plan(first if rule is None else f"{first}+{rule.name}", rule, ender_named(first))


def _make(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    whole = {source.name: replay(source, WHOLE, setting)[NUMBERS] for source in setting.sets}
    bare = [source.name for source in setting.sets if any(pool.steps is None for pool in source.pools)]
    names = _names(setting)
    rows: list[dict[str, Cell]] = []
    plans = plans_of(setting)
    for plan in plans:
        sets = [each for each in setting.sets if plan.ender is None or each.name not in bare]
        found = {source.name: replay(source, plan, setting) for source in sets}
        for way in ways_of(setting.slots):
            parts = [(source, found[source.name][way], whole[source.name]) for source in sets]
            rows += [
                _row(names[source.name], plan.name, way, [part], setting)
                for part in parts
                for source in part[:1]
            ]
            if len(parts) > 1:
                rows.append(_row(ALL_RUNS, plan.name, way, parts, setting))
    notes = [f"each rule sees {min(setting.n_repeats, MOST_ORDERS)} orders of every question's trajectories"]
    unknown = [each.name for each in setting.sets if all((costs_of(p) == 1).all() for p in each.pools)]
    if unknown:
        known = "no lengths are known, so that tokens are trajectories: `length` names their column"
        notes.append(f"{', '.join(unknown)}: {known}")
    if bare and any(plan.ender is not None for plan in plans):
        notes.append(
            f"{', '.join(bare)}: no steps are recorded, so that no rule that ends trajectories is replayed"
        )
    return Findings(_tables(setting, rows), _charts(setting, rows), notes)


def _names(setting: Setting) -> dict[str, str]:
    """Return what the sets are called: their models, where that tells them apart."""
    models = [source.model for source in setting.sets]
    is_enough = len(set(models)) == len(models) > 1
    return {source.name: source.model if is_enough else source.name for source in setting.sets}


def _row(
    name: str,
    rule: str,
    way: str,
    parts: Sequence[tuple[PoolSet, Replay, Replay]],
    setting: Setting,
) -> dict[str, Cell]:
    ours = [_sample(source, found.right.astype(np.float64)) for source, found, _ in parts]
    theirs = [_sample(source, whole.right.astype(np.float64)) for source, _, whole in parts]
    row: dict[str, Cell] = {
        "set": name,
        "rule": rule,
        "family": "+".join(part.split(":")[0].split(" ")[0] for part in rule.split("+")),
        "order": way,
    }
    row |= cells("accuracy", estimate(ours, setting.seed))
    between = compare(ours, theirs, setting.seed)
    if between is not None:
        row |= {"to_whole": between.difference, "to_whole_low": between.low, "to_whole_high": between.high}

    def share(mine: str, of: str) -> float:
        sums = [(getattr(found, mine).sum(), getattr(found, of).sum()) for _, found, _ in parts]
        return float(np.mean([part / all_ for part, all_ in sums]))

    row["same"] = float(np.mean([(found.answers == whole.answers).mean() for _, found, whole in parts]))
    row["samples"] = float(np.mean([found.n_finished.mean() for _, found, _ in parts])) / setting.budget
    row["tokens"], row["lost"] = share("spent", "whole"), share("lost", "whole")
    row["per_right"] = _per_right(parts)
    row["rounds"] = float(np.mean([found.n_rounds.mean() for _, found, _ in parts]))
    return row


def _per_right(parts: Sequence[tuple[PoolSet, Replay, Replay]]) -> float | None:
    """Return the tokens for each right answer as a share of those of the whole budget."""
    ours = sum(found.spent.sum() for _, found, _ in parts), sum(found.right.sum() for _, found, _ in parts)
    theirs = sum(whole.whole.sum() for *_, whole in parts), sum(whole.right.sum() for *_, whole in parts)
    return float(ours[0] / ours[1] / (theirs[0] / theirs[1])) if ours[1] and theirs[1] else None


def _tables(setting: Setting, rows: Sequence[dict[str, Cell]]) -> list[Table]:
    """Return the table of all sets together, and that of each if there are several."""
    slots = setting.slots
    columns = (
        Column("rule", "Rule"),
        *((Column("order", "Order"),) if slots is not None else ()),
        Column("tokens", "Tokens", "percent", 1),
        Column("to_whole", "To the whole", "percent", 2, low="to_whole_low", high="to_whole_high"),
        Column("same", "Same", "percent", 1),
        Column("accuracy", "Accuracy", "percent", 2, low="accuracy_low", high="accuracy_high", extra=True),
        Column("samples", "Trajectories", "percent", 1, extra=True),
        Column("per_right", "Tokens for each right answer", "percent", 1, extra=True),
        *((Column("lost", "Lost in progress", "percent", 1, extra=True),) if slots is not None else ()),
        Column("rounds", "Rounds" if slots is not None else "Trajectories begun", "number", 1, extra=True),
    )
    on = "" if slots is None else f" on {count(slots, 'slot')}"
    title = f"What do stopping rules save of {setting.budget} trajectories{on}, and what do they cost?"
    if len(setting.sets) == 1:
        return [Table("stopping", title, columns, tuple(rows))]
    whole = [row for row in rows if row["set"] == ALL_RUNS]
    each = [row for row in rows if row["set"] != ALL_RUNS]
    return [
        Table("stopping", f"{title} All runs together", columns, tuple(whole)),
        Table("stopping-by-run", f"{title} Each run", (Column("set", "Run"), *columns), tuple(each)),
    ]


def _charts(setting: Setting, rows: Sequence[dict[str, Cell]]) -> list[Chart]:
    shown = ALL_RUNS if len(setting.sets) > 1 else _names(setting)[setting.sets[0].name]
    way = ways_of(setting.slots)[min(1, len(ways_of(setting.slots)) - 1)]
    some = [row for row in rows if row["set"] == shown and row["order"] == way]
    order = way if setting.slots is None else f"{way}, {count(setting.slots, 'slot')}"
    some.sort(key=lambda row: (str(row["family"]), float(row["tokens"] or 0.0)))
    return [
        Chart(
            "frontier",
            "Which rule loses least for its tokens?",
            f"{shown}, budget {setting.budget}, {order}; 95% intervals, paired by question",
            "lines",
            Axis("tokens", "Tokens, share of the whole budget's", "percent"),
            Axis("to_whole", "Accuracy less that of the whole budget", "percent"),
            tuple(some),
            series="family",
            low="to_whole_low",
            high="to_whole_high",
        )
    ]


EXPERIMENTS = (
    Experiment(
        "stopping", "What do stopping rules save, and what do they cost?", _make, reads=("lengths", "steps")
    ),
)
