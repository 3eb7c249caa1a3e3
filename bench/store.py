"""How large and how fast is a stored run? Prints JSON.

    python bench/store.py [--section size|writing|import|openai] [--questions 318] [--megabytes 1000]
                          [--before FOLDER/src]

`size`: the paper's grid of 318 questions x 512 trajectories with 68 steps each, without texts and token
confidences; then `distrivote vote` on it in a fresh process. `writing`: the part of a real run with the
embedded model that goes into measuring and storing. `import`: a collection of DeepConf-like pickles by
`distrivote import`, beside what the standard library needs to unpickle the same files, and nothing more.
`openai`: responses with 20 log-probabilities per token, as the output of a batch and as one list, beside what
`json` needs to parse the same files; with --before, another version of the package in the same run. Its rates
are by processor time, start of the process included.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from distrivote.engines.base import SamplingParams
from distrivote.steering import SelfStepConf
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, Row
from distrivote.store.runs.writer import RunWriter

N_TRAJECTORIES, N_STEPS = 512, 68


def rows(question: int, rng: np.random.Generator) -> list[Row]:
    """Return made-up trajectories of one question, of realistic lengths and confidences."""
    lengths = rng.integers(40, 500, (N_TRAJECTORIES, N_STEPS))
    ends = np.cumsum(lengths, axis=1).astype(np.int32)
    steps = rng.normal(14, 2, (N_TRAJECTORIES, N_STEPS)).astype(np.float32)
    right = rng.random(N_TRAJECTORIES) < rng.beta(2, 2)
    wrong = rng.geometric(0.3, N_TRAJECTORIES)
    measures = rng.normal(14, 2, (N_TRAJECTORIES, 8)).clip(1)
    return [
        Row(
            question_id=f"question-{question:03d}",
            sample=i,
            seed=question,
            answer="42" if right[i] else str(42 + int(wrong[i])),
            ground_truth="42",
            confidence=float(measures[i, 0] + 3 * right[i]),
            confidence_mean=float(measures[i, 1]),
            confidence_tail=float(measures[i, 2]),
            confidence_lowest_group=float(measures[i, 3]),
            confidence_bottom_groups=float(measures[i, 4]),
            logprob=float(measures[i, 5] / 20),
            entropy=float(measures[i, 6] / 20),
            self_certainty=float(measures[i, 7]),
            k=20,
            n_tokens=int(ends[i, -1]),
            finish_reason="stop",
            step_ends=ends[i],
            step_confidences=steps[i],
            unfinished=True,
            reflections=np.array([], dtype=np.int32),
            reflection_lengths=np.array([], dtype=np.int32),
        )
        for i in range(N_TRAJECTORIES)
    ]


def size_section(n_questions: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    manifest = Manifest.of(
        "made up", "made up", "math", "made up", SamplingParams(), SelfStepConf(), budget=512
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        begun = time.perf_counter()
        with RunWriter(path, manifest, keep=Keep(texts=False)) as writer:
            for question in range(n_questions):
                for row in rows(question, rng):
                    writer.add(row)
        written = time.perf_counter() - begun
        as_written = _size(path)
        command = [str(Path(sys.executable).with_name("distrivote")), "vote", str(path), "--json"]
        fresh = _seconds(command)
        compact(path)
        return {
            "trajectories": n_questions * N_TRAJECTORIES,
            "mb_as_written": round(as_written, 1),
            "mb_compacted": round(_size(path), 1),
            "seconds_to_write": round(written, 1),
            "vote_seconds_before_compacting": round(fresh, 2),
            "vote_seconds": round(_seconds(command), 2),
            "expected_at_most": {"mb_compacted": 80, "vote_seconds": 3},
        }


def _size(path: Path) -> float:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6


def _seconds(command: list[str]) -> float:
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begun)
    return min(times)


def writing_section() -> dict[str, Any]:
    """Processor time in measuring and storing over that of the whole run."""
    import distrivote.generation.sampling as flow
    from distrivote.benchmarks import load
    from distrivote.engines.llamacpp.engine import LlamaCppEngine

    spent = 0.0
    measure, add = flow.row_of, RunWriter.add

    def timed(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal spent
            begun = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent += time.thread_time() - begun

        return call

    flow.row_of, RunWriter.add = timed(measure), timed(add)  # type: ignore[method-assign]
    problems, params = load("arithmetic", size=4).problems, SamplingParams(max_tokens=64)
    engine = LlamaCppEngine(n_slots=16)
    manifest = Manifest.of(
        "embedded", engine.model, "worked", "arithmetic", params, SelfStepConf(), budget=16
    )
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        with RunWriter(Path(folder) / "run", manifest) as writer:
            n_tokens = sum(
                made.trajectory.n_tokens
                for made in flow.generate(engine, flow.todo(problems, 16, set()), writer, params)
            )
        whole = time.process_time() - begun
    engine.close()
    flow.row_of, RunWriter.add = measure, add  # type: ignore[method-assign]
    return {
        "tokens": n_tokens,
        "cpu_seconds": round(whole, 2),
        "storing_percent": round(100 * spent / whole, 3),
        "expected_at_most": {"storing_percent": 1.0},
    }


def trace(rng: np.random.Generator, words: list[str], scalars: bool) -> dict[str, Any]:
    """Return a made-up trace of DeepConf's, its confidences as floats or, as it writes them, as scalars."""
    n = int(rng.integers(4_000, 20_000))
    confidences = rng.gamma(9, 1.2, n).round(3)
    return {
        "stop_reason": "stop",
        "text": " ".join(rng.choice(words, int(n * 0.7))),
        "token_ids": rng.integers(0, 150_000, n).tolist(),
        "num_tokens": n,
        "confs": list(confidences) if scalars else confidences.tolist(),
        "extracted_answer": str(rng.integers(0, 5)),
    }


