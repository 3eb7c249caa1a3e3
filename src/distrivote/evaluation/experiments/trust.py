"""Can confidence be trusted? Majority voting, DistriVoting and `auto` compared on any run.

For every pool set and several budgets: how often each is right, how far `auto` is from both on the same
questions and draws, how many questions it wins and loses against the majority, and the trust that it learned.
The last budget is all trajectories of each question, voted on once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distrivote.evaluation.estimates import Sample, compare, estimate
from distrivote.evaluation.experiments.base import ALL_RUNS, Experiment, Findings, Setting, cells, slug
from distrivote.evaluation.experiments.tables import budget_words
from distrivote.evaluation.pools import Flags, PoolSet
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Scores, has_confidence
from distrivote.evaluation.winners import WHOLE_RUN, Votes, votes_of

WAYS = {"sc": "SC", "dis-gmm": "DIS-GMM", "auto": "auto, one question", WHOLE_RUN: WHOLE_RUN}
"""What is compared -> the labels in tables."""

_BUDGETS = (16, 32, 64)
ALL = "all"
"""The budget that is all trajectories of each question."""


class Trial(NamedTuple):
    """One pool set at one budget, or several together."""

    name: str
    budget: int | None
    """None: all trajectories of each question."""

    parts: tuple[tuple[PoolSet, Votes], ...]

    @property
    def words(self) -> str:
        return ALL if self.budget is None else str(self.budget)

    @property
    def n_questions(self) -> int:
        return sum(len(source.pools) for source, _ in self.parts)

    def samples(self, way: str) -> list[Sample]:
        """Return how often a way is right, as samples of questions."""
        return [sample_of(source, votes.right(way)) for source, votes in self.parts]

    def lost_and_won(self, way: str) -> tuple[float, float]:
        """Return how many questions only the majority has right, and only this way; means over repeats."""
        lost = won = 0.0
        for _, votes in self.parts:
            ours, theirs = votes.right(way), votes.right("sc")
            lost += float((theirs & ~ours).mean(axis=1).sum())
            won += float((ours & ~theirs).mean(axis=1).sum())
        return lost, won


def sample_of(source: PoolSet, right: Flags) -> Sample:
    """Return how often a vote is right on each question, from (n_questions, n_repeats)."""
    values = right.astype(np.float64)
    names = tuple(pool.question for pool in source.pools)
    counts = np.full(values.shape[1], float(len(values)))
    return Sample(source.name, names, values.mean(axis=1), values.sum(axis=0), counts)


def trials_of(source: PoolSet, budget: int, n_repeats: int, seed: int, *, whole: bool) -> list[Trial]:
    """Return a set's trials: smaller budgets, the budget, and with `whole` all trajectories."""
    budgets: list[int | None] = [each for each in _BUDGETS if each < budget]
    budgets.append(budget)
    if whole:
        budgets.append(None)
    return [
        Trial(source.name, each, ((source, votes_of(source, each, n_repeats, seed)),)) for each in budgets
    ]


def together(trials: Sequence[Trial]) -> list[Trial]:
    """Return a trial of all sets for each budget that they share."""
    by_budget: dict[int | None, list[Trial]] = {}
    for trial in trials:
        by_budget.setdefault(trial.budget, []).append(trial)
    most = max(map(len, by_budget.values()), default=0)
    return [
        Trial(ALL_RUNS, budget, tuple(part for trial in some for part in trial.parts))
        for budget, some in by_budget.items()
        if len(some) == most > 1
    ]


