"""Experiments about steps of trajectories: trace, top-k-mass, and the threshold over steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from distrivote.evaluation.experiments.base import Experiment, Findings, Setting, slug
from distrivote.evaluation.experiments.tables import Measured, line_table
from distrivote.evaluation.experiments.whole import WAYS, mean_of, sets_of, whole_measured
from distrivote.evaluation.pools import PoolSet, Trace
from distrivote.evaluation.results import Axis, Chart, Column, Row, Rule, Table
from distrivote.evaluation.scoring import Scores
from distrivote.evaluation.studies import PUBLISHED_SETTINGS, Study
from distrivote.steering import thresholds
from distrivote.trajectory import Interventions

_TOKENS, _CONFIDENCE = Axis("token", "Token", "whole"), Axis("confidence", "Confidence")


class Spot(NamedTuple):
    """The position of a trajectory: the same one in runs with the same seed."""

    question: str
    sample: int

    @property
    def words(self) -> str:
        return f"trajectory {self.sample + 1} of question {self.question}"


def _taus(trace: Trace, each: PoolSet) -> Sequence[float]:
    """Return the threshold after each step of a set's trajectory."""
    steps = (tuple(trace.step_ends.tolist()), tuple(trace.step_confidences.tolist()))
    record = Interventions((), *steps, trace.unfinished)
    return thresholds(record, _number(each, "alpha"), _number(each, "delta"))


def _course(trace: Trace, values: Sequence[float], series: str) -> Iterator[Row]:
    for end, value in zip(trace.step_ends.tolist(), values, strict=True):
        yield {"token": end, "confidence": None if value != value else value, "series": series}


def _number(each: PoolSet, name: str) -> float:
    value = each.settings.get(name, PUBLISHED_SETTINGS[name])
    return float(value) if isinstance(value, (int, float)) else 0.8


# One trajectory


def _make_trace(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    tables, charts, notes = [], [], []
    for study in setting.studies:
        for bench in study.benches:
            sets = {
                way.name: setting.arm(source)
                for way in WAYS
                if (source := bench.which(way.starred)) is not None
            }
            traces = {name: _by_spot(each) for name, each in sets.items()}
            spot = _most_reflected(list(traces.values()))
            if spot is None:
                notes.append(f"{study.model} on {bench.benchmark}: no steps are recorded, so none are shown")
                continue
            shown = {name: found[spot] for name, found in traces.items()}
            name = f"{slug(study.model)}-{slug(bench.benchmark)}"
            tables.append(_trace_table(name, f"{study.model} on {bench.benchmark}", spot, shown))
            charts.append(_trace_chart(name, study, spot, shown, sets))
            if not any(len(trace.reflections) for trace in shown.values()):
                notes.append(f"{study.model} on {bench.benchmark}: no trajectory that was looked at reflects")
            if setting.has_starred and "SelfStepConf" not in shown:
                notes.append(f"{study.model} on {bench.benchmark}: no SelfStepConf run to show beside")
    return Findings(tables, charts, notes)


def _by_spot(each: PoolSet) -> dict[Spot, Trace]:
    return {Spot(trace.question, trace.sample): trace for trace in each.traces}


def _most_reflected(traces: Sequence[Mapping[Spot, Trace]]) -> Spot | None:
    """Return the common trajectory with the most reflections in the last set; on a tie the longest."""
    if not traces:
        return None
    shared = [spot for spot in traces[-1] if all(spot in one for one in traces)]
    last = traces[-1]
    return max(
        shared, key=lambda spot: (len(last[spot].reflections), len(last[spot].step_ends)), default=None
    )


def _trace_table(name: str, where: str, spot: Spot, shown: Mapping[str, Trace]) -> Table:
    rows: list[Row] = [
        {
            "method": way,
            "steps": len(trace.step_ends),
            "tokens": int(trace.step_ends[-1]),
            "reflections": len(trace.reflections),
            "confidence": None
            if np.isnan(trace.step_confidences).all()
            else float(np.nanmean(trace.step_confidences)),
        }
        for way, trace in shown.items()
    ]
    columns = (
        Column("method", "Sampling"),
        Column("steps", "Steps", "whole", 0),
        Column("tokens", "Tokens", "whole", 0),
        Column("reflections", "Reflections", "whole", 0),
        Column("confidence", "Mean step confidence", "number", 3),
    )
    return Table(name, f"{where}: {spot.words}", columns, tuple(rows))


def _trace_chart(
    name: str, study: Study, spot: Spot, shown: Mapping[str, Trace], sets: Mapping[str, PoolSet]
) -> Chart:
    rows: list[Row] = []
    for way, trace in shown.items():
        rows += _course(trace, trace.step_confidences.tolist(), way)
    way, trace = list(shown.items())[-1]
    rows += _course(trace, _taus(trace, sets[way]), f"threshold of {way}")
    return Chart(
        name,
        "Where does confidence drop, and what does a reflection do?",
        f"{study.model}, {spot.words}",
        "steps",
        _TOKENS,
        _CONFIDENCE,
        tuple(rows),
        series="series",
        rules=tuple(Rule("reflection", float(at)) for at in trace.reflections.tolist()),
    )


def alpha_course(sets: Sequence[PoolSet], model: str) -> Chart | None:
    """Return the threshold over one trajectory of each of the runs with different alpha."""
    traces = [_by_spot(each) for each in sets]
    spot = _most_reflected(traces)
    if spot is None:
        return None
    rows: list[Row] = []
    for each, found in zip(sets, traces, strict=True):
        rows += _course(found[spot], _taus(found[spot], each), f"alpha = {_number(each, 'alpha'):g}")
    return Chart(
        f"{slug(model)}-threshold",
        "How does the threshold follow the steps?",
        f"{model}, {spot.words} in each run",
        "steps",
        _TOKENS,
        Axis("confidence", "Threshold"),
        tuple(rows),
        series="series",
    )


# Probability in the top k


_MASSES = {
    "mean share": mean_of(lambda pool: pool.top_mass),
    "tokens above 99%": mean_of(lambda pool: pool.top_mass_99),
}


def _make_top_mass(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    tables, notes = [], []
    for study in setting.studies:
        rows: list[Measured] = []
        for way in WAYS:
            if not any(
                pool.top_mass is not None for each in sets_of(setting, study, way) for pool in each.pools
            ):
                continue
            for label, value in _MASSES.items():
                row = whole_measured(setting, study, way, f"{way.name}, {label}", value)
                rows += [row] if row is not None else []
        if not rows:
            notes.append(f"{study.model}: these runs did not keep the log-probabilities of the top k")
            continue
        title = f"{study.model}: probability of the k most probable tokens"
        tables.append(line_table(setting, study, rows, title=title, label="Sampling", best=None))
    if setting.published is not None:
        notes.append("The paper: at over 99.7% of tokens the 20 most probable have more than 99%")
    return Findings(tables, (), notes)


EXPERIMENTS = (
    Experiment(
        "trace",
        "Where does confidence drop, and what does a reflection do?",
        _make_trace,
        reads=("traces",),
    ),
    Experiment("top-k-mass", "How much do the top k leave out?", _make_top_mass, reads=("top-mass",)),
)
