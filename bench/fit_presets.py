"""Fits the presets of `distrivote simulate` to the published numbers, and prints presets.csv.

    python bench/fit_presets.py src/distrivote/evaluation/paper/published.csv > presets.csv

By parameter, in this order: unanswered from pass@1 and the Acc of stage I, which differ by the trajectories
without an answer; hard_share and easy_rate from SC and pass@1; then, for growing hard_rate and hard_drop,
separation from the AUROC (in closed form) and confidently_wrong from WSC-GMM, until WSC-GMM is met or it
came as close as it gets; last, the scale of all spreads from WAcc - Acc of stage I. The rest is fixed in
`SHAPE`. A line on standard error per preset says how close it came. About three minutes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from distrivote.errors import InputError
from distrivote.simulation.model import Drawn, Simulation, draw, with_auroc, with_pass1
from distrivote.voting.vote import vote_batch

BUDGET = 128
N_QUESTIONS = 12_000
MODELS = {"DeepSeek-R1-8B": "main_results", "Qwen3-8B": "main_results_thinking"}
MODELS |= {"Qwen3-14B": "main_results_thinking", "Qwen3-32B": "main_results"}
BENCHMARKS = {
    "HMMT2025": ("hmmt2025", 30),
    "GPQA-D": ("gpqa-diamond", 198),
    "AIME2024": ("aime2024", 30),
    "AIME2025": ("aime2025", 30),
    "BRUMO2025": ("brumo2025", 30),
}
SHAPE = Simulation(concentration=6.0, level_spread=1.0, popularity=1.5)
N_WRONG = {"GPQA-D": 3}
HARD_TIMES = 4.0
"""How much more often an answer is missing on a hard question than on an easy one; at most 80%."""

HARD_RATES = (0.1, 0.15, 0.2)
FARTHEST = 3.0
"""The largest separation, in spreads."""

DROPS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
CLOSE = 0.004


class Target(NamedTuple):
    """What was published, as fractions."""

    pass1: float
    sc: float
    auroc: float
    wsc_gmm: float
    acc: float
    """Of stage I: over the trajectories with an answer."""

    gain: float
    """WAcc - Acc of stage I."""


def main() -> None:
    published = _published(Path(sys.argv[1]))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    head = ("name", "model", "benchmark", "n_questions", "published_pass1", "published_sc", "published_auroc")
    writer.writerow([*head, *asdict(SHAPE)])
    for model, table in MODELS.items():
        for paper_name, (benchmark, n_questions) in BENCHMARKS.items():
            target = _target(published, model, table, paper_name)
            fitted = fit(target, replace(SHAPE, n_wrong=N_WRONG.get(paper_name, SHAPE.n_wrong)))
            name = f"{model.lower()}/{benchmark}"
            _report(name, target, fitted)
            facts = [f"{value:.6g}" for value in target[:3]]
            values = [f"{value:.6g}" for value in asdict(fitted).values()]
            writer.writerow([name, model, benchmark, n_questions, *facts, *values])
            sys.stdout.flush()


def fit(target: Target, shape: Simulation) -> Simulation:
    """Return the simulation that comes closest."""
    best, miss = shape, np.inf
    for rate in HARD_RATES:
        solved = _solved(target, replace(shape, hard_rate=rate))
        for drop in DROPS:
            found = _rescued(target, replace(solved, hard_drop=drop))
            off = abs(_accuracy(found, "wsc-gmm") - target.wsc_gmm) if found is not None else np.inf
            if found is not None and off < miss - CLOSE / 2:
                best, miss = found, off
            if miss < CLOSE:
                return _scaled(best, target.gain)
    return _scaled(best, target.gain)


def _solved(target: Target, shape: Simulation) -> Simulation:
    """Return the simulation with the published pass@1 and SC."""
    missing = 1 - target.pass1 / target.acc

    def with_hard(share: float) -> Simulation:
        hard_missing = min(0.8, HARD_TIMES * missing / (1 + (HARD_TIMES - 1) * share))
        easy_missing = (missing - share * hard_missing) / (1 - share)
        some = replace(shape, hard_share=share, confidently_wrong=0.0)
        return with_pass1(replace(some, unanswered=easy_missing, hard_unanswered=hard_missing), target.pass1)

    most = _feasible(with_hard, 0.9)
    return with_hard(_bisect(lambda share: _accuracy(with_hard(share), "sc") - target.sc, 0.0, most, 11))


def _rescued(target: Target, solved: Simulation) -> Simulation | None:
    """Return the simulation with the published AUROC and nearly the published WSC-GMM, if there is one."""

    def with_misled(part: float) -> Simulation:
        made = with_auroc(replace(solved, confidently_wrong=part * solved.hard_share), target.auroc)
        if not 0 <= made.separation <= FARTHEST * made.spread_right:
            raise InputError("the Gaussians are too far apart, or the wrong way round")
        return made

    try:
        with_misled(0.0)
    except InputError:
        return None
    most = _feasible(with_misled, 1.0)
    return with_misled(
        _bisect(lambda part: _accuracy(with_misled(part), "wsc-gmm") - target.wsc_gmm, 0.0, most, 6)
    )


def _scaled(simulation: Simulation, gain: float) -> Simulation:
    """Return the simulation with all spreads times what makes WAcc - Acc the published one."""
    drawn = draw(simulation, N_QUESTIONS, BUDGET, np.random.default_rng(2))
    answered = drawn.classes >= 0
    confidences = np.where(answered, drawn.confidences, 0.0)
    some = answered.any(axis=1)
    weighted = (confidences * drawn.correct).sum(axis=1)[some] / confidences.sum(axis=1)[some]
    plain = drawn.correct.sum(axis=1)[some] / answered.sum(axis=1)[some]
    scale = float(np.clip(gain / (weighted - plain).mean(), 0.25, 2.0))
    names = ("level_spread", "hard_drop", "separation", "spread_right", "spread_wrong")
    return replace(simulation, **{name: scale * getattr(simulation, name) for name in names})


def _bisect(excess: Callable[[float], float], low: float, high: float, rounds: int) -> float:
    """Return where a falling function crosses 0, or the nearer end."""
    for _ in range(rounds):
        middle = (low + high) / 2
        if excess(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _feasible(make: Callable[[float], Simulation], high: float) -> float:
    """Return the largest value below `high` (to a thousandth) that makes a simulation; 0 does."""
    low = 0.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        try:
            make(middle)
            low = middle
        except InputError:
            high = middle
    return low


def right_classes(drawn: Drawn) -> np.ndarray:
    """Return the class of the right answer in each pool, -2 where nobody gave it."""
    first = drawn.classes[np.arange(len(drawn.classes)), drawn.correct.argmax(axis=1)]
    return np.where(drawn.correct.any(axis=1), first, -2)


def _accuracy(simulation: Simulation, method: str) -> float:
    n_questions = N_QUESTIONS if method == "sc" else N_QUESTIONS // 4
    drawn = draw(simulation, n_questions, BUDGET, np.random.default_rng(1))
    winners = vote_batch(drawn.classes, drawn.confidences, [method])[method]
    return float((winners == right_classes(drawn)).mean())


def _report(name: str, target: Target, fitted: Simulation) -> None:
    sc, gmm = _accuracy(fitted, "sc"), _accuracy(fitted, "wsc-gmm")
    print(
        f"{name:28} pass@1 {fitted.pass1:.4f} ({target.pass1:.4f})  sc {sc:.4f} ({target.sc:.4f})"
        f"  auroc {fitted.auroc:.4f} ({target.auroc:.4f})  wsc-gmm {gmm:.4f} ({target.wsc_gmm:.4f})"
        f"  easy {fitted.easy_rate:.2f} hard {fitted.hard_share:.2f} misled {fitted.confidently_wrong:.2f}"
        f"  d' {fitted.separation / fitted.spread_right:.2f}"
        f"  drop {fitted.hard_drop / fitted.spread_right:.1f}  spread {fitted.spread_right:.2f}",
        file=sys.stderr,
    )


def _published(path: Path) -> dict[tuple[str, ...], float]:
    keys = ("table", "model", "method", "setting", "benchmark", "metric")
    with open(path, newline="") as file:
        return {tuple(row[key] for key in keys): float(row["value"]) for row in csv.DictReader(file)}


def _target(published: dict[tuple[str, ...], float], model: str, table: str, benchmark: str) -> Target:
    def stage(metric: str) -> float:
        return published["filter_stages", model, "DIS-GMM", "stage=I", benchmark, metric] / 100

    return Target(
        published["pass_at_1", model, "BasicInference", "", benchmark, "pass@1"] / 100,
        published[table, model, "SC", "", benchmark, "voting_accuracy"] / 100,
        published["ssc_distribution", model, "BasicInference", "", benchmark, "AUROC"],
        published[table, model, "WSC-GMM", "", benchmark, "voting_accuracy"] / 100,
        stage("Acc"),
        stage("WAcc") - stage("Acc"),
    )


if __name__ == "__main__":
    main()
