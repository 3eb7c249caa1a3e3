"""The experiments by name."""

from __future__ import annotations

from collections.abc import Iterable

from distrivote.errors import UnknownNameError
from distrivote.evaluation.experiments import (
    answers,
    calibration,
    confidence,
    leaderboard,
    methods,
    sampling,
    separation,
    settings,
    splits,
    steps,
    stopping,
    sweeps,
    thresholds,
    trust,
    voting,
)
from distrivote.evaluation.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each
    for each in (
        *voting.EXPERIMENTS,
        *methods.EXPERIMENTS,
        *leaderboard.EXPERIMENTS,
        *splits.EXPERIMENTS,
        *sweeps.EXPERIMENTS,
        *thresholds.EXPERIMENTS,
        *separation.EXPERIMENTS,
        *confidence.EXPERIMENTS,
        *answers.EXPERIMENTS,
        *sampling.EXPERIMENTS,
        *steps.EXPERIMENTS,
        *settings.EXPERIMENTS,
        *trust.EXPERIMENTS,
        *calibration.EXPERIMENTS,
        *stopping.EXPERIMENTS,
    )
}


def experiments_named(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names, each once; UnknownNameError lists the nearest ones."""
    found = {}
    for name in names:
        if name not in EXPERIMENTS:
            raise UnknownNameError("experiment", name, EXPERIMENTS)
        found[name] = EXPERIMENTS[name]
    return tuple(found.values())


def reads_of(experiments: Iterable[Experiment]) -> tuple[str, ...]:
    """Return what these experiments read besides answers and confidences, for `load_pool_sets`."""
    return tuple(dict.fromkeys(what for each in experiments for what in each.reads))
