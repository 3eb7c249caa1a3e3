"""Methods of the user's choice: one table, differences from a baseline, and accuracy over budgets.

Every method votes on the same draws, so differences are paired by question and draw. A question is won if the
method is right on more of its draws than the baseline.
"""

from __future__ import annotations

from collections.abc import Iterator

from distrivote.defaults import METHOD, PAPER_METHOD
from distrivote.evaluation.estimates import compare, differences
from distrivote.evaluation.experiments.base import (
    AVERAGE,
    Experiment,
    Findings,
    Line,
    Setting,
    asks_of,
    cell_column,
    cells,
    line,
    slug,
)
from distrivote.evaluation.experiments.points import column_words, last_column, point
from distrivote.evaluation.experiments.tables import (
    Measured,
    budget_words,
    line_table,
    measured,
    missing_notes,
    near_the_best,
)
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Ask, Scores
from distrivote.evaluation.studies import Study
from distrivote.nouns import count
from distrivote.voting.methods import parse_method

NAME = "methods"
BASELINE = "sc"
USUAL = (PAPER_METHOD, "root", METHOD)
"""The methods that are compared with the baseline by default."""

_ARMS = ("", "*")
"""Without and with SelfStepConf."""


def compared(setting: Setting) -> tuple[str, ...]:
    """Return the names of the methods, the baseline first, each once."""
    asked = (setting.baseline or BASELINE, *(setting.methods or USUAL))
    return tuple(dict.fromkeys(parse_method(name).name for name in asked))


def _lines(setting: Setting) -> list[Line]:
    return [
        line(f"{name}{arm}", name, paper="-", starred=bool(arm))
        for arm in _ARMS
        for name in compared(setting)
    ]


def budgets_of(reach: int) -> list[int]:
    """Return the budgets of the frontier: powers of two up to what every question has, and that.

    >>> budgets_of(12)
    [1, 2, 4, 8, 12]
    """
    return [*(2**n for n in range(20) if 2**n < reach), reach]


def _frontier(setting: Setting, study: Study) -> list[tuple[str, int, Line]]:
    return [
        (f"{name}{arm}", budget, line(f"{name}{arm} at {budget}", name, budget=budget, starred=bool(arm)))
        for arm in _ARMS
        for name in compared(setting)
        for budget in budgets_of(setting.reach(study))
    ]


def _asks(setting: Setting) -> Iterator[Ask]:
    yield from asks_of(setting, _lines(setting))
    for study in setting.studies:
        for bench in study.benches:
            for _, _, each in _frontier(setting, study):
                source = bench.which(each.starred)
                if source is not None:
                    yield each.ask(setting, source)


def _make(setting: Setting, scores: Scores) -> Findings:
    tables: list[Table] = []
    charts, notes = [], []
    for study in setting.studies:
        lines = _lines(setting)
        rows = measured(setting, scores, study, lines)
        notes += missing_notes(
            setting, rows, study, [each for each in lines if _has_arm(study, each.starred)]
        )
        if not rows:
            continue
        words = f"{study.model}: accuracy of each method ({budget_words(setting)})"
        tables.append(line_table(setting, study, rows, title=words))
        against = _differences(setting, study, rows)
        if against is not None:
            tables.append(against)
        over, chart = _over_budgets(setting, scores, study)
        tables.append(over)
        charts.append(chart)
    return Findings(tables, charts, notes)


def _has_arm(study: Study, starred: bool) -> bool:
    return any(bench.which(starred) is not None for bench in study.benches)


def _differences(setting: Setting, study: Study, rows: list[Measured]) -> Table | None:
    """Return each method against the baseline: by how much, and on how many questions it wins and loses."""
    by_label = {row.line.label: row for row in rows}
    fields: list[Row] = []
    baseline = compared(setting)[0]
    for row in rows:
        other = by_label.get(baseline + ("*" if row.line.starred else ""))
        if other is None or other is row:
            continue
        ours, theirs = (
            [sample for column, some in each.samples.items() if column != AVERAGE for sample in some]
            for each in (row, other)
        )
        found = compare(ours, theirs, setting.seed)
        if found is None:
            continue
        # A benchmark without any confidence has the baseline and not the method.
        gaps = differences(ours, theirs)
        fields.append(
            {
                "method": row.line.label,
                "difference": found.difference,
                "difference_low": found.low,
                "difference_high": found.high,
                "n_won": int((gaps > 0).sum()),
                "n_lost": int((gaps < 0).sum()),
                "n_equal": int((gaps == 0).sum()),
                "real": "yes" if found.real else "no",
            }
        )
    if not fields:
        return None
    columns = (
        Column("method", "Method"),
        Column(
            "difference",
            f"Difference from {baseline}",
            "percent",
            2,
            low="difference_low",
            high="difference_high",
        ),
        Column("n_won", "Questions won", "whole", 0),
        Column("n_lost", "Lost", "whole", 0),
        Column("n_equal", "Equal", "whole", 0),
        Column("real", "Real (95%)"),
    )
    title = f"{study.model}: differences from {baseline}, paired by question and draw"
    return Table(f"{slug(study.model)}-against-{slug(baseline)}", title, columns, tuple(fields))


def _over_budgets(setting: Setting, scores: Scores, study: Study) -> tuple[Table, Chart]:
    """Return the accuracy of every method at every budget, over all questions of a study."""
    column = last_column(study)
    entries = _frontier(setting, study)
    found = {row.line.label: row for row in measured(setting, scores, study, [each for *_, each in entries])}
    budgets = budgets_of(setting.reach(study))
    fields: dict[str, dict[str, Cell]] = {}
    points: list[Row] = []
    for label, budget, each in entries:
        row = found.get(each.label)
        if row is None or column not in row.estimates:
            continue
        value = row.estimates[column]
        fields.setdefault(label, {"method": label}).update(cells(f"at_{budget}", value))
        points.append(point(budget, label, value.mean, value.low, value.high))
    for budget in budgets:
        some = [found.get(f"{label} at {budget}") for label in fields]
        near = near_the_best([None if row is None else row.samples.get(column) for row in some], setting.seed)
        for row_fields, close in zip(fields.values(), near, strict=True):
            row_fields[f"at_{budget}_near"] = close
    repeats = count(setting.n_repeats, "repeat")
    columns = (Column("method", "Method"), *(cell_column(f"at_{each}", f"N = {each}") for each in budgets))
    table = Table(
        f"{slug(study.model)}-budgets",
        f"{study.model}: accuracy over budgets, {column_words(column)} ({repeats})",
        columns,
        tuple(fields.values()),
    )
    chart = Chart(
        f"{slug(study.model)}-budgets",
        "How does accuracy grow with the budget?",
        f"{study.model}, {column_words(column)}, {repeats}; 95% intervals over questions",
        "lines",
        Axis("x", "Budget (trajectories)", "whole", log=True),
        Axis("accuracy", "Voting accuracy", "percent"),
        tuple(points),
        series="series",
        low="low",
        high="high",
        published="published",
    )
    return table, chart


EXPERIMENTS = (Experiment(NAME, "Which of the methods that you name is right most often?", _make, _asks),)
