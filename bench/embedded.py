"""How fast is the embedded engine? Against a bare decode loop and llama.cpp's own server; prints JSON.

    python bench/embedded.py [--section speed|controller|prefix|first] [--tokens 96] [--threads 2]

All runs take turns on the same file, with the same prompt, 32 trajectories, and no early ends. Wall time
for tokens per second; processor time for the controller, which is far too small for wall time. `first` is the
first answer of `make demo` in a fresh process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distrivote.confidence import token_confidence
from distrivote.engines.base import SamplingParams
from distrivote.engines.llamacpp.engine import LlamaCppEngine
from distrivote.engines.llamacpp.files import BUILT_IN, model_file
from distrivote.engines.llamacpp.model import LlamaContext
from distrivote.problem import Problem
from distrivote.steering import SelfStepConf

N = 32
MESSAGES = Problem("Tom has 5 apples and buys 7 more. How many has he?", template="worked").messages()


def endless(engine: LlamaCppEngine) -> None:
    """Let no token end a trajectory, so that everybody does the same work."""
    engine._llama.__dict__["end_tokens"] = frozenset()


def engine_rate(engine: LlamaCppEngine, n_tokens: int, ssc: SelfStepConf | None) -> tuple[float, float]:
    """Return tokens per second and processor seconds per token."""
    params = SamplingParams(max_tokens=n_tokens, seed=1)
    begun, used = time.perf_counter(), time.process_time()
    total = sum(t.n_tokens for t in engine.sample(MESSAGES, N, params, ssc))
    return total / (time.perf_counter() - begun), (time.process_time() - used) / total


def bare_rate(engine: LlamaCppEngine, n_tokens: int, n_threads: int) -> float:
    """Return the tokens per second of nothing but llama_decode, with the same batches."""
    model = engine._llama
    prompt = model.tokenize(model.chat_prompt(MESSAGES), special=True)
    context = LlamaContext(model, N + 1, -(-(len(prompt) + n_tokens) // 256) * 256, n_threads)
    begun = time.perf_counter()
    context.prefill(prompt, 0)
    for slot in range(1, N + 1):
        context.copy(0, slot)
    tokens = np.random.default_rng(0).integers(100, 40_000, (n_tokens, N))
    slots = list(range(1, N + 1))
    # The engine takes its first token from the prompt and never decodes its last one.
    for step in range(n_tokens - 1):
        context.decode(tokens[step].tolist(), [len(prompt) + step] * N, slots)
    seconds = time.perf_counter() - begun
    context.close()
    return N * n_tokens / seconds


_SERVER = """
import concurrent.futures, json, sys, time
import xllamacpp as xlc
path, prompt, n, n_tokens, n_threads = json.loads(sys.argv[1])
params = xlc.CommonParams()
params.model.path = path
params.n_parallel = n
params.n_ctx = n * 512
params.warmup = False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = n_threads
server = xlc.Server(params)
def ask(seed):
    request = {"prompt": prompt, "n_predict": n_tokens, "max_tokens": n_tokens, "temperature": 0.6,
               "top_p": 0.95, "seed": seed, "ignore_eos": True, "n_probs": 20, "logprobs": 20}
    reply = server.handle_completions(request)
    return reply["usage"]["completion_tokens"]
ask(0)
begun = time.perf_counter()
with concurrent.futures.ThreadPoolExecutor(n) as pool:
    total = sum(pool.map(ask, range(n)))
print("RATE", total / (time.perf_counter() - begun), flush=True)
import os
os._exit(0)
"""


def server_rate(engine: LlamaCppEngine, n_tokens: int, n_threads: int) -> float:
    """Return the tokens per second of llama.cpp's server with 32 slots and 20 log-probabilities."""
    prompt = engine._llama.chat_prompt(MESSAGES)
    arguments = json.dumps([str(engine._llama.path), prompt, N, n_tokens, n_threads])
    result = subprocess.run([sys.executable, "-c", _SERVER, arguments], capture_output=True, text=True)
    rates = [line.split()[1] for line in result.stdout.splitlines() if line.startswith("RATE")]
    if not rates:
        raise RuntimeError(result.stderr[-2000:])
    return float(rates[0])


