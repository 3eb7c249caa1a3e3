"""How often does the authors' released script elect another answer than the paper's equations? Prints JSON.

    python bench/released.py [--draws 20] [--budget 128] [--seed 0]

On the simulated pools of the paper's main model, DeepSeek-R1-8B, on its five benchmarks with as many
questions as each has: the share of pools where a method has another winner with `:released`, and how often
each of the two is right. The rows with one part alone say where the difference comes from.

The share depends on the pools more than on anything else, so other kinds follow: every preset, pools where a
third of the answers is right and confidence says less and less of it, and pools where all answers and
confidences are chance.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

import distrivote
from distrivote.simulation.model import Drawn, Simulation, draw
from distrivote.simulation.preset_models import presets, presets_named

METHODS = ("wsc-gmm", "hier", "hier-top50", "hier-gmm", "wsc-gmm-reject", "dis-top50", "dis-gmm")


def rights_of(drawn: Drawn, winners: np.ndarray) -> np.ndarray:
    """Return whether the winner of each pool is the right answer."""
    return (drawn.correct & (drawn.classes == winners[:, None])).any(axis=1)


def settled(drawn: Drawn) -> np.ndarray:
    """Return whether one answer has half of a pool's votes or more."""
    most = [np.bincount(classes[classes >= 0], minlength=1).max() for classes in drawn.classes]
    return 2 * np.array(most) >= np.count_nonzero(drawn.classes >= 0, axis=1)


def share_of_others(classes: np.ndarray, confidences: np.ndarray) -> float:
    """Return the share of pools where dis-gmm has another winner as released."""
    winners = distrivote.vote_batch(classes, confidences, ["dis-gmm", "dis-gmm:released"])
    return round(float((winners["dis-gmm"] != winners["dis-gmm:released"]).mean()), 4)


def by_kind(budget: int, seed: int, n_pools: int = 2000) -> dict[str, float | list[float]]:
    """Return the share of pools with another winner of dis-gmm, for other kinds of pools."""

    def simulated(simulation: Simulation) -> float:
        drawn = draw(simulation, n_pools, budget, np.random.default_rng(seed))
        return share_of_others(drawn.classes, drawn.confidences)

    each = sorted(simulated(preset.simulation) for preset in presets().values())
    found: dict[str, float | list[float]] = {"presets, least and most": [each[0], each[-1]]}
    for separation in (2.0, 1.0, 0.0):
        weak = Simulation(easy_rate=0.33, hard_rate=0.1, separation=separation)
        found[f"a third right, right ones {separation:g} deviations surer"] = simulated(weak)
    rng = np.random.default_rng(seed)
    for n_answers in (3, 10):
        shape = (n_pools, budget)
        chance = share_of_others(rng.integers(0, n_answers, shape), rng.normal(14.0, 1.0, shape))
        found[f"chance among {n_answers} answers"] = chance
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="times that each benchmark is simulated")
    parser.add_argument("--budget", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    names = [name for method in METHODS for name in (method, f"{method}:released")]
    others: dict[str, list[np.ndarray]] = {method: [] for method in METHODS}
    rights: dict[str, list[np.ndarray]] = {name: [] for name in names}
    contested: list[np.ndarray] = []
    by_benchmark: dict[str, float] = {}
    for preset in presets_named("deepseek-r1-8b"):
        rng = np.random.default_rng(args.seed)
        drawn = draw(preset.simulation, preset.n_questions * args.draws, args.budget, rng)
        winners = distrivote.vote_batch(drawn.classes, drawn.confidences, names)
        for method in METHODS:
            others[method].append(winners[method] != winners[f"{method}:released"])
        for name in names:
            rights[name].append(rights_of(drawn, winners[name]))
        contested.append(~settled(drawn))
        by_benchmark[preset.benchmark] = round(float(others["dis-gmm"][-1].mean()), 4)
    report = {
        "pools": sum(map(len, others["dis-gmm"])),
        "budget": args.budget,
        "another_winner": {
            name: round(float(np.concatenate(each).mean()), 4) for name, each in others.items()
        },
        "another_winner_of_dis-gmm_by_benchmark": by_benchmark,
        "another_winner_of_dis-gmm_where_no_answer_has_half_of_the_votes": {
            "pools": int(np.concatenate(contested).sum()),
            "share": round(float(np.concatenate(others["dis-gmm"])[np.concatenate(contested)].mean()), 4),
        },
        "another_winner_of_dis-gmm_by_kind_of_pool": by_kind(args.budget, args.seed),
        "right": {name: round(float(np.concatenate(each).mean()), 4) for name, each in rights.items()},
    }
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
