"""Fit the calibration that ships: on pools of made-up models that differ in everything; prints JSON.

    python bench/fit_calibration.py [--models 400] [--questions 25] [--seed 5]

Every model has its own rates of right answers, share of hard and of confidently wrong questions, popularity
of wrong answers, separation of confidences (from misleading to strong), and number of possible wrong answers:
three, as in multiple choice, or twenty. Pools have 8 to 256 trajectories. The winners of `auto` are fitted.
The paper's presets have no part in it: a fit on them is too sharp (see docs/trust.md).
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from distrivote.evaluation.reliability import brier_score, calibration_error
from distrivote.evaluation.simulate import Simulation, draw
from distrivote.voting.kernels.evidence import evidence_of
from distrivote.voting.kernels.pools import make_pools
from distrivote.voting.methods import parse_method
from distrivote.voting.pipeline import Electorate
from distrivote.voting.probability import Calibration, features, fit
from distrivote.voting.trust import Trust

SIZES = (8, 16, 32, 64, 128, 256)


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


def measured(calibration: Calibration, rows: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    p = calibration.of_features(rows)
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
    options = parser.parse_args()
    rows, right, sizes = winners(options.models, options.questions, options.seed)
    found = fit(rows, right, fewest=min(SIZES), most=max(SIZES), source="simulated pools")
    shipped = Calibration()
    others = winners(options.models // 2, options.questions, options.seed + 1)
    document = {
        "fitted": {name: round(getattr(found, name), 3) for name in ("intercept", "evidence", "share")},
        "shipped": {name: getattr(shipped, name) for name in ("intercept", "evidence", "share")},
        "on_what_was_fitted": measured(found, rows, right),
        "by_size": {size: measured(found, rows[sizes == size], right[sizes == size]) for size in SIZES},
        "shipped_on_other_models": measured(shipped, *others[:2]),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
