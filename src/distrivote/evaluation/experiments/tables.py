"""Tables of lines: a row per method, a column per benchmark, with the paper's numbers.

Shared by all experiments that measure lines on draws.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from distrivote.evaluation.estimates import Estimate, Sample, compare
from distrivote.evaluation.experiments.base import (
    AVERAGE,
    Line,
    Setting,
    cell_column,
    cells,
    columns_of,
    estimates_of,
    samples_of,
    slug,
)
from distrivote.evaluation.paper.published import BENCHMARKS
from distrivote.evaluation.paper.runs import paper_temperature
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Scores
from distrivote.evaluation.studies import Study
from distrivote.nouns import count

GREEDY = "temperature=0"
"""The paper's temperature for tables with one response per question, the most likely."""


class Paper(NamedTuple):
    """Where the paper has a row's numbers."""

    table: str
    setting: str = ""
    metric: str = "voting_accuracy"
    scale: float = 100.0
    """The factor from the paper's unit to ours."""


def published_value(
    setting: Setting, study: Study, paper: Paper | None, method: str | None, column: str
) -> float | None:
    """Return the paper's number; its average only for an average over the same five benchmarks.

    None for samples of another temperature than the paper's.
    """
    if setting.published is None or paper is None or method is None:
        return None
    benches = [bench for bench in study.benches if column in (AVERAGE, bench.benchmark)]
    if column == AVERAGE:
        known = {setting.published.benchmark(bench.benchmark) for bench in benches}
        if known != set(BENCHMARKS):
            return None
    wanted = 0.0 if paper.setting == GREEDY else paper_temperature(study)
    if any(bench.temperature not in (None, wanted) for bench in benches):
        return None
    found = setting.published.find(
        paper.table, study.name, method, paper.setting, column, paper.metric, study.thinking
    )
    return None if found is None else found / paper.scale


def paper_field(name: str, fields: Sequence[dict[str, Cell]], values: Sequence[float | None]) -> str | None:
    """Add the paper's numbers of a column to the rows, and return their field; None if there are none."""
    if all(value is None for value in values):
        return None
    for field, value in zip(fields, values, strict=True):
        field[f"{name}_paper"] = value
    return f"{name}_paper"


def common_words(setting: Setting, study: Study) -> str:
    """Say on how many questions arms are compared, if they have different ones."""
    parts = []
    for bench in study.benches:
        shared = None if bench.basic is None else setting.shared.get(bench.basic)
        if shared is not None:
            parts.append(f"{count(len(shared), 'question')} of {study.label(bench.benchmark)}")
    return f"; on the {' and the '.join(parts)} that both arms have" if parts else ""


class Measured(NamedTuple):
    """One line with its samples and estimates by column."""

    line: Line
    samples: dict[str, list[Sample]]
    estimates: dict[str, Estimate]


def measured_line(
    setting: Setting,
    scores: Scores,
    study: Study,
    line: Line,
    value: str = "correct",
    label: str | None = None,
) -> Measured | None:
    """Return a line with its samples; None if it could be measured nowhere in the study."""
    samples = samples_of(setting, scores, study, line, value)
    if not samples:
        return None
    named = line if label is None else dataclasses.replace(line, label=label)
    return Measured(named, samples, estimates_of(setting, samples))


def measured(
    setting: Setting, scores: Scores, study: Study, lines: Sequence[Line], value: str = "correct"
) -> list[Measured]:
    """Return the lines that could be measured anywhere in the study."""
    found = (measured_line(setting, scores, study, line, value) for line in lines)
    return [row for row in found if row is not None]


def near_the_best(samples: Sequence[Sequence[Sample] | None], seed: int) -> list[bool]:
    """Return for each row whether its difference from the best one is not real."""
    known = []
    for index, some in enumerate(samples):
        values = np.concatenate([sample.questions for sample in some]) if some else np.empty(0)
        values = values[~np.isnan(values)]
        if len(values):
            known.append((float(values.mean()), -index))
    leader = samples[-max(known)[1]] if known else None
    near = []
    for some in samples:
        found = None if some is None or leader is None else compare(some, leader, seed)
        near.append(found is not None and not found.real)
    return near


def line_table(
    setting: Setting,
    study: Study,
    rows: Sequence[Measured],
    *,
    title: str,
    label: str = "Method",
    name: str | None = None,
    paper: Paper | None = None,
    best: Literal["highest", "lowest"] | None = "highest",
    kind: Literal["percent", "number"] = "percent",
    decimals: int = 2,
    settings: Mapping[str, Paper] | None = None,
) -> Table:
    """Return a table with a row per line and a column per benchmark.

    Args:
        settings: Where the paper has the numbers of each line, by its label, if lines differ in that.
    """
    columns = [Column("method", label)]
    fields: list[dict[str, Cell]] = [{"method": row.line.label} for row in rows]
    for column in columns_of(study):
        near = [False] * len(rows)
        if best == "highest":
            near = near_the_best([row.samples.get(column) for row in rows], setting.seed)
        beside = []
        for row, field, close in zip(rows, fields, near, strict=True):
            field |= cells(column, row.estimates.get(column))
            field[f"{column}_near"] = close
            where = (settings or {}).get(row.line.label, paper)
            beside.append(published_value(setting, study, where, row.line.paper, column))
        told = paper_field(column, fields, beside)
        columns.append(cell_column(column, study.label(column), kind, decimals, best=best, paper=told))
    title += common_words(setting, study)
    return Table(slug(name or study.model), title, tuple(columns), tuple(fields))