def speed_section(n_tokens: int, n_threads: int, repeats: int) -> dict[str, Any]:
    engine = LlamaCppEngine(n_slots=N, n_threads=n_threads)
    endless(engine)
    rates: dict[str, list[float]] = {"engine": [], "bare": [], "server": []}
    engine_rate(engine, 8, None)
    for _ in range(repeats):
        rates["engine"].append(engine_rate(engine, n_tokens, None)[0])
        rates["bare"].append(bare_rate(engine, n_tokens, n_threads))
        rates["server"].append(server_rate(engine, n_tokens, n_threads))
    engine.close()
    best = {name: max(values) for name, values in rates.items()}
    return {
        "trajectories": N,
        "tokens_each": n_tokens,
        "threads": n_threads,
        "tokens_per_second": {name: round(value, 1) for name, value in best.items()},
        "all": {name: [round(v, 1) for v in values] for name, values in rates.items()},
        "over_bare_decode": round(best["engine"] / best["bare"], 3),
        "over_server": round(best["engine"] / best["server"], 2),
        "expected_at_least": {"over_bare_decode": 0.9, "over_server": 1.5},
    }


QUESTIONS = (
    "Tom has 5 apples and buys 7 more. How many has he?",
    "A train has 8 cars with 12 seats each. How many seats are there?",
    "Ann reads 15 pages a day. How many pages does she read in 6 days?",
    "A box holds 24 pens, and 9 are red. How many are not red?",
    "Ben runs 3 km on each of 5 days and 4 km on the sixth. How far does he run?",
    "A shirt costs 40 and is sold at half the price. What does it cost?",
    "There are 7 rows of 9 chairs, and 4 chairs are broken. How many can be used?",
    "Eve is 12 and her brother is 3 times as old. How old is he?",
)


def prefix_section(_: int, n_threads: int, repeats: int) -> dict[str, Any]:
    """Few-shot questions one after the other: the examples decoded for each, and once."""
    engine = LlamaCppEngine(n_slots=1, n_threads=n_threads)
    n_decoded = 0
    decode = LlamaContext.decode

    def counted(self: LlamaContext, tokens: Sequence[int], *rest: Any) -> Any:
        nonlocal n_decoded
        n_decoded += len(tokens)
        return decode(self, tokens, *rest)

    LlamaContext.decode = counted  # type: ignore[method-assign]
    params = SamplingParams(max_tokens=1, seed=1)

    def run(apart: bool) -> tuple[float, float, int, list[str]]:
        nonlocal n_decoded
        n_decoded, texts = 0, []
        begun, used = time.perf_counter(), time.process_time()
        for question in QUESTIONS:
            if apart and engine._context is not None:
                engine._context.clear(0)
            messages = Problem(question, template="worked").messages()
            texts += [each.text for each in engine.sample(messages, 1, params)]
        n = len(QUESTIONS)
        return (time.perf_counter() - begun) / n, (time.process_time() - used) / n, n_decoded, texts

    run(apart=True)
    runs: dict[str, list[tuple[float, float, int, list[str]]]] = {"each": [], "once": []}
    for _ in range(repeats):
        runs["each"].append(run(apart=True))
        runs["once"].append(run(apart=False))
    engine.close()
    best = {name: [min(column) for column in zip(*values, strict=True)] for name, values in runs.items()}
    return {
        "questions": len(QUESTIONS),
        "prompt_tokens_decoded": {name: found[2] for name, found in best.items()},
        "seconds_to_first_token": {name: round(found[0], 3) for name, found in best.items()},
        "processor_seconds": {name: round(found[1], 3) for name, found in best.items()},
        "tokens_ratio": round(best["each"][2] / best["once"][2], 2),
        "seconds_ratio": round(best["each"][0] / best["once"][0], 2),
        "processor_ratio": round(best["each"][1] / best["once"][1], 2),
        "same_samples": best["each"][3] == best["once"][3],
        "expected_at_least": {"tokens_ratio": 2.0},
    }


