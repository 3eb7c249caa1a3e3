"""A server that spoils three replies in ten, in 30 ways, and a run that has to come out right all the same.

The run is compared with that of the healthy server: trajectories are the same or say what is wrong with them,
and the votes are the same where only those faults happened after which a reply is asked for again. Also
measured: how often a trajectory was asked for at most, and how long it takes to say that nobody is there.

    PYTHONPATH=tests python -P bench/soak_upstream.py [--questions 40] [--budget 32] [--seconds S]

`--seconds 1800` goes on for half an hour, round after round, each with other faults at other replies; the
sums are printed after each round. Prints JSON, and fails if a run did not come out right. The server is the
tests' own; -P keeps this folder's engines.py from being taken for theirs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from distrivote import Problem, SamplingParams, SelfStepConf, vote
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.generation.sampling import generate, todo
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.runs.writer import RunWriter
from engines.scripted_server import ScriptedServer
from faults.faulty_server import FAULTS, MENDED, FaultyServer, SeededModel

PARAMS = SamplingParams(max_tokens=40, seed=3)
COLUMNS = [name for name in SCHEMA.names if name not in ("seconds", "flaw")]
METHODS = ("sc", "wsc", "mob", "hier-top50", "dis-gmm")

SPOILING = ("3 logprobs", "1 logprob", "equal entries")

Rows = dict[tuple[str, int], dict[str, Any]]


def run(answer: Any, path: Path, n_questions: int, budget: int, controller: SelfStepConf | None) -> Rows:
    """Sample from a server into a run; silence is given up after 2 s instead of 600."""
    problems = [Problem(f"What is {n} + {n}?", f"q{n}", "12") for n in range(n_questions)]
    manifest = Manifest.of("openai", "toy", "math", "made up", PARAMS, controller, budget=budget)
    with (
        ScriptedServer(answer) as server,
        closing(OpenAIEngine(server.url, n_parallel=32, timeout=2.0)) as engine,
        RunWriter(path, manifest) as writer,
    ):
        list(generate(engine, todo(problems, budget, writer.done()), writer, PARAMS, controller))
    rows = Run.open(path).table([*COLUMNS, "flaw"]).to_pylist()
    return {(row["question_id"], row["sample"]): row for row in rows}


def plain(row: dict[str, Any]) -> str:
    return repr({name: row[name] for name in COLUMNS})


def winners(rows: Rows) -> dict[tuple[str, str], Any]:
    """Return the winner of every question by some methods."""
    found = {}
    for name in {question for question, _ in rows}:
        mine = [row for (question, _), row in sorted(rows.items()) if question == name]
        answers, confidences = [row["answer"] for row in mine], [row["confidence"] for row in mine]
        for method in METHODS:
            found[name, method] = vote(answers, confidences, method=method).answer
    return found


def soak(
    n_questions: int, budget: int, kinds: tuple[str, ...], ssc: bool, folder: Path, seed: int
) -> dict[str, Any]:
    """Return what a faulty run did, after comparing it with a healthy one."""
    controller = SelfStepConf() if ssc else None
    model = SeededModel("always" if ssc else "never")
    healthy = run(model, folder / "healthy", n_questions, budget, controller)
    server = FaultyServer(model, kinds, seed=seed)
    begun = time.monotonic()
    faulty = run(server, folder / "faulty", n_questions, budget, controller)
    seconds = time.monotonic() - begun
    assert faulty.keys() == healthy.keys()
    flawed = {key for key, row in faulty.items() if row["flaw"] is not None}
    wrong = [key for key in faulty if key not in flawed and plain(faulty[key]) != plain(healthy[key])]
    assert not wrong, f"neither right nor marked: {wrong}"
    # Most methods do not vote where a confidence is missing.
    same = None if flawed else winners(faulty) == winners(healthy)
    assert same is not False
    return {
        "n_trajectories": len(faulty),
        "n_replies": server.n_replies,
        "n_faults": dict(sorted(server.n_faults.items())),
        "n_marked": len(flawed),
        "n_neither_right_nor_marked": 0,
        "same_votes": same,
        "most_requests_for_one_reply": max(server.n_asked.values()),
        "seconds": round(seconds, 1),
    }


def nobody_there(folder: Path) -> dict[str, Any]:
    """Return what `generate` says of a server that is down, and after how long."""
    with ScriptedServer(SeededModel()) as server:
        pass
    words = [sys.executable, "-m", "distrivote", "generate", "arithmetic", "--size", "3", "--model", "toy"]
    begun = time.monotonic()
    result = subprocess.run(
        [*words, "--base-url", server.url, "-o", str(folder / "run")], capture_output=True, text=True
    )
    return {
        "exit_code": result.returncode,
        "n_lines": len(result.stderr.splitlines()),
        "seconds": round(time.monotonic() - begun, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--budget", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=0.0, help="begin another round until then")
    asked = parser.parse_args()
    cases = {
        "all faults": (tuple(FAULTS), False),
        "faults that are mended": (MENDED, False),
        # What SelfStepConf judges by a spoiled step can't be taken back once its reply was continued.
        "with SelfStepConf": (tuple(kind for kind in MENDED if kind not in SPOILING), True),
    }
    begun = time.monotonic()
    result: dict[str, Any] = {"rounds": 0}
    while not result["rounds"] or time.monotonic() - begun < asked.seconds:
        with tempfile.TemporaryDirectory(prefix="soak-upstream-") as folder:
            for number, (name, (kinds, ssc)) in enumerate(cases.items()):
                place = Path(folder) / str(number)
                found = soak(asked.questions, asked.budget, kinds, ssc, place, result["rounds"])
                result[name] = summed(result[name], found) if name in result else found
            result["nobody there"] = nobody_there(Path(folder))
        result["rounds"] += 1
        result["minutes"] = round((time.monotonic() - begun) / 60, 1)
        print(json.dumps(result, indent=2), flush=True)
        assert result["nobody there"]["exit_code"] == 1
        assert result["nobody there"]["n_lines"] == 1


def summed(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return what two rounds saw together."""
    found: dict[str, Any] = {}
    for name, value in one.items():
        if name == "n_faults":
            found[name] = dict(sorted((Counter(value) + Counter(other[name])).items()))
        elif name == "most_requests_for_one_reply":
            found[name] = max(value, other[name])
        elif name == "same_votes":
            found[name] = value and other[name]
        else:
            found[name] = round(value + other[name], 1)
    return found


if __name__ == "__main__":
    main()
