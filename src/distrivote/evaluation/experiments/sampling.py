"""Experiments about what was sampled, before any vote: passk, pass1, length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from distrivote.evaluation.drawn import OneAnswer
from distrivote.evaluation.experiments.base import (
    Experiment,
    Findings,
    Line,
    Setting,
    asks_of,
    cells,
    columns_of,
    slug,
)
from distrivote.evaluation.experiments.points import column_words, last_column
from distrivote.evaluation.experiments.tables import (
    GREEDY,
    Measured,
    Paper,
    common_words,
    difference_table,
    line_table,
    measured,
    published_value,
)
from distrivote.evaluation.experiments.whole import LENGTHS, WAYS, no_ssc_note, share_right, whole_measured
from distrivote.evaluation.metrics import pass_at_k
from distrivote.evaluation.pools import Pool
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Scores
from distrivote.evaluation.studies import Study
from distrivote.nouns import count

_WAY_PAIR = (("SelfStepConf", "BasicInference"),)

# pass@k


def _ks(reach: int) -> list[int]:
    """Return 1, 2, 4, ... and the largest k that every question has."""
    ks = [2**i for i in range(reach.bit_length()) if 2**i <= reach]
    return ks if ks[-1] == reach else [*ks, reach]


def _pass_at(k: int) -> Callable[[Pool], float]:
    def value(pool: Pool) -> float:
        return float(pass_at_k(pool.n_trajectories, np.array([pool.correct.sum()]), k)[0])

    return value


def _make_passk(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    tables, charts, notes = [], [], []
    for study in setting.studies:
        rows: list[Measured] = []
        points: list[Row] = []
        column = last_column(study)
        for way in WAYS:
            for k in _ks(setting.reach(study)):
                row = whole_measured(setting, study, way, f"{way.name}, k = {k}", _pass_at(k))
                if row is None:
                    continue
                rows.append(row)
                found = row.estimates.get(column)
                if found is not None:
                    points.append(
                        {"k": k, "way": way.name, "pass": found.mean, "low": found.low, "high": found.high}
                    )
        title = f"{study.model}: pass@k, unbiased over the whole pool"
        tables.append(line_table(setting, study, rows, title=title, label="Sampling", best=None))
        charts.append(
            Chart(
                f"{slug(study.model)}-passk",
                "How often is at least one of k answers right?",
                f"{study.model}, {column_words(column)}; no answer is wrong; 95% intervals over questions",
                "lines",
                Axis("k", "k", "whole", log=True),
                Axis("pass", "pass@k", "percent"),
                tuple(points),
                series="way",
                low="low",
                high="high",
            )
        )
        notes += no_ssc_note(setting, study)
    return Findings(tables, charts, notes)


# pass@1

_PASS1 = tuple(Line(way.name, OneAnswer(), way.starred, way.name, budget=1) for way in WAYS)


def _make_pass1(setting: Setting, scores: Scores) -> Findings:
    """The mean is over the whole pool, the spread over repeats of one trajectory per question."""
    tables, notes = [], []
    points: list[Row] = []
    for study in setting.studies:
        rows = []
        drawn = {row.line.label: row for row in measured(setting, scores, study, _PASS1)}
        for way in WAYS:
            whole = whole_measured(setting, study, way, way.name, share_right)
            if whole is not None:
                estimates = {
                    column: found._replace(sd=drawn[way.name].estimates[column].sd)
                    for column, found in whole.estimates.items()
                }
                rows.append(whole._replace(estimates=estimates))
        draws = f"± over {count(setting.n_repeats, 'draw')} of one answer"
        title = f"{study.model}: pass@1 over the whole pool; {draws}"
        paper = Paper("pass_at_1", "", "pass@1")
        tables.append(line_table(setting, study, rows, title=title, label="Sampling", paper=paper))
        differences = difference_table(setting, study, rows, _WAY_PAIR)
        tables += [differences] if differences is not None else []
        points += _pass1_points(study, rows)
        notes += no_ssc_note(setting, study)
    return Findings(tables, [_pass1_chart(points)] if points else [], notes)


def _pass1_points(study: Study, rows: Sequence[Measured]) -> list[Row]:
    found = ((row.line.label, row.estimates.get(last_column(study))) for row in rows)
    return [
        {"model": study.model, "way": label, "pass": one.mean, "low": one.low, "high": one.high}
        for label, one in found
        if one is not None
    ]


def _pass1_chart(points: Sequence[Row]) -> Chart:
    return Chart(
        "pass1",
        "How often is a single answer right?",
        "Average over all questions of each model; 95% intervals over questions",
        "bars",
        Axis("model", "Model", "text"),
        Axis("pass", "pass@1", "percent"),
        tuple(points),
        series="way",
        low="low",
        high="high",
    )


# Length


_PUBLISHED = {"paragraphs": "steps", "tokens": "tokens", "confidence": "confidence"}
"""The paper's names of its lengths."""


