"""Experiments with methods over a range of one parameter: budget, intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from distrivote.evaluation.experiments.base import Experiment, Findings, Line, Setting, line, slug
from distrivote.evaluation.experiments.points import column_words, last_column, point
from distrivote.evaluation.experiments.tables import (
    Measured,
    Paper,
    line_table,
    measured,
    missing_notes,
    published_value,
)
from distrivote.evaluation.results import Axis, Chart, Row
from distrivote.evaluation.scoring import Ask, Scores
from distrivote.evaluation.studies import Study
from distrivote.nouns import count

BUDGETS = (8, 16, 32, 64, 128, 256)
BUDGET_METHODS = ("WSC-Top50", "WSC-GMM", "WSC-GMM*", "DIS-Top50", "DIS-GMM", "DIS-GMM*")

INTERVALS = tuple(range(1, 21))
INTERVAL_METHODS = ("DIS-Top50", "DIS-GMM", "DIS-GMM*")
INTERVAL_TOPS = (10, 30, 50, 70, 90)


def _method(label: str) -> str:
    return label.removesuffix("*").lower()


class Entry(NamedTuple):
    """One method at one value of the parameter."""

    line: Line
    series: str
    x: int
    paper: Paper | None


@dataclass(frozen=True, slots=True)
class Sweep:
    """Methods over a range of one parameter: a table, and lines over the parameter."""

    name: str
    title: str
    axis: Axis
    entries: Callable[[Setting, Study], Sequence[Entry]]
    budget: Callable[[Setting, Study], int | None] = lambda setting, _study: setting.budget
    """Of all its entries; None if they have different ones."""

    def asks(self, setting: Setting) -> Iterator[Ask]:
        for study in setting.studies:
            entries = self.entries(setting, study)
            for bench in study.benches:
                for entry in entries:
                    source = bench.which(entry.line.starred)
                    if source is not None:
                        yield entry.line.ask(setting, source)

    def make(self, setting: Setting, scores: Scores) -> Findings:
        tables, charts, notes = [], [], []
        for study in setting.studies:
            entries = self.entries(setting, study)
            lines = [entry.line for entry in entries]
            rows = measured(setting, scores, study, lines)
            notes += missing_notes(setting, rows, study, lines)
            if not rows:
                continue
            where = {entry.line.label: entry for entry in entries}
            papers = {label: entry.paper for label, entry in where.items() if entry.paper is not None}
            title = f"{study.model}: {self.title[0].lower()}{self.title[1:]} ({self._words(setting, study)})"
            name = f"{study.model}-{self.name}"
            tables.append(line_table(setting, study, rows, title=title, name=name, settings=papers))
            charts.append(self._chart(setting, study, rows, where))
        return Findings(tables, charts, notes)

    def _words(self, setting: Setting, study: Study) -> str:
        budget = self.budget(setting, study)
        repeats = count(setting.n_repeats, "repeat")
        return repeats if budget is None else f"{count(budget, 'trajectory')}, {repeats}"

    def _chart(
        self, setting: Setting, study: Study, rows: Sequence[Measured], where: dict[str, Entry]
    ) -> Chart:
        column = last_column(study)
        fields: list[Row] = []
        for row in rows:
            entry = where[row.line.label]
            found = row.estimates.get(column)
            if found is not None:
                fields.append(point(entry.x, entry.series, found.mean, found.low, found.high))
            value = published_value(setting, study, entry.paper, row.line.paper, column)
            if value is not None:
                fields.append(point(entry.x, entry.series, value, None, None, published=True))
        return Chart(
            f"{slug(study.model)}-{self.name}",
            self.title,
            f"{study.model}, {column_words(column)}, {self._words(setting, study)};"
            " 95% intervals over questions",
            "lines",
            self.axis,
            Axis("accuracy", "Voting accuracy", "percent"),
            tuple(fields),
            series="series",
            low="low",
            high="high",
            published="published",
        )


def _experiment(
    name: str,
    title: str,
    *sweeps: Sweep,
    also: Callable[[Setting, Study], list[str]] = lambda _setting, _study: [],
) -> Experiment:
    def make(setting: Setting, scores: Scores) -> Findings:
        found = [sweep.make(setting, scores) for sweep in sweeps]
        more = [note for study in setting.studies for note in also(setting, study)]
        return Findings(
            [table for each in found for table in each.tables],
            [chart for each in found for chart in each.charts],
            [note for each in found for note in each.notes] + more,
        )

    return Experiment(name, title, make, lambda setting: (a for sweep in sweeps for a in sweep.asks(setting)))


def _budget_entries(setting: Setting, study: Study) -> list[Entry]:
    reach = setting.reach(study)
    return [
        Entry(
            line(
                f"{label} at {budget}",
                _method(label),
                paper=label,
                budget=budget,
                starred=label.endswith("*"),
            ),
            label,
            budget,
            Paper("budget_ablation", f"budget={budget}"),
        )
        for label in BUDGET_METHODS
        for budget in BUDGETS
        if budget <= reach
    ]


def _budget_notes(setting: Setting, study: Study) -> list[str]:
    reach = setting.reach(study)
    beyond = [str(budget) for budget in BUDGETS if budget > reach]
    if not beyond:
        return []
    return [
        f"{study.model}: budgets of {', '.join(beyond)} are left out, since a question has only {reach}"
        " trajectories"
    ]


def _intervals(n: int) -> str:
    return f"{n} interval{'s' if n > 1 else ''}"


def _interval_entries(_setting: Setting, _study: Study) -> list[Entry]:
    return [
        Entry(
            line(
                f"{label}, {_intervals(n)}",
                f"{_method(label)}:intervals={n}",
                paper=label,
                starred=label.endswith("*"),
            ),
            label,
            n,
            Paper("sensitivity_intervals", f"intervals={n}"),
        )
        for label in INTERVAL_METHODS
        for n in INTERVALS
    ]


def _interval_top_entries(_setting: Setting, _study: Study) -> list[Entry]:
    return [
        Entry(
            line(f"top {top}%, {_intervals(n)}", f"hier-top{top}:intervals={n}"),
            f"top {top}%",
            n,
            None,
        )
        for top in INTERVAL_TOPS
        for n in INTERVALS
    ]


_INTERVALS = Axis("x", "Intervals", "whole")

EXPERIMENTS = (
    _experiment(
        "budget",
        "What does a larger budget buy?",
        Sweep(
            "budget",
            "What does a larger budget buy?",
            Axis("x", "Budget (trajectories)", "whole", log=True),
            _budget_entries,
            lambda _setting, _study: None,
        ),
        also=_budget_notes,
    ),
    _experiment(
        "intervals",
        "Does the number of intervals matter?",
        Sweep("intervals", "Does the number of intervals matter?", _INTERVALS, _interval_entries),
        Sweep(
            "intervals-by-threshold",
            "Does the number of intervals matter less when more is kept?",
            _INTERVALS,
            _interval_top_entries,
        ),
    ),
)