def write_collection(folder: Path, n_bytes: int) -> int:
    """Write questions of 64 traces until there are so many bytes, every other with NumPy scalars."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("etaoinshrdlu"), rng.integers(2, 9))) for _ in range(4_000)] + [
        "\n\n"
    ] * 80
    total = question = 0
    while total < n_bytes:
        path = folder / f"deepthink_offline_qid{question}_rid0_20250101_000000.pkl"
        traces = [trace(rng, words, scalars=question % 2 == 1) for _ in range(64)]
        with open(path, "wb") as file:
            pickle.dump({"qid": question, "ground_truth": "1", "all_traces": traces}, file)
        total += path.stat().st_size
        question += 1
    return total


UNPICKLE = """
import pathlib, pickle, resource, sys, time
class Listed(pickle.Unpickler):
    def find_class(self, module, name):
        assert module.startswith("numpy")
        return super().find_class(module, name)
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    with open(path, "rb") as file:
        Listed(file).load()
"""


def import_section(megabytes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "pickles"
        folder.mkdir()
        n_bytes = write_collection(folder, megabytes * 1_000_000)
        command = [sys.executable, "-m", "distrivote", "import", str(folder), "-o", str(Path(name) / "run")]
        ours = timed(command)
        theirs = timed([sys.executable, "-c", UNPICKLE, str(folder)])
        stored = sum(path.stat().st_size for path in (Path(name) / "run").rglob("*") if path.is_file())
    return {
        "megabytes": n_bytes / 1e6,
        "import_megabytes_per_second": n_bytes / 1e6 / ours["seconds"],
        "import_peak_megabytes": ours["peak_megabytes"],
        "run_megabytes": stored / 1e6,
        "standard_unpickler_megabytes_per_second": n_bytes / 1e6 / theirs["seconds"],
        "standard_unpickler_peak_megabytes": theirs["peak_megabytes"],
        "import_over_standard_unpickling": theirs["seconds"] / ours["seconds"],
    }


def write_responses(path: Path, n_bytes: int, as_list: bool) -> int:
    """Write responses of 300 tokens until there are so many bytes, 16 for each question."""
    draw = random.Random(0)
    bodies = [_response(draw, 300) for _ in range(16)]
    n_lines = n_bytes // len(bodies[0])
    with open(path, "w") as file:
        file.write("[\n" if as_list else "")
        for i in range(n_lines):
            about = f'"custom_id": "question-{i // 16}", "response": '
            body = f'{{"status_code": 200, "request_id": "r", "body": {bodies[i % 16]}}}, "error": null'
            file.write("{" + about + body + ("},\n" if as_list and i < n_lines - 1 else "}\n"))
        file.write("]\n" if as_list else "")
    return path.stat().st_size


def _response(draw: random.Random, n_tokens: int) -> str:
    """Return a chat completion with 20 log-probabilities per token."""
    words = [" the", " of", "\n\n", " number", " 12", ".", " so", " answer", " apples", " x", "=", " thus"]
    entries = []
    for _ in range(n_tokens):
        weights = sorted((draw.uniform(-16, -0.01) for _ in range(20)), reverse=True)
        total = math.log(sum(map(math.exp, weights))) + 0.001
        top = [
            {"token": word, "logprob": weight - total, "bytes": list(word.encode())}
            for word, weight in zip(draw.choices(words, k=20), weights, strict=True)
        ]
        entries.append(top[0] | {"top_logprobs": top})
    message = {"role": "assistant", "content": "".join(entry["token"] for entry in entries)}
    choice = {"index": 0, "message": message, "logprobs": {"content": entries}, "finish_reason": "stop"}
    return json.dumps({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]})


PARSE = """
import json, sys
with open(sys.argv[1], "rb") as file:
    for part in [file.read()] if sys.argv[1].endswith(".json") else file:
        json.loads(part)
