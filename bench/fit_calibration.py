"""Fit the calibration that ships: on made-up models that differ in everything and our own runs; prints JSON.

    python bench/fit_calibration.py [--models 400] [--questions 25] [--seed 5] [--run DIR ...]

Every model has its own rates of right answers, share of hard and of confidently wrong questions, popularity
of wrong answers, separation of confidences (from misleading to strong), and number of possible wrong answers:
three, as in multiple choice, or twenty. Pools have 8 to 256 trajectories. The winners of `auto` are fitted.
Our own runs (those in examples/runs, unless --run names others) count a fifth of the whole, however many
questions they have: real, but few and of small models. Each is also judged by a fit without it.
The paper's presets have no part in it: a fit on them is too sharp (see docs/trust.md).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distrivote.evaluation.calibrating import WinnerTable, rows_of
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.reliability import brier_score, calibration_error
from distrivote.simulation.model import Simulation, draw
from distrivote.voting.electorate import Electorate
from distrivote.voting.kernels.evidence import evidence_of
from distrivote.voting.kernels.pools import make_pools
from distrivote.voting.methods import parse_method
from distrivote.voting.probability import Calibration, features, fit
from distrivote.voting.trust import Trust

SIZES = (8, 16, 32, 64, 128, 256)
RUNS = Path(__file__).resolve().parents[1] / "examples" / "runs"
SOURCE = "simulated pools and our own runs"
REAL = 0.2
"""How much our own runs count of the whole."""


def made_up_model(rng: np.random.Generator) -> Simulation:
    hard_share = rng.uniform(0.1, 0.6)
    return Simulation(
        easy_rate=rng.uniform(0.5, 0.95),
        hard_rate=rng.uniform(0.02, 0.3),
        hard_share=hard_share,
        concentration=float(np.exp(rng.uniform(0, 2))),
        confidently_wrong=hard_share * rng.uniform(0, 0.4),
        separation=rng.uniform(-0.3, 2.5),
        n_wrong=int(rng.choice([3, 20])),
        popularity=rng.uniform(0.3, 2.5),
        unanswered=0.02,
        hard_unanswered=0.1,
    )


def winners(n_models: int, n_questions: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features of the winners, whether they are right, and the sizes of their pools."""
    rng = np.random.default_rng(seed)
    rows, rights, sizes = [], [], []
    for index in range(n_models):
        simulation, size = made_up_model(rng), int(rng.choice(SIZES))
        drawn = draw(simulation, n_questions, size, np.random.default_rng(1000 * seed + index))
        pools = make_pools(drawn.classes, drawn.confidences, int(drawn.classes.max()) + 1)
        won = parse_method("auto").decide(Electorate(pools)).winners
        each = np.flatnonzero(won >= 0)
        rows.append(features(evidence_of(pools), Trust())[each, won[each]])
        right = drawn.correct & (drawn.classes == won[:, None])
        rights.append(right.any(axis=1)[each])
        sizes.append(np.full(len(each), size))
    return np.concatenate(rows), np.concatenate(rights), np.concatenate(sizes)


def fitted(simulated: tuple[np.ndarray, np.ndarray], runs: Sequence[WinnerTable]) -> Calibration:
    """Fit to simulated winners and to those of runs, which count `REAL` of the whole."""
    rows, right = simulated
    n = len(right)
    weights = np.ones(n)
    if runs:
        rows = np.concatenate([rows, *(run.features for run in runs)])
        right = np.concatenate([right, *(run.right for run in runs)])
        of_runs = [np.full(len(run.right), n / len(run.right)) for run in runs]
        weights = np.concatenate([(1 - REAL) * weights, *(REAL / len(runs) * each for each in of_runs)])
    return fit(rows, right, fewest=min(SIZES), most=max(SIZES), source=SOURCE, weights=weights)


def measured(calibration: Calibration, rows: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    return quality(calibration.of_features(rows), right)


def quality(p: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    return {
        "n": len(right),
        "ece": round(calibration_error(p, right), 4),
        "brier": round(brier_score(p, right), 4),
        "too_sure_by": round(float(p.mean() - right.mean()), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=400)
    parser.add_argument("--questions", type=int, default=25)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--run", action="append", help="a run of ours; those in examples/runs if not said")
    options = parser.parse_args()
    rows, right, sizes = winners(options.models, options.questions, options.seed)
    paths = options.run or [str(RUNS / name) for name in ("smollm2-basic", "qwen2.5-coder-basic")]
    own = {source.name: rows_of([source]) for source in load_pool_sets(paths, reads=()).pool_sets}
    found = fitted((rows, right), list(own.values()))
    without = {
        name: fitted((rows, right), [run for other, run in own.items() if other != name]) for name in own
    }
    shipped = Calibration()
    others = winners(options.models // 2, options.questions, options.seed + 1)
    document = {
        "fitted": {name: round(getattr(found, name), 3) for name in ("intercept", "evidence", "share")},
        "shipped": {name: getattr(shipped, name) for name in ("intercept", "evidence", "share")},
        "on_what_was_fitted": measured(found, rows, right),
        "by_size": {size: measured(found, rows[sizes == size], right[sizes == size]) for size in SIZES},
        "shipped_on_other_models": measured(shipped, *others[:2]),
        "without_it": {name: measured(without[name], run.features, run.right) for name, run in own.items()},
        "share_of_votes": {name: quality(run.share, run.right) for name, run in own.items()},
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