def _make_length(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    tables, notes = [], []
    for study in setting.studies:
        known: dict[str, dict[str, Measured]] = {}
        unknown = []
        for name, length in LENGTHS.items():
            found = {
                way.name: row
                for way in WAYS
                if (row := whole_measured(setting, study, way, way.name, length.value)) is not None
            }
            if any(one.mean is not None for row in found.values() for one in row.estimates.values()):
                known[name] = found
            else:
                unknown.append(length.label.lower())
        if known:
            tables.append(_length_table(setting, study, known))
        if unknown:
            notes.append(f"{study.model}: these runs do not record {', '.join(unknown)}")
        notes += no_ssc_note(setting, study)
    if setting.published is not None:
        notes.append(
            "The paper's lengths are those of one trajectory per question at temperature 0: they stand beside"
            " no run of another temperature"
        )
        notes.append(
            "The paper's times are milliseconds per iteration on its own GPUs: none is put beside ours"
        )
    return Findings(tables, (), notes)


def _length_table(setting: Setting, study: Study, known: Mapping[str, Mapping[str, Measured]]) -> Table:
    """Return a row per benchmark and way of sampling, a column per length."""
    rows: list[dict[str, Cell]] = []
    several = len(study.benches) > 1
    beside = set()
    for column in columns_of(study):
        for way in WAYS:
            if not any(way.name in found and column in found[way.name].estimates for found in known.values()):
                continue
            row: dict[str, Cell] = {"benchmark": study.label(column), "method": way.name}
            for name, found in known.items():
                measured_here = found[way.name].estimates.get(column) if way.name in found else None
                row |= cells(name, measured_here)
                paper = Paper("response_length", GREEDY, _PUBLISHED.get(name, "-"), 1.0)
                value = published_value(setting, study, paper, way.name, column)
                row[f"{name}_paper"] = value
                beside |= {name} if value is not None else set()
            rows.append(row)
    columns = [Column("benchmark", "Benchmark")] if several else []
    columns.append(Column("method", "Sampling"))
    for name in known:
        label = LENGTHS[name].label
        theirs = f"{name}_paper" if name in beside else None
        columns.append(Column(name, label, "number", 2, None, f"{name}_low", f"{name}_high", paper=theirs))
    where = "" if several else f" ({study.label(columns_of(study)[0])})"
    title = f"{study.model}: means per trajectory{where}{common_words(setting, study)}"
    return Table(slug(study.model), title, tuple(columns), tuple(rows))


EXPERIMENTS = (
    Experiment("passk", "How often is at least one of k answers right?", _make_passk),
    Experiment(
        "pass1",
        "How often is a single answer right?",
        _make_pass1,
        lambda setting: asks_of(setting, _PASS1),
    ),
    Experiment("length", "How long are the trajectories?", _make_length, reads=("lengths",)),
)