def _make(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    trials: list[Trial] = []
    notes: list[str] = []
    whole = any(pool.n_trajectories != setting.budget for each in setting.sets for pool in each.pools)
    for source in setting.sets:
        if has_confidence(source):
            trials += trials_of(source, setting.budget, setting.n_repeats, setting.seed, whole=whole)
        else:
            notes.append(f"{source.name}: no confidences, so there is nothing to trust")
    if not trials:
        return Findings(notes=notes)
    rows = [row for trial in (*trials, *together(trials)) for row in trial_rows(trial, setting.seed)]
    tables = [_accuracy_table(rows), _difference_table(rows), _learned_table(rows)]
    return Findings(tables, [_chart(setting, rows)], notes)


def trial_rows(trial: Trial, seed: int) -> list[dict[str, Cell]]:
    """Return a row per way: its accuracy, and for `auto` how far it is from the others."""
    found: list[dict[str, Cell]] = []
    for way, label in WAYS.items():
        row: dict[str, Cell] = {
            "set": trial.name,
            "budget": trial.words,
            "method": label,
            "n_questions": trial.n_questions,
        }
        row |= cells("accuracy", estimate(trial.samples(way), seed))
        if way not in ("sc", "dis-gmm"):
            for other in ("sc", "dis-gmm"):
                to, between = f"to_{other}", compare(trial.samples(way), trial.samples(other), seed)
                if between is not None:
                    row |= {to: between.difference, f"{to}_low": between.low, f"{to}_high": between.high}
            row["lost"], row["won"] = trial.lost_and_won(way)
        if way == WHOLE_RUN and len(trial.parts) == 1:
            row["separation"] = trial.parts[0][1].separation
        found.append(row)
    return found


_WHERE = (Column("set", "Run"), Column("budget", "Budget"))


def _accuracy_table(rows: list[dict[str, Cell]]) -> Table:
    """Return a row per set and budget, a column per way."""
    wide: dict[tuple[Cell, Cell], dict[str, Cell]] = {}
    for row in rows:
        key = (row["set"], row["budget"])
        into = wide.setdefault(key, {name: row[name] for name in ("set", "budget", "n_questions")})
        name = slug(str(row["method"]))
        into |= {f"{name}{end}": row[f"accuracy{end}"] for end in ("", "_sd", "_low", "_high")}
    ways = []
    for label in WAYS.values():
        name = slug(label)
        ways.append(Column(name, label, "percent", 2, f"{name}_sd", f"{name}_low", f"{name}_high"))
    columns = (*_WHERE, Column("n_questions", "Questions", "whole", 0), *ways)
    return Table("accuracy", "How often is each right?", columns, tuple(wide.values()))


def _difference_table(rows: list[dict[str, Cell]]) -> Table:
    columns = (
        *_WHERE,
        Column("method", "Method"),
        Column("to_sc", "To SC", "percent", 2, low="to_sc_low", high="to_sc_high"),
        Column("to_dis-gmm", "To DIS-GMM", "percent", 2, low="to_dis-gmm_low", high="to_dis-gmm_high"),
        Column("lost", "Questions lost to SC", "number", 2),
        Column("won", "Won", "number", 2),
    )
    some = tuple(_only(row, columns) for row in rows if "lost" in row)
    title = "How far is auto from majority voting and from DistriVoting? Paired by question and draw"
    return Table("differences", title, columns, some)


def _learned_table(rows: list[dict[str, Cell]]) -> Table:
    words = "By how many standard deviations right answers are surer, learned without labels"
    columns = (*_WHERE, Column("separation", words, "number", 2))
    some = tuple(_only(row, columns) for row in rows if "separation" in row)
    return Table("separation", "What are the confidences of a run worth?", columns, some)


def _only(row: Row, columns: tuple[Column, ...]) -> Row:
    ends = [end for column in columns for end in (column.low, column.high) if end is not None]
    return {name: row.get(name) for name in (*(column.name for column in columns), *ends)}


def _chart(setting: Setting, rows: list[dict[str, Cell]]) -> Chart:
    largest = str(setting.budget)
    short = _short_names(setting.sets)
    some = [row | {"run": short.get(str(row["set"]), row["set"])} for row in rows if row["budget"] == largest]
    return Chart(
        "trust",
        "Does auto keep the gain of confidence, and never pay for it?",
        f"{budget_words(setting)}; 95% intervals over questions",
        "points",
        Axis("run", "Run", "text"),
        Axis("accuracy", "Voting accuracy", "percent"),
        tuple(some),
        series="method",
        low="accuracy_low",
        high="accuracy_high",
    )


def _short_names(sets: Sequence[PoolSet]) -> dict[str, str]:
    """Return names that distinguish the sets: the model or the benchmark if that is enough."""
    for words in ([each.model for each in sets], [each.benchmark for each in sets]):
        if len(set(words)) == len(sets):
            return {each.name: word for each, word in zip(sets, words, strict=True)}
    return {each.name: each.name for each in sets}


EXPERIMENTS = (Experiment("trust", "Is confidence to be trusted?", _make),)