def difference_table(
    setting: Setting, study: Study, rows: Sequence[Measured], pairs: Sequence[tuple[str, str]]
) -> Table | None:
    """Return which differences between methods are real, over all questions they share."""
    by_label = {row.line.label: row for row in rows}
    fields: list[Row] = []
    for ours, theirs in pairs:
        if ours not in by_label or theirs not in by_label:
            continue
        found = compare(_all_samples(by_label[ours]), _all_samples(by_label[theirs]), setting.seed)
        if found is not None:
            fields.append(
                {
                    "pair": f"{ours} − {theirs}",
                    "difference": found.difference,
                    "difference_low": found.low,
                    "difference_high": found.high,
                    "n_questions": found.n_questions,
                    "real": "yes" if found.real else "no",
                }
            )
    if not fields:
        return None
    columns = (
        Column("pair", "Methods"),
        Column("difference", "Difference", "percent", 2, low="difference_low", high="difference_high"),
        Column("n_questions", "Questions", "whole", 0),
        Column("real", "Real (95%)"),
    )
    return Table(
        f"{slug(study.model)}-differences",
        f"{study.model}: which differences are real? Paired by question and draw",
        columns,
        tuple(fields),
    )


def difference_chart(study: Study, table: Table, kind: Literal["percent", "number"] = "percent") -> Chart:
    """Return the differences of a table with their intervals."""
    n_real = sum(row["real"] == "yes" for row in table.rows)
    return Chart(
        f"{slug(study.model)}-differences",
        "Which differences are real?",
        f"{study.model}: {n_real} of {count(len(table.rows), 'difference')}; the 95% interval leaves out 0",
        "points",
        Axis("pair", "Methods", "text"),
        Axis("difference", "Difference", kind, zero=True),
        table.rows,
        low="difference_low",
        high="difference_high",
    )


def disagreements(
    setting: Setting, study: Study, rows: Sequence[Measured], pairs: Sequence[tuple[str, str]], paper: Paper
) -> list[str]:
    """Return a note for each pair with a real difference here and the opposite order in the paper."""
    by_label = {row.line.label: row for row in rows}
    column = columns_of(study)[-1]
    notes = []
    for ours, theirs in pairs:
        one, other = by_label.get(ours), by_label.get(theirs)
        if one is None or other is None or column not in one.samples or column not in other.samples:
            continue
        found = compare(one.samples[column], other.samples[column], setting.seed)
        values = [published_value(setting, study, paper, row.line.paper, column) for row in (one, other)]
        if found is None or not found.real or values[0] is None or values[1] is None:
            continue
        published = values[0] - values[1]
        if published * found.difference < 0:
            notes.append(
                f"{study.model}, {study.label(column)}: {ours} − {theirs} is {100 * found.difference:+.2f}"
                f" points here, a real difference, and {100 * published:+.2f} in the paper"
            )
    return notes


def _all_samples(row: Measured) -> list[Sample]:
    return [sample for column, some in row.samples.items() if column != AVERAGE for sample in some]


def missing_notes(
    setting: Setting, rows: Sequence[Measured], study: Study, lines: Sequence[Line]
) -> list[str]:
    """Return a note for what a table of lines has to leave out."""
    notes = []
    if setting.has_starred and any(line.starred for line in lines):
        lacking = [bench.benchmark for bench in study.benches if bench.ssc is None]
        if lacking:
            notes.append(
                f"{study.model}: no SelfStepConf run on {', '.join(lacking)}, so the starred rows are left"
                " out there"
            )
    if any(not line.starred for line in lines):
        lacking = [bench.benchmark for bench in study.benches if bench.basic is None]
        if lacking:
            notes.append(
                f"{study.model}: only a SelfStepConf run on {', '.join(lacking)}, so the rows without a star"
                " are left out there"
            )
    there = {row.line.label for row in rows}
    absent = [
        line.label
        for line in lines
        if line.label not in there and any(bench.which(line.starred) is not None for bench in study.benches)
    ]
    if absent:
        notes.append(f"{study.model}: {', '.join(absent)} need confidences, which these runs do not have")
    return notes


def budget_words(setting: Setting) -> str:
    return f"{count(setting.budget, 'trajectory')}, {count(setting.n_repeats, 'repeat')}"
