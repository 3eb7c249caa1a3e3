"""Does a budget over questions beat the same budget for each? Replayed on tables of answers; prints JSON.

    python bench/allocation.py [--data build/data] [--most 500] [--each 16 64]

PRS (64 answers of each question) and BoInf are read from --data. For each set: the accuracy of majority
voting with 16 and with 64 trajectories for each question, and with a share of as many spread by
`voting.allocation`, where a question may have up to 64. Orders are drawn at random, the same for all.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from distrivote import Ballot
from distrivote.evaluation.pools import PoolSet
from distrivote.voting.allocation import FIRST, Worth, next_round, round_size, worth
from stopping import table_sets

ROOT = Path(__file__).resolve().parents[1]
MOST = 64
SHARES = {16: (0.6, 0.7, 0.8), 64: (0.3, 0.4, 0.5)}


def spread(classes: np.ndarray, total: int, most: int) -> np.ndarray:
    """Return how many trajectories each question gets of a total, if they come in this order."""
    n = len(classes)
    taken = np.full(n, min(FIRST, most))
    worths: list[Worth | None] = [None] * n
    left = total - int(taken.sum())
    while left > 0:
        for index in range(n):
            if worths[index] is None:
                row = classes[index, : taken[index]]
                labels = tuple(range(int(row.max(initial=-1)) + 1))
                worths[index] = worth(
                    Ballot(row, np.full(len(row), np.nan), labels), most - int(taken[index])
                )
        given = next_round([each for each in worths if each is not None], round_size(left, n))
        if not given.any():
            break
        taken += given
        left -= int(given.sum())
        for index in np.flatnonzero(given):
            worths[index] = None
    return taken


def accuracy(classes: np.ndarray, right: list[np.ndarray], taken: np.ndarray) -> np.ndarray:
    found = np.zeros(len(classes))
    for index, (row, n) in enumerate(zip(classes, taken, strict=True)):
        counts = np.bincount(row[:n][row[:n] >= 0], minlength=1)
        found[index] = counts.max() > 0 and right[index][counts.argmax()]
    return found


def measured(source: PoolSet, eaches: list[int], n_orders: int) -> dict[str, Any]:
    row: dict[str, Any] = {"set": source.name, "questions": len(source.pools)}
    rng = np.random.default_rng(0)
    differences: dict[str, list[np.ndarray]] = {}
    for _ in range(n_orders):
        orders = [rng.permutation(pool.n_trajectories)[:MOST] for pool in source.pools]
        classes = np.array([pool.classes[order] for pool, order in zip(source.pools, orders, strict=True)])
        right = [pool.right_classes for pool in source.pools]
        for each in eaches:
            even = accuracy(classes, right, np.full(len(classes), each))
            differences.setdefault(f"{each} each", []).append(even)
            for share in SHARES[each]:
                total = int(share * each * len(classes))
                taken = spread(classes, total, MOST)
                assert taken.sum() <= total
                ours = accuracy(classes, right, taken)
                differences.setdefault(f"{each}: {share:.0%}", []).append(ours - even)
                less = accuracy(classes, right, np.full(len(classes), max(1, int(share * each))))
                differences.setdefault(f"{each}: even {share:.0%}", []).append(less - even)
                differences.setdefault(f"{each}: used of {share:.0%}", []).append(
                    np.full(len(classes), taken.sum() / (each * len(classes)))
                )
    for name, values in differences.items():
        by_question = np.mean(values, axis=0)
        row[name] = round(100 * float(by_question.mean()), 2)
        if "each" not in name and "used" not in name:
            row[f"{name} ±"] = round(196 * float(by_question.std() / len(by_question) ** 0.5), 2)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=str(ROOT / "build" / "data"))
    parser.add_argument("--most", type=int, default=500, help="questions of a set")
    parser.add_argument("--least", type=int, default=0, help="leave out sets with fewer questions")
    parser.add_argument("--each", type=int, nargs="+", default=[16, 64], choices=list(SHARES))
    parser.add_argument("--orders", type=int, default=1)
    options = parser.parse_args()
    data, found = Path(options.data), []
    tables = ((data / "prs_k64.parquet", ("model", "dataset")), (data / "boinf_aime2024.parquet", ("model",)))
    for path, by in tables:
        if not path.exists():
            print(f"{path.name}: not there, so it is left out", file=sys.stderr)
            continue
        for source in table_sets(path, by, None, options.most):
            if len(source.pools) >= options.least:
                begun = time.perf_counter()
                found.append(measured(source, options.each, options.orders))
                print(f"{source.name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
