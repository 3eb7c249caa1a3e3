"""Experiments about confidences themselves: other measures, and sorted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from distrivote.evaluation.drawn import Voting
from distrivote.evaluation.estimates import Sample, estimate
from distrivote.evaluation.experiments.base import (
    Experiment,
    Findings,
    Line,
    Setting,
    cell_column,
    cells,
    samples_of,
    slug,
)
from distrivote.evaluation.experiments.points import column_words, last_column
from distrivote.evaluation.experiments.tables import budget_words, near_the_best
from distrivote.evaluation.experiments.whole import WAYS, no_ssc_note, sets_of, voters, whole_measured
from distrivote.evaluation.metrics import auroc, weighted_accuracy
from distrivote.evaluation.pools import Pool
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Ask, Scores, confidence_of, has_confidence
from distrivote.evaluation.studies import Study
from distrivote.voting.methods import parse_method

# Other measures of confidence

_METHODS = ("wsc", "bon", "wsc-gmm", "dis-gmm")


def _measures(setting: Setting, study: Study) -> list[str]:
    """Return the measures that every plain set of a study has."""
    sources = [setting.arm(source) for source in study.sources(starred=False)]
    if not sources:
        return []
    names = dict.fromkeys(name for pool in sources[0].pools for name in pool.measures)
    return [name for name in names if all(has_confidence(each, name) for each in sources)]


def _measure_line(method: str, measure: str) -> Line:
    return Line(measure, Voting(parse_method(method)), confidence=measure)


def _measure_asks(setting: Setting) -> Iterator[Ask]:
    for study in setting.studies:
        for measure in _measures(setting, study):
            for source in study.sources(starred=False):
                for method in _METHODS:
                    yield _measure_line(method, measure).ask(setting, source)


def _make_measures(setting: Setting, scores: Scores) -> Findings:
    tables, charts, notes = [], [], []
    for study in setting.studies:
        names = _measures(setting, study)
        if not names:
            notes.append(f"{study.model}: no plain run with other measures of confidence")
            continue
        samples = [_measure_samples(setting, scores, study, name) for name in names]
        rows = [_measure_row(setting, *one) for one in zip(names, samples, strict=True)]
        for field in ("auroc", "wacc", *_METHODS):
            near = near_the_best([some.get(field) for some in samples], setting.seed)
            for row, close in zip(rows, near, strict=True):
                row[f"{field}_near"] = close
        columns = [Column("measure", "Measure")]
        for field, label, percent in (
            ("auroc", "AUROC within questions", False),
            ("wacc", "WAcc", True),
            *((method, method, True) for method in _METHODS),
        ):
            columns.append(cell_column(field, label) if percent else cell_column(field, label, "number", 4))
        title = (
            f"{study.model}: every measure of confidence, {column_words(last_column(study))}"
            f" ({budget_words(setting)})"
        )
        tables.append(Table(slug(study.model), title, tuple(columns), tuple(rows)))
        charts.append(
            Chart(
                f"{slug(study.model)}-measures",
                "Which measure of confidence separates best?",
                f"{study.model}, {column_words(last_column(study))}; 95% intervals over questions",
                "points",
                Axis("measure", "Measure", "text"),
                Axis("auroc", "AUROC within questions"),
                tuple(rows),
                low="auroc_low",
                high="auroc_high",
            )
        )
    return Findings(tables, charts, notes)


def _measure_samples(setting: Setting, scores: Scores, study: Study, measure: str) -> dict[str, list[Sample]]:
    column, basic = last_column(study), WAYS[0]

    def separation(pool: Pool) -> float:
        return float(auroc(*voters(pool, confidence_of(pool, measure)))[0])

    def weighted(pool: Pool) -> float:
        return float(weighted_accuracy(*voters(pool, confidence_of(pool, measure)))[0])

    samples = {}
    for field, value in (("auroc", separation), ("wacc", weighted)):
        found = whole_measured(setting, study, basic, measure, value)
        if found is not None:
            samples[field] = found.samples[column]
    for method in _METHODS:
        drawn = samples_of(setting, scores, study, _measure_line(method, measure))
        if column in drawn:
            samples[method] = drawn[column]
    return samples


def _measure_row(setting: Setting, measure: str, samples: Mapping[str, Sequence[Sample]]) -> dict[str, Cell]:
    row: dict[str, Cell] = {"measure": measure}
    for field in ("auroc", "wacc", *_METHODS):
        row |= cells(field, estimate(samples[field], setting.seed) if field in samples else None)
    return row


# Confidences in order

N_POINTS = 200


def _make_sorted(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    tables, charts, notes = [], [], []
    for study in setting.studies:
        points: list[Row] = []
        rows: list[Row] = []
        for way in WAYS:
            for each in sets_of(setting, study, way):
                values = np.sort(
                    np.concatenate([p.confidence[np.isfinite(p.confidence)] for p in each.pools])
                )
                if not len(values):
                    continue
                at = np.linspace(0.0, 1.0, N_POINTS)
                for place, value in zip(at, np.quantile(values, at), strict=True):
                    points.append(
                        {
                            "place": float(place),
                            "confidence": float(value),
                            "way": way.name,
                            "benchmark": each.benchmark,
                        }
                    )
                rows.append(
                    {
                        "benchmark": each.benchmark,
                        "method": way.name,
                        "n": len(values),
                        "mean": float(values.mean()),
                        "median": float(np.median(values)),
                        "p10": float(np.quantile(values, 0.1)),
                        "p90": float(np.quantile(values, 0.9)),
                    }
                )
        if not points:
            notes.append(f"{study.model}: no confidences to sort")
            continue
        rows.sort(key=lambda row: str(row["benchmark"]))
        columns = (
            Column("benchmark", "Benchmark"),
            Column("method", "Sampling"),
            Column("n", "Trajectories", "whole", 0),
            Column("mean", "Mean confidence", "number", 3),
            Column("median", "Median", "number", 3),
            Column("p10", "10th percentile", "number", 3),
            Column("p90", "90th percentile", "number", 3),
        )
        title = f"{study.model}: confidences of all trajectories"
        tables.append(Table(slug(study.model), title, columns, tuple(rows)))
        charts.append(
            Chart(
                f"{slug(study.model)}-sorted",
                "Does SelfStepConf make trajectories surer?",
                f"{study.model}, all trajectories of a benchmark in order of confidence",
                "lines",
                Axis("place", "Trajectories in order (0: least sure)", "percent"),
                Axis("confidence", "Confidence"),
                tuple(points),
                series="way",
                facet="benchmark" if len(study.benches) > 1 else None,
            )
        )
        notes += no_ssc_note(setting, study)
    return Findings(tables, charts, notes)


EXPERIMENTS = (
    Experiment(
        "confidence-measures",
        "Which measure of confidence separates best?",
        _make_measures,
        _measure_asks,
        reads=("measures",),
    ),
    Experiment("sorted-confidence", "Does SelfStepConf make trajectories surer?", _make_sorted),
)
