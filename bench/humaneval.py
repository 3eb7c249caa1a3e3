"""How often programs are right: single samples, the surest one, and votes by behaviour, on a stored run.

    python bench/humaneval.py humaneval.jsonl [--run examples/runs/qwen2.5-coder-humaneval]

The file is HumanEval's: task_id, prompt, entry_point, test. Its tests judge; no vote sees them.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from distrivote.answers.code.behaviour import behaviours
from distrivote.answers.code.program import program_in
from distrivote.answers.code.sandbox import Sandbox
from stored_replies import questions_of, summary, winner

RUN = "examples/runs/qwen2.5-coder-humaneval"
VOTES = ("sc", "wsc", "dis-gmm", "auto")

JUDGE = "SOURCE = {!r}\ndef judged():\n    exec(SOURCE, {{'__name__': 'judged'}})\n    return 1\n"


def right(sources: list[str | None], task: dict[str, str], sandbox: Sandbox) -> list[bool]:
    """Return which programs pass the hidden tests of a task."""
    distinct = list(dict.fromkeys(source for source in sources if source is not None))
    tests = f"\n\n{task['test']}\n\ncheck({task['entry_point']})\n"
    outcomes = sandbox.run([JUDGE.format(source + tests) for source in distinct], "judged", [()])
    passed = {s: row == [("value", "1")] for s, row in zip(distinct, outcomes, strict=True)}
    return [source is not None and passed[source] for source in sources]


def measured(benchmark: Path, run: str = RUN) -> dict[str, Any]:
    """Return the shares of right programs on a run, with intervals and paired differences."""
    tasks = {row["task_id"]: row for row in map(json.loads, benchmark.read_text().splitlines())}
    sandbox, shares, seconds = Sandbox(seconds=3.0), [], 0.0
    questions = questions_of(run)
    for question in questions:
        programs = [program_in(reply.text) for reply in question.replies]
        sources = [None if program is None else program.source for program in programs]
        good = right(sources, tasks[question.id], sandbox)
        confidences = [reply.stored for reply in question.replies]
        begun = time.perf_counter()
        found = behaviours(question.text, sources, sandbox)
        seconds += time.perf_counter() - begun
        keys = [None if number < 0 else number for number in found.classes]
        elected = [winner(keys, confidences, method) for method in VOTES]
        voted = [at is not None and good[at] for at in elected]
        best = good[int(np.nanargmax(confidences))] if np.isfinite(confidences).any() else False
        shares.append([float(np.mean(good)), float(best), *map(float, voted), float(any(good))])
    names = ("single", "best_of_n", *(f"behaviour_{method}" for method in VOTES), "any")
    columns = dict(zip(names, zip(*shares, strict=True), strict=True))
    against = [(name, "single") for name in names[1:-1]]
    against += [(f"behaviour_{method}", "behaviour_sc") for method in VOTES[1:]]
    summed = summary(columns, [question.id for question in questions], against)
    return summed | {"seconds_per_question": round(seconds / len(shares), 2)}


def main() -> None:
    """Print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--run", default=RUN)
    arguments = parser.parse_args()
    print(json.dumps(measured(arguments.benchmark, arguments.run), indent=1))


if __name__ == "__main__":
    main()
