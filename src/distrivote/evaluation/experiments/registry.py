"""The experiments by name."""

from __future__ import annotations

from collections.abc import Iterable

from distrivote.errors import UnknownNameError
from distrivote.evaluation.experiments import sampling, splits, sweeps, voting
from distrivote.evaluation.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each
    for each in (*voting.EXPERIMENTS, *splits.EXPERIMENTS, *sweeps.EXPERIMENTS, *sampling.EXPERIMENTS)
}


def experiments_named(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names, each once; UnknownNameError lists the nearest ones."""
    found = {}
    for name in names:
        if name not in EXPERIMENTS:
            raise UnknownNameError("experiment", name, EXPERIMENTS)
        found[name] = EXPERIMENTS[name]
    return tuple(found.values())
