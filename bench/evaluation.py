"""How long do the paper's tables take? Prints JSON.

    python bench/evaluation.py [--questions 318] [--workers 2] [--sample 4]

`main`, `components`, `budget`, `intervals`, `top-threshold` and `stages` in one call of `evaluate`, over
318 questions x 512 trajectories, 64 repeats, in a fresh process; beside it the same votes as most scripts
write them, one pool at a time with scikit-learn. The loop would take hours: every method is timed on a
few pools of its budget and scaled up to all of them, and the report says so.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import sklearn_loop
from distrivote.evaluation.drawn import Stages, Voting
from distrivote.evaluation.draws import draw
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.base import Setting
from distrivote.evaluation.experiments.registry import experiments_named
from distrivote.evaluation.pools import Pool, PoolSet
from distrivote.evaluation.scoring import Ask
from distrivote.evaluation.studies import studies_of
from distrivote.voting.filters import TopFilter
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.votes import HierarchicalVote, MajorityOfBests
from voting import make_pools

EXPERIMENTS = ("main", "components", "budget", "intervals", "top-threshold", "stages")
N_REPEATS, BUDGET, N_TRAJECTORIES = 64, 128, 512


def make_sets(n_questions: int) -> tuple[PoolSet, ...]:
    classes, confidences = make_pools(n_questions, N_TRAJECTORIES, seed=1)
    pools = tuple(
        Pool(f"question-{i}", classes[i], classes[i] == 0, confidences[i]) for i in range(n_questions)
    )
    return (PoolSet("made up", "made up", "made up", pools),)


def child(n_questions: int, n_workers: int) -> None:
    """Evaluate alone in this process, so that its memory can be seen."""
    sets = make_sets(n_questions)
    begun = time.perf_counter()
    evaluate(sets, EXPERIMENTS, budget=BUDGET, n_repeats=N_REPEATS, n_workers=n_workers)
    seconds = time.perf_counter() - begun
    ours, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    peak = ours.ru_maxrss + (n_workers * workers.ru_maxrss if n_workers > 1 else 0)
    cpu = ours.ru_utime + ours.ru_stime + workers.ru_utime + workers.ru_stime
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak / 1024}))


def loop_of(pipeline: Pipeline) -> Callable[[sklearn_loop.Votes], int]:
    """Return the same method as a loop over one pool."""
    vote: Any = {
        "sc": sklearn_loop.majority,
        "wsc": sklearn_loop.weighted,
        "bon": sklearn_loop.best_of_n,
        "mob": sklearn_loop.majority_of_bests,
        "root": sklearn_loop.root,
        "hier": sklearn_loop.hierarchical,
    }[pipeline.vote.name]
    if isinstance(pipeline.vote, HierarchicalVote):
        vote = partial(vote, n_intervals=pipeline.vote.intervals)
    if isinstance(pipeline.vote, MajorityOfBests):
        vote = partial(vote, q=pipeline.vote.q)
    if pipeline.filter is None:
        return vote
    split = sklearn_loop.split_gmm
    if isinstance(pipeline.filter, TopFilter):
        split = partial(split_top, fraction=pipeline.filter.fraction)
    if pipeline.reject:
        return partial(sklearn_loop.reject_vote, split=split, vote=vote)
    return lambda votes: vote(split(votes)[0])


def split_top(votes: sklearn_loop.Votes, fraction: float) -> tuple[sklearn_loop.Votes, sklearn_loop.Votes]:
    values = np.array([weight for _, weight in votes])
    positive = values >= np.quantile(values, 1 - fraction)
    kept = [vote for vote, good in zip(votes, positive, strict=True) if good]
    return kept, [vote for vote, good in zip(votes, positive, strict=True) if not good]


def asks_of(sets: tuple[PoolSet, ...]) -> list[Ask]:
    """Return what the experiments measure, each measurement once."""
    setting = Setting(sets, studies_of(sets)[0], BUDGET, N_REPEATS, seed=0)
    asks = (ask for experiment in experiments_named(EXPERIMENTS) for ask in experiment.asks(setting))
    return list(dict.fromkeys(asks))


def loop_seconds(sets: tuple[PoolSet, ...], n_sample: int) -> tuple[float, int]:
    """Return what the loop would take for everything, and how many different measurements that is."""
    pools, seconds = sets[0].pools, 0.0
    asks = asks_of(sets)
    chosen = [pools[i] for i in np.linspace(0, len(pools) - 1, n_sample).astype(int)]
    for ask in asks:
        assert isinstance(ask.measure, (Voting, Stages))
        pipeline = ask.measure.pipeline
        if pipeline.trust is not None or pipeline.released:
            continue  # The loop has no such methods: only we are charged for them.
        method = loop_of(pipeline)
        drawn = []
        for pool in chosen:
            which = draw(pool.question, N_TRAJECTORIES, ask.budget, 1, seed=0)[0]
            drawn.append(
                list(zip(pool.classes[which].tolist(), pool.confidence[which].tolist(), strict=True))
            )
        begun = time.process_time()
        for votes in drawn:
            method(votes)
        seconds += (time.process_time() - begun) / n_sample * len(pools) * N_REPEATS
    return seconds, len(asks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=318)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sample", type=int, default=4, help="pools on which the loop is timed, per method")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.questions, args.workers)
        return
    report: dict[str, Any] = {"questions": args.questions, "experiments": list(EXPERIMENTS)}
    loop, n_measurements = loop_seconds(make_sets(args.questions), args.sample)
    for n_workers in dict.fromkeys((1, args.workers)):
        command = [sys.executable, __file__, "--child", "--questions", str(args.questions)]
        result = subprocess.run([*command, "--workers", str(n_workers)], capture_output=True, check=True)
        ours = json.loads(result.stdout)
        report[f"workers_{n_workers}"] = {name: round(value, 1) for name, value in ours.items()} | {
            "times_faster_by_cpu": round(loop / ours["cpu_seconds"], 1)
        }
    report |= {
        "measurements_per_draw": n_measurements,
        "sklearn_loop_cpu_seconds": round(loop),
        "sklearn_loop": f"timed on {args.sample} pools per measurement and scaled to all draws",
        "expected_at_most": {"seconds": 120, "peak_mb": 1500},
        "expected_at_least": {"times_faster_by_cpu": 100},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
