"""Experiments about what was sampled, before any vote: passk, pass1, length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from distrivote.evaluation.drawn import OneAnswer
from distrivote.evaluation.experiments.base import Experiment, Findings, Line, Setting, asks_of, slug
from distrivote.evaluation.experiments.points import column_words, last_column
from distrivote.evaluation.experiments.tables import (
    Measured,
    Paper,
    difference_table,
    line_table,
    measured,
)
from distrivote.evaluation.experiments.whole import WAYS, no_ssc_note, whole_measured
from distrivote.evaluation.metrics import pass_at_k
from distrivote.evaluation.pools import Ints, Pool
from distrivote.evaluation.results import Axis, Chart, Row
from distrivote.evaluation.scoring import Scores
from distrivote.evaluation.studies import Study

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
        notes += no_ssc_note(study)
    return Findings(tables, charts, notes)


# pass@1

_PASS1 = tuple(Line(way.name, OneAnswer(), way.starred, way.name, budget=1) for way in WAYS)


def share_right(pool: Pool) -> float:
    """Return pass@1 of a pool."""
    return float(pool.correct.mean())


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
        title = (
            f"{study.model}: pass@1 over the whole pool; spread over {setting.n_repeats} draws of one answer"
        )
        paper = Paper("pass_at_1", "", "pass@1")
        tables.append(line_table(setting, study, rows, title=title, label="Sampling", paper=paper))
        differences = difference_table(setting, study, rows, _WAY_PAIR)
        tables += [differences] if differences is not None else []
        points += _pass1_points(study, rows)
        notes += no_ssc_note(study)
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

_LENGTHS: tuple[tuple[str, str, str, Callable[[Pool], Ints | None]], ...] = (
    ("steps", "Steps", "-", lambda pool: pool.n_steps),
    ("paragraphs", "Steps by empty lines", "steps", lambda pool: pool.n_paragraphs),
    ("tokens", "Tokens", "tokens", lambda pool: pool.n_tokens),
    ("reflections", "Reflections", "-", lambda pool: pool.n_reflections),
)


def mean_of(counts: Callable[[Pool], Ints | None]) -> Callable[[Pool], float]:
    """Return the mean of some count over a pool's trajectories, NaN where it is not recorded."""

    def value(pool: Pool) -> float:
        found = counts(pool)
        return float("nan") if found is None else float(found.mean())

    return value


def mean_confidence(pool: Pool) -> float:
    """Return the mean confidence of a pool, NaN where there is none."""
    there = np.isfinite(pool.confidence)
    return float(pool.confidence[there].mean()) if there.any() else float("nan")


def _make_length(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    tables, notes = [], []
    for study in setting.studies:
        measures = [(n, words, paper, mean_of(counts)) for n, words, paper, counts in _LENGTHS]
        measures.append(("confidence", "Confidence", "confidence", mean_confidence))
        for name, words, metric, value in measures:
            rows = _known([whole_measured(setting, study, way, way.name, value) for way in WAYS])
            if not rows:
                notes.append(f"{study.model}: these runs do not record {words.lower()}")
                continue
            tables.append(
                line_table(
                    setting,
                    study,
                    rows,
                    title=f"{study.model}: {words.lower()} per trajectory",
                    label="Sampling",
                    name=f"{study.model}-{name}",
                    paper=Paper("response_length", "temperature=0", metric, 1.0),
                    best=None,
                    kind="number",
                    decimals=2,
                )
            )
        notes += no_ssc_note(study)
    notes.append("Runs do not record the time of a trajectory, so no times are shown")
    if setting.published is not None:
        notes.append("The paper's lengths are those of one trajectory per question at temperature 0")
    return Findings(tables, (), notes)


def _known(rows: Sequence[Measured | None]) -> list[Measured]:
    return [
        row
        for row in rows
        if row is not None and any(found.mean is not None for found in row.estimates.values())
    ]


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