"""


def openai_section(megabytes: int, before: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in ("batch.jsonl", "list.json"):
        # A document is held whole while it is cut into its items, so there is a limit for one.
        wanted = megabytes if kind == "batch.jsonl" else min(megabytes, 200)
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / kind
            size = write_responses(path, wanted * 1_000_000, as_list=kind == "list.json") / 1e6

            def imported(folder: str, source: str | None, path: Path = path) -> dict[str, float]:
                to = str(path.with_name(folder))
                return timed([sys.executable, "-m", "distrivote", "import", str(path), "-o", to], source)

            ours = imported("run", None)
            theirs = timed([sys.executable, "-c", PARSE, str(path)])
            found[kind] = {
                "megabytes": round(size),
                "import_megabytes_per_second": round(size / ours["cpu"]),
                "import_peak_megabytes": round(ours["peak_megabytes"]),
                "json_alone_megabytes_per_second": round(size / theirs["cpu"]),
                "json_alone_peak_megabytes": round(theirs["peak_megabytes"]),
            }
            if before is not None:
                then = imported("before", before)
                found[kind]["before_megabytes_per_second"] = round(size / then["cpu"], 1)
                found[kind]["before_peak_megabytes"] = round(then["peak_megabytes"])
                found[kind]["times_before"] = round(then["cpu"] / ours["cpu"], 1)
    return found | {"expected_at_least": {"import_megabytes_per_second": 100}}


def timed(command: list[str], source: str | None = None) -> dict[str, float]:
    """Run a process and return its seconds, by the clock and of processors, and its peak memory."""
    begun = time.perf_counter()
    environment = os.environ if source is None else os.environ | {"PYTHONPATH": source}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return {
        "seconds": time.perf_counter() - begun,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_megabytes": usage.ru_maxrss / 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--section", choices=["size", "writing", "import", "openai"], action="append")
    parser.add_argument("--questions", type=int, default=318)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--before", help="the src folder of another version, for the section openai")
    args = parser.parse_args()
    report = {}
    sections = {
        "size": lambda: size_section(args.questions),
        "writing": writing_section,
        "import": lambda: import_section(args.megabytes),
        "openai": lambda: openai_section(args.megabytes, args.before),
    }
    for name in args.section or sections:
        report[name] = sections[name]()
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
