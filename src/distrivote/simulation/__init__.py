"""Simulated models: trajectories drawn from a distribution, plans by budget, and the paper's bound."""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.simulation.bounds import (
        VoteBound,
        expected_bound,
        tail_ratio,
        tail_ratio_derivative,
        theory,
        vote_accuracy,
    )
    from distrivote.simulation.model import Drawn, Simulation, draw, simulate, with_auroc, with_pass1
    from distrivote.simulation.planning import MeasuredRun, measured, plan, typical
    from distrivote.simulation.preset_models import Preset, presets, presets_named

__all__ = [
    "Drawn",
    "MeasuredRun",
    "Preset",
    "Simulation",
    "VoteBound",
    "draw",
    "expected_bound",
    "measured",
    "plan",
    "presets",
    "presets_named",
    "simulate",
    "tail_ratio",
    "tail_ratio_derivative",
    "theory",
    "typical",
    "vote_accuracy",
    "with_auroc",
    "with_pass1",
]

__getattr__ = face(
    __name__,
    {
        "bounds": "VoteBound expected_bound tail_ratio tail_ratio_derivative theory vote_accuracy",
        "model": "Drawn Simulation draw simulate with_auroc with_pass1",
        "planning": "MeasuredRun measured plan typical",
        "preset_models": "Preset presets presets_named",
    },
)
