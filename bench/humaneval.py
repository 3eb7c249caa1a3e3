"""How often programs are right: single samples, the surest one, and votes by behaviour, on a stored run.

    python bench/humaneval.py humaneval.jsonl [--run examples/runs/qwen2.5-coder-humaneval]

The file is HumanEval's: task_id, prompt, entry_point, test. Its tests judge; no vote sees them.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import distrivote
from distrivote.answers.code.behaviour import behaviours
from distrivote.answers.code.program import program_in
from distrivote.answers.code.sandbox import Sandbox
from distrivote.store import Run

JUDGE = "SOURCE = {!r}\ndef judged():\n    exec(SOURCE, {{'__name__': 'judged'}})\n    return 1\n"


def right(sources: list[str | None], task: dict[str, str], sandbox: Sandbox) -> list[bool]:
    """Return which programs pass the hidden tests of a task."""
    distinct = list(dict.fromkeys(source for source in sources if source is not None))
    tests = f"\n\n{task['test']}\n\ncheck({task['entry_point']})\n"
    outcomes = sandbox.run([JUDGE.format(source + tests) for source in distinct], "judged", [()])
    passed = {s: row == [("value", "1")] for s, row in zip(distinct, outcomes, strict=True)}
    return [source is not None and passed[source] for source in sources]


def main() -> None:
    """Print the shares of right answers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--run", default="examples/runs/qwen2.5-coder-humaneval")
    arguments = parser.parse_args()
    tasks = {row["task_id"]: row for row in map(json.loads, arguments.benchmark.read_text().splitlines())}
    columns = ("question_id", "sample", "question", "text", "confidence")
    questions: dict[str, list[dict[str, object]]] = {}
    for row in Run.open(arguments.run).table(columns).to_pylist():
        questions.setdefault(row["question_id"], []).append(row)
    sandbox, shares, seconds = Sandbox(seconds=3.0), [], 0.0
    for name, rows in questions.items():
        rows.sort(key=lambda row: row["sample"])
        programs = [program_in(str(row["text"])) for row in rows]
        sources = [None if program is None else program.source for program in programs]
        good = right(sources, tasks[name], sandbox)
        confidences = [float("nan") if row["confidence"] is None else row["confidence"] for row in rows]
        begun = time.perf_counter()
        found = behaviours(str(rows[0]["question"]), sources, sandbox)
        seconds += time.perf_counter() - begun
        answers = [None if number < 0 else str(number) for number in found.classes]
        votes = [
            distrivote.vote(answers, confidences, method).answer if any(answers) else None
            for method in ("sc", "wsc", "auto")
        ]
        voted = [answer is not None and good[answers.index(answer)] for answer in votes]
        best = good[int(np.nanargmax(confidences))] if np.isfinite(confidences).any() else False
        shares.append([float(np.mean(good)), float(best), *map(float, voted), float(any(good))])
    names = ("single", "best_of_n", "behaviour_sc", "behaviour_wsc", "behaviour_auto", "any")
    means = dict(zip(names, np.mean(shares, axis=0).round(4).tolist(), strict=True))
    print(
        json.dumps(
            {"n_questions": len(shares), **means, "seconds_per_question": round(seconds / len(shares), 2)}
        )
    )


if __name__ == "__main__":
    main()
