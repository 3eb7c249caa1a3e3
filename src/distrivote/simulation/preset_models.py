"""Named simulations: four models on five benchmarks, fitted to published numbers, and two warnings.

The parameters are in presets.csv, which bench/fit_presets.py writes. A preset reproduces a few published
averages and says nothing more about the model that it is named after.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources

from distrivote.errors import UnknownNameError
from distrivote.simulation.model import Simulation, with_auroc, with_pass1


@dataclass(frozen=True, slots=True)
class Targets:
    """The paper's numbers, as fractions."""

    pass1: float
    sc: float
    """Accuracy of majority voting over 128 trajectories."""

    auroc: float


@dataclass(frozen=True, slots=True)
class Preset:
    """A simulation with a name."""

    name: str
    model: str
    benchmark: str
    n_questions: int
    """As many as the benchmark has."""

    simulation: Simulation
    published: Targets | None = None
    """What it was fitted to."""


@cache
def presets() -> dict[str, Preset]:
    """Return all presets by name.

    >>> presets()["qwen3-8b/aime2025"].published
    Targets(pass1=0.6255, sc=0.7719, auroc=0.739)
    """
    text = resources.files("distrivote.simulation").joinpath("presets.csv").read_text(encoding="utf-8")
    found = [_preset(row) for row in csv.DictReader(text.splitlines())]
    # No question is confidently wrong here, so that the AUROC alone describes the confidences.
    plain = with_pass1(Simulation(hard_share=0.25, confidently_wrong=0.0), 0.65)
    for name, auroc in (("uninformative", 0.5), ("misleading", 0.4)):
        found.append(Preset(name, name, "made-up", 100, with_auroc(plain, auroc)))
    return {preset.name: preset for preset in found}


def presets_named(name: str) -> tuple[Preset, ...]:
    """Return the preset of that name, or all of a model, such as "deepseek-r1-8b".

    >>> [preset.benchmark for preset in presets_named("qwen3-8b")]
    ['hmmt2025', 'gpqa-diamond', 'aime2024', 'aime2025', 'brumo2025']
    """
    if name in presets():
        return (presets()[name],)
    of_model = tuple(preset for preset in presets().values() if preset.name.startswith(f"{name}/"))
    if not of_model:
        models = dict.fromkeys(known.partition("/")[0] for known in presets())
        raise UnknownNameError("preset", name, [*models, *presets()])
    return of_model


def _preset(row: dict[str, str]) -> Preset:
    values = {
        field.name: int(row[field.name]) if field.name == "n_wrong" else float(row[field.name])
        for field in fields(Simulation)
    }
    return Preset(
        row["name"],
        row["model"],
        row["benchmark"],
        int(row["n_questions"]),
        Simulation(**values),  # type: ignore[arg-type]
        Targets(*(float(row[f"published_{name}"]) for name in ("pass1", "sc", "auroc"))),
    )