def controller_section(n_tokens: int, n_threads: int, repeats: int) -> dict[str, Any]:
    """SelfStepConf with delta = 0: the processor time inside it over that of all the rest."""
    engine = LlamaCppEngine(n_slots=N, n_threads=n_threads)
    endless(engine)
    watched = SelfStepConf(delta=0.0)
    used: dict[str, list[float]] = {"off": [], "on": []}
    engine_rate(engine, 8, None)
    for _ in range(repeats):
        used["off"].append(engine_rate(engine, n_tokens, None)[1])
        used["on"].append(engine_rate(engine, n_tokens, watched)[1])
    sample = next(iter(engine.sample(MESSAGES, 1, SamplingParams(max_tokens=200, seed=1))))
    engine.close()
    texts = (sample.tokens * 30)[:4000]
    confidences = np.tile(token_confidence(sample.top_logprobs).values, 30)[:4000].tolist()
    inside = {"first 100": [], "tokens 100 to 4,000": [], "last 100 of 4,000": []}
    for _ in range(200):
        stream = watched.start()
        marks = [time.process_time_ns()]
        for start, stop in ((0, 100), (100, 3900), (3900, 4000)):
            for i in range(start, stop):
                stream.push(texts[i], confidences[i])
            marks.append(time.process_time_ns())
        for name, n, before, after in zip(inside, (100, 3800, 100), marks, marks[1:], strict=False):
            inside[name].append((after - before) / n / 1000)
    per_token = {name: statistics.median(values) for name, values in inside.items()}
    rest = statistics.median(used["off"]) * 1e6
    return {
        "controller_microseconds_per_token": {name: round(v, 3) for name, v in per_token.items()},
        "engine_cpu_microseconds_per_token": round(rest, 1),
        "controller_share_percent": round(100 * per_token["tokens 100 to 4,000"] / rest, 4),
        "on_over_off_cpu_median": round(statistics.median(used["on"]) / statistics.median(used["off"]), 4),
        "expected_at_most": {"controller_share_percent": 1.0},
    }


FIRST = """
import time
begun = time.perf_counter()
import sys
sys.path.insert(0, sys.argv[1])
import demo, distrivote
from distrivote import SamplingParams, solve
imported = time.perf_counter()
engine = distrivote.open()
opened = time.perf_counter()
solution = solve(engine, demo.SUM, budget=demo.BUDGET, params=SamplingParams(max_tokens=64))
answered = time.perf_counter()
print(imported - begun, opened - imported, answered - opened, sum(t.n_tokens for t in solution.trajectories))
"""


def first_section(n_tokens: int, n_threads: int, repeats: int) -> dict[str, Any]:  # noqa: ARG001
    """The first answer of `make demo` in a fresh process, where the model is there already: its parts."""
    examples = str(Path(__file__).parents[1] / "examples")
    runs = []
    for _ in range(repeats):
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", FIRST, examples], capture_output=True, text=True, check=True
        )
        runs.append((time.perf_counter() - begun, *map(float, done.stdout.split())))
    seconds, imports, opening, sampling, tokens = min(runs)
    return {
        "seconds": round(seconds, 2),
        "imports": round(imports, 2),
        "opening": round(opening, 2),
        "sampling": round(sampling, 2),
        "tokens": int(tokens),
        "expected_at_most": {"seconds": 6.0},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--section", choices=["speed", "controller", "prefix", "first"], action="append")
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    model_file(BUILT_IN)
    sections = {
        "speed": speed_section,
        "controller": controller_section,
        "prefix": prefix_section,
        "first": first_section,
    }
    report = {
        name: sections[name](args.tokens, args.threads, args.repeats) for name in args.section or sections
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
