"""How long does it take to grade a benchmark of the paper's size? Prints JSON.

    python bench/grading.py [FILE.parquet] [--samples 512]

The paper's five benchmarks have 30 + 198 + 30 + 30 + 30 questions; with 512 trajectories each that is
162,816 gradings. Questions take the answers of a BRUMO 2025 sample (`answer`, `ground_truth` and
`question_id` of FILE), the 198 of GPQA letters. A sample of 64 has fewer distinct answers than one of
512, so answers are varied until their share of distinct ones is the sample's, which is more than there
would be. Compared: `compact` on a stored run (classes on distinct strings, once per question, two ways
round and two ways of parsing), and math-verify asked once per trajectory, extrapolated from some.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from distrivote.answers.forms import is_formula
from distrivote.engines.base import SamplingParams
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, Row
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter

N_MATH, N_CHOICE = 30 + 30 + 30 + 30, 198
N_NAIVE = 200


def pools(path: str) -> list[tuple[str, list[str]]]:
    """Return the right answer and the sampled ones of each question."""
    rows = pq.read_table(path, columns=["question_id", "answer", "ground_truth"]).to_pylist()
    found: dict[Any, tuple[str, list[str]]] = {}
    for row in rows:
        pool = found.setdefault(row["question_id"], (row["ground_truth"], []))
        pool[1].extend([row["answer"]] if row["answer"] else [])
    return list(found.values())


def drawn(answers: Sequence[str], n: int, rng: np.random.Generator) -> list[str]:
    """Draw n answers and vary those that come again until as large a share is distinct as in the sample."""
    share = len(set(answers)) / len(answers)
    result = [str(answer) for answer in rng.choice(answers, n)]
    n_lacking = int(share * n) - len(set(result))
    common = max(dict.fromkeys(answers), key=list(answers).count)
    for at in range(n):
        if n_lacking <= 0:
            break
        if result[at] != common and re.search(r"\d", result[at]):
            before, digits, after = re.split(r"(\d+)", result[at], maxsplit=1)
            result[at] = f"{before}{int(digits) + at}{after}"
            n_lacking -= 1
    return result


def questions(path: str, n: int) -> list[tuple[str, list[str]]]:
    rng = np.random.default_rng(0)
    samples = pools(path)
    math = [samples[i % len(samples)] for i in range(N_MATH)]
    choice = [("C", ["A", "B", "C", "C", "C", "(C)", "D", "C."])] * N_CHOICE
    return [(truth, drawn(answers, n, rng)) for truth, answers in math] + [
        (truth, [str(each) for each in rng.choice(answers, n)]) for truth, answers in choice
    ]


def graded(asked: Sequence[tuple[str, list[str]]]) -> dict[str, Any]:
    manifest = Manifest.of("made up", "made up", "math", "made up", SamplingParams(), budget=512)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with RunWriter(path, manifest, keep=Keep(texts=False)) as writer:
            for question, (truth, answers) in enumerate(asked):
                for sample, answer in enumerate(answers):
                    name = f"q{question:03d}"
                    writer.add(Row(question_id=name, sample=sample, answer=answer, ground_truth=truth))
        begun = time.perf_counter()
        done = compact(path)
        seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        table = Run.open(path).table(["correct"])
        again = time.perf_counter() - begun
    return {
        "seconds": round(seconds, 1),
        "seconds_to_read_again": round(again, 2),
        "share_right": round(float(np.mean(table["correct"].to_pylist())), 4),
        "notes": list(done.notes),
    }


def naive(asked: Sequence[tuple[str, list[str]]]) -> dict[str, Any]:
    """Return what parsing and verifying every trajectory would take, by some of them."""
    import logging

    from math_verify import parse, verify

    logging.disable()
    rng = np.random.default_rng(1)
    pairs = [(truth, answer) for truth, answers in asked for answer in answers]
    some = [pairs[int(at)] for at in rng.integers(0, len(pairs), N_NAIVE)]
    begun = time.perf_counter()
    for truth, answer in some:
        verify(parse(f"${truth}$"), parse(f"${answer}$"))
    each = (time.perf_counter() - begun) / len(some)
    return {"seconds_each": round(each, 5), "seconds": round(each * len(pairs), 1), "n_timed": len(some)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default="brumo2025_deepconf_64.parquet")
    parser.add_argument("--samples", type=int, default=512)
    args = parser.parse_args()
    asked = questions(args.file, args.samples)
    distinct = [len(set(answers)) for _, answers in asked[:N_MATH]]
    ours, theirs = graded(asked), naive(asked)
    report = {
        "trajectories": sum(len(answers) for _, answers in asked),
        "distinct_answers_per_question": {"mean": float(np.mean(distinct)), "most": max(distinct)},
        "distinct_formulas": len({a for _, answers in asked for a in set(answers) if is_formula(a)}),
        "distrivote": ours,
        "math_verify_per_trajectory": theirs,
        "times_faster": round(theirs["seconds"] / ours["seconds"], 1),
        "expected_at_most": {"seconds": 300},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
