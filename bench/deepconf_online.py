"""What does DeepConf's online rule save beside stopping rules, on the built-in model? Prints JSON.

    python bench/deepconf_online.py [--questions 8] [--budget 16]

The built-in model is sampled once, and its trajectories are played back to every rule in the same order:
differences between rules are not luck of the draw, and what an engine that has many trajectories in progress
at once would waste is not in the numbers. `bench/stopping.py` compares the stopping rules themselves.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from distrivote import SamplingParams, Trajectory
from distrivote.answers.equivalence import same_answer
from distrivote.benchmarks import load
from distrivote.confidence import measure_named, token_confidence
from distrivote.engines.replay import ReplayEngine
from distrivote.flow import solve
from distrivote.steering import ENDED, DeepConfOnline

RULES = (None, "consensus", "beta", "vote", "gain")
WINDOW = 16
"""Tokens in a group on the built-in model, whose replies are short; DeepConf has 2048."""


class Ended(NamedTuple):
    """Where a question came to under a rule."""

    right: bool
    same: bool
    """Whether the answer is that of the whole budget."""

    n_trajectories: int
    n_tokens: int


def row(name: str, ended: Sequence[Ended], whole: Sequence[Ended], seconds: float) -> dict[str, Any]:
    spent, all_tokens = (sum(each.n_tokens for each in some) for some in (ended, whole))
    return {
        "rule": name,
        "accuracy": round(float(np.mean([each.right for each in ended])), 4),
        "same_answer": round(float(np.mean([each.same for each in ended])), 4),
        "trajectories": round(float(np.mean([each.n_trajectories for each in ended])), 1),
        "tokens_spent": round(spent / all_tokens, 3),
        "ms_per_question": round(seconds / len(ended) * 1000, 1),
    }


def embedded(n_questions: int, budget: int, n_threads: int | None) -> list[dict[str, Any]]:
    """Ask the built-in model once, and play its trajectories back to every rule."""
    from distrivote.engines.llamacpp.engine import LlamaCppEngine
    from distrivote.flow import sample

    problems = [replace(each, template="worked") for each in load("arithmetic", size=n_questions)]
    engine = LlamaCppEngine(n_threads=n_threads)
    params = SamplingParams(temperature=0.8, max_tokens=48)
    pools = []
    for done, problem in enumerate(problems, 1):
        pools.append(
            sorted(
                sample(engine, problem, budget=budget, steering=None, params=params), key=lambda t: t.index
            )
        )
        print(f"{done} of {len(problems)} questions", file=sys.stderr, flush=True)
    engine.close()
    rows: list[dict[str, Any]] = []
    whole: list[Ended] = []
    answers: list[object] = []
    online = {"deepconf-low": 10.0, "deepconf-high": 90.0}
    for name in (*RULES, *online):
        begun, ended = time.perf_counter(), []
        for number, (problem, pool) in enumerate(zip(problems, pools, strict=True)):
            rule, controller, method = name, None, "dis-gmm"
            if name in online:
                controller = DeepConfOnline(eta=online[name], window=WINDOW, n_warmup=budget // 4)
                pool, rule, method = _cut(pool, controller), f"consensus:0.95:{budget // 4}", "wsc"
            solution = solve(
                ReplayEngine(pool),
                problem,
                method=method,
                budget=budget,
                steering=controller,
                params=params,
                stop_when=rule,
            )
            if name is None:
                answers.append(solution.answer)
            right = solution.answer is not None and same_answer(str(solution.answer), problem.answer or "")
            same = solution.answer == answers[number]
            ended.append(Ended(right, same, len(solution.trajectories), solution.n_tokens))
        whole = whole or ended
        rows.append(row(name or "none", ended, whole, time.perf_counter() - begun))
    return rows


def _cut(pool: Iterable[Trajectory], controller: DeepConfOnline) -> list[Trajectory]:
    """Return trajectories as DeepConf would have ended them."""
    pool = list(pool)
    measure = measure_named(controller.measure)
    ending = controller.after([measure.of(each).value for each in pool[: controller.n_warmup]])
    return [*pool[: controller.n_warmup], *(_ended(each, ending) for each in pool[controller.n_warmup :])]


def _ended(trajectory: Trajectory, controller: DeepConfOnline) -> Trajectory:
    stream = controller.start()
    values = token_confidence(trajectory.top_logprobs, 20).values.tolist()
    for n, (text, value) in enumerate(zip(trajectory.tokens, values, strict=True), 1):
        if stream.push(text, value) is not None:
            tokens = trajectory.tokens[:n]
            top, logprobs = trajectory.top_logprobs[:n], trajectory.logprobs[:n]
            return Trajectory("".join(tokens), tokens, top, logprobs, ENDED, trajectory.index)
    return trajectory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=8)
    parser.add_argument("--budget", type=int, default=16)
    parser.add_argument("--threads", type=int, help="of the built-in model; 1 is best on a busy machine")
    options = parser.parse_args()
    rows = embedded(min(options.questions, 12), options.budget, options.threads)
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
