"""Is the gain that the rule `gain` expects the gain that the rest of the budget has? Prints a line per look.

    python bench/gains.py [--data build/data] [--questions 300]

Made-up models of bench/fit_calibration.py, and PRS if it is in --data; 64 answers of each question, majority
voting, by counts alone. For the first 8, 16 and 32: the mean expected gain of the rest, and by how much
the answer of all 64 is more often right.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from distrivote.simulation.model import draw
from distrivote.voting.stopping.outlooks import by_counts
from fit_calibration import made_up_model
from stopping import BUDGET, table_sets

N_MODELS = 200


def row(classes: np.ndarray, is_right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return classes numbered in the order of their appearance, and which of these are right."""
    known: dict[int, int] = {}
    numbers = [known.setdefault(each, len(known)) if each >= 0 else -1 for each in classes.tolist()]
    right = np.zeros(BUDGET, dtype=np.bool_)
    right[[n for n, flag in zip(numbers, is_right.tolist(), strict=True) if n >= 0 and flag]] = True
    return np.array(numbers), right


def made_up() -> list[tuple[np.ndarray, np.ndarray]]:
    rng, found = np.random.default_rng(0), []
    for index in range(N_MODELS):
        drawn = draw(made_up_model(rng), 25, BUDGET, np.random.default_rng(index))
        found += [row(*each) for each in zip(drawn.classes, drawn.correct, strict=True)]
    return found


def prs(path: Path, most: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng, found = np.random.default_rng(0), []
    for source in table_sets(path, ("model", "dataset"), None, most):
        for pool in source.pools:
            order = rng.permutation(pool.n_trajectories)[:BUDGET]
            if len(order) == BUDGET:
                found.append(row(pool.classes[order], pool.correct[order]))
    return found


def report(name: str, rows: list[tuple[np.ndarray, np.ndarray]]) -> None:
    rng = np.random.default_rng(0)
    for n in (8, 16, 32):
        expected, found = [], []
        for classes, right in rows:
            seen = classes[:n]
            counts = np.bincount(seen[seen >= 0])
            if not len(counts):
                continue
            silent = np.array([np.count_nonzero(seen < 0)])
            _, later, stays = by_counts(counts[None], silent, BUDGET - n, 64, rng)
            expected.append(float((later - stays).mean()))
            whole = np.bincount(classes[classes >= 0])
            found.append(float(right[whole.argmax()]) - float(right[counts.argmax()]))
        error = 196 * np.std(found) / len(found) ** 0.5
        print(
            f"{name}, first {n}: expected {100 * np.mean(expected):.2f} points,"
            f" found {100 * np.mean(found):.2f} +- {error:.2f} ({len(found)} questions)",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("build") / "data")
    parser.add_argument("--questions", type=int, default=300, help="the most of a set of PRS")
    options = parser.parse_args()
    report("made-up models", made_up())
    path = options.data / "prs_k64.parquet"
    if path.exists():
        report("PRS", prs(path, options.questions))


if __name__ == "__main__":
    main()
