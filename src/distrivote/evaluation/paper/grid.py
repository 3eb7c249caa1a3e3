"""The paper's grid: the runs that its tables need.

A `Stage` is a set of runs that are evaluated together. Sampling and storing are done elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from distrivote.errors import InputError, UnknownNameError
from distrivote.evaluation.experiments.registry import EXPERIMENTS

BENCHMARKS = {"hmmt2025": 30, "gpqa-diamond": 198, "aime2024": 30, "aime2025": 30, "brumo2025": 30}
"""The paper's, in its order, each with its number of questions."""

FEWEST = 16
"""The least trajectories per question of a scaled grid: with fewer a split of confidences is mostly noise."""

DEFAULT_MAX_TOKENS = 32_768
"""The context of most of the paper's models, used for others."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of sampling a benchmark."""

    name: str
    ssc: bool = True
    """Whether SelfStepConf steers."""

    changes: Mapping[str, Any] | None = None
    """Settings of SelfStepConf that differ from the defaults: alpha, delta, reflection, split (by name)."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Runs that are evaluated together."""

    name: str
    arms: tuple[Arm, ...]
    budget: int
    """Trajectories per question."""

    experiments: tuple[str, ...]
    benchmarks: tuple[str, ...] = tuple(BENCHMARKS)
    temperature: float | None = None
    """None: that of the model."""

    top_logprobs: bool = False
    """Whether the log-probabilities of the top k are kept."""


_TENTHS = tuple(tenth / 10 for tenth in range(1, 10))
_HMMT = ("hmmt2025",)
_AT_0 = "temperature-0"
_ALPHAS = tuple(Arm(f"alpha-{alpha}", changes={"alpha": alpha}) for alpha in _TENTHS)
_DELTAS = tuple(Arm(f"delta-{delta}", changes={"delta": delta}) for delta in _TENTHS)
_BOTH = tuple(
    Arm(f"alpha-{alpha}-delta-{delta}", changes={"alpha": alpha, "delta": delta})
    for alpha in _TENTHS
    for delta in _TENTHS
)
_SPLITS = tuple(
    Arm(f"split-{split.replace(':', '-')}", changes={"split": split})
    for split in ("paragraph", "line", "entropy", "window:256", "window:512", "window:1024", "window:2048")
)
_WORDS = tuple(
    Arm(f"reflection-{word}", changes={"reflection": word})
    for word in ("wait", "Wait", "Hmm", "Alternatively")
)
_ARMS = (Arm("plain", ssc=False), Arm("ssc"))

SWEEPS: dict[str, tuple[Stage, ...]] = {
    "alpha-delta": (Stage("alpha-delta", _BOTH, 128, ("alpha-delta",), _HMMT),),
    "alpha": (
        Stage("alpha", _ALPHAS, 128, ("alpha",)),
        Stage(f"alpha-{_AT_0}", _ALPHAS, 1, ("alpha",), _HMMT, 0.0),
    ),
    "delta": (
        Stage("delta", _DELTAS, 128, ("delta",)),
        Stage(f"delta-{_AT_0}", _DELTAS, 1, ("delta",), _HMMT, 0.0),
    ),
    "step-split": (Stage("step-split", _SPLITS, 64, ("step-split",)),),
    "reflection-token": (Stage("reflection-token", _WORDS, 64, ("reflection-token",)),),
    _AT_0: (Stage(_AT_0, _ARMS, 1, ("length", "trace", "top-k-mass"), temperature=0.0, top_logprobs=True),),
}
"""What the paper shows besides its main tables -> the runs that it needs."""

_NEED_OTHER_RUNS = {"top-k-mass", "leaderboard", *SWEEPS}

GRID = Stage("grid", _ARMS, 512, tuple(name for name in EXPERIMENTS if name not in _NEED_OTHER_RUNS))
"""The main tables: five benchmarks, with and without SelfStepConf."""


def stages_named(sweeps: tuple[str, ...], ssc: bool = True) -> tuple[Stage, ...]:
    """Return the stages of some sweeps, or the grid if none are given; `ssc` False keeps only plain arms."""
    for name in sweeps:
        if name not in SWEEPS:
            raise UnknownNameError("sweep", name, SWEEPS)
    stages = tuple(stage for name in dict.fromkeys(sweeps) for stage in SWEEPS[name]) or (GRID,)
    if ssc:
        return stages
    for stage in stages:
        if all(arm.ssc for arm in stage.arms):
            raise InputError(
                f"{stage.name} compares settings of SelfStepConf",
                hint="leave out `ssc=False`",
                argument="ssc",
            )
    return tuple(replace(stage, arms=tuple(arm for arm in stage.arms if not arm.ssc)) for stage in stages)


class Share(NamedTuple):
    """How much of a benchmark is sampled."""

    n_questions: int
    budget: int


def scaled(n_questions: int, budget: int, scale: float) -> Share:
    """Return about `scale` of the work: fewer trajectories per question, and below a floor fewer questions.

    >>> scaled(198, 512, 0.05), scaled(198, 512, 0.01), scaled(30, 1, 0.1)
    (Share(n_questions=198, budget=26), Share(n_questions=63, budget=16), Share(n_questions=3, budget=1))
    """
    check_scale(scale)
    fewest, wanted = min(FEWEST, budget), budget * scale
    if wanted >= fewest:
        return Share(n_questions, round(wanted))
    return Share(max(1, round(n_questions * wanted / fewest)), fewest)


def check_scale(scale: float) -> None:
    if not 0 < scale <= 1:
        raise InputError(f"scale is {scale:g}: give a number above 0, up to 1")
