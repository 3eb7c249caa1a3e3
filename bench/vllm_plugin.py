"""What does SelfStepConf cost inside vLLM? The plugin against the decoding step; prints JSON.

    build/vllm/bin/python bench/vllm_plugin.py [--section plugin|controller] [--model build/models/smollm2]

Run it in the environment that `make test-vllm` makes. 32 requests are decoded together by vLLM in this
process, with 20 log-probabilities each, in turns: all of them watched by SelfStepConf (delta 0), half of
them, all by DeepConf (a threshold that ends none), none. The figure is the processor time inside the plugin
over that of the rest of the same step, the median over steps: wall time says nothing on a machine that others
use, and the plugin is a small part of a step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from distrivote.engines.tokens.tables import TokenTable
from distrivote.engines.vllm.args import xargs_of
from distrivote.engines.vllm.batch import SteeredBatch
from distrivote.engines.vllm.rows import BatchRows
from distrivote.steering import Controller, DeepConfOnline, SelfStepConf

N = 32
PROMPT = "Tom has 5 apples and buys 7 more. How many has he? Let us think step by step."
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
}


class Clock:
    """Counts the processor time inside the plugin."""

    def __init__(self, plugin: Any) -> None:
        self.spent = 0
        for name in ("apply", "update_state"):
            setattr(plugin, name, self._timed(getattr(plugin, name)))

    def _timed(self, method: Any) -> Any:
        def timed(*args: Any) -> Any:
            begun = time.process_time_ns()
            try:
                return method(*args)
            finally:
                self.spent += time.process_time_ns() - begun

        return timed

    def take(self) -> int:
        spent, self.spent = self.spent, 0
        return spent


SSC, DEEPCONF = SelfStepConf(delta=0.0), DeepConfOnline(window=16, threshold=-1.0)


def decoded(
    engine: Any, clock: Clock, n_watched: int, n_tokens: int, call: int, rule: Controller = SSC
) -> tuple[list[float], float]:
    """Return the plugin's share of each decoding step, and milliseconds of processor time per step."""
    from vllm import SamplingParams

    for i in range(N):
        xargs = dict(xargs_of(rule)) if i < n_watched else None
        params = SamplingParams(
            temperature=0.6, top_p=0.95, max_tokens=n_tokens, seed=i, logprobs=20, ignore_eos=rule is SSC,
            detokenize=False, flat_logprobs=True, extra_args=xargs,
        )  # fmt: skip
        prompt = engine.renderer.render_cmpl([{"prompt": PROMPT}])[0]
        engine.add_request(f"{call}-{i}", prompt, params)
    shares, steps = [], []
    while engine.has_unfinished_requests():
        clock.take()
        begun = time.process_time_ns()
        engine.step()
        step = time.process_time_ns() - begun
        inside = clock.take()
        shares.append(inside / (step - inside))
        steps.append(step / 1e6)
    # The first steps read prompts, the last ones have nothing left to do.
    return shares[4:-2], statistics.median(steps[4:-2])


def plugin_section(model: Path, n_tokens: int, repeats: int) -> dict[str, Any]:
    os.environ.update(ENVIRONMENT)
    from vllm import LLM

    from distrivote.engines.vllm.engine import PLUGIN
    from distrivote.engines.vllm.plugin import SelfStepConf as Plugin

    llm = LLM(
        str(model), dtype="float32", enforce_eager=True, max_model_len=1024, max_num_seqs=N,
        logits_processors=[PLUGIN], max_num_batched_tokens=4096,
    )  # fmt: skip
    clock = Clock(Plugin)
    groups = {"all": (N, SSC), "half": (N // 2, SSC), "deepconf": (N, DEEPCONF), "none": (0, SSC)}
    shares: dict[str, list[float]] = {name: [] for name in groups}
    steps: dict[str, list[float]] = {name: [] for name in groups}
    decoded(llm.llm_engine, clock, N, 8, 0)
    for call in range(repeats):
        for number, (name, (n_watched, rule)) in enumerate(groups.items(), 1):
            found, step = decoded(llm.llm_engine, clock, n_watched, n_tokens, 10 * call + number, rule)
            shares[name] += found
            steps[name].append(step)
    return {
        "model": model.name,
        "requests": N,
        "steps": {name: len(values) for name, values in shares.items()},
        "plugin_share_percent": {
            name: round(100 * statistics.median(values), 4) for name, values in shares.items()
        },
        "step_cpu_milliseconds": {name: round(statistics.median(v), 1) for name, v in steps.items()},
        "expected_at_most": {"all": 2.0, "deepconf": 2.0, "none": 1.0},
    }


def controller_section(model: Path, n_tokens: int, repeats: int) -> dict[str, Any]:  # noqa: ARG001
    """The arrays alone, 32 rows of 10,000 tokens: what a step costs at its beginning and at its end."""
    pieces = [b"\n\n", *(f" word{i}".encode() for i in range(49_151))]
    batch = SteeredBatch(N, TokenTable(pieces), lambda _before, _text: [1])
    length, part = 10_000, 1000
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 60, (length, N))  # a step ends every 60 tokens
    tops = -np.sort(rng.uniform(0.1, 12, (64, N, 20)))
    spent: dict[str, list[float]] = {f"first {part}": [], "all": [], f"last {part}": []}
    for repeat in range(repeats):
        rows = BatchRows(batch, N)
        replies: list[list[int]] = [[] for _ in range(N)]
        params = SimpleNamespace(extra_args=xargs_of(SelfStepConf(delta=0.0)), logprobs=20, seed=repeat)
        added = [(row, params, [row], reply) for row, reply in enumerate(replies)]
        rows.update(SimpleNamespace(removed=[], added=added, moved=[]))
        costs = []
        for position in range(length):
            begun = time.perf_counter_ns()
            rows.advance()
            batch.due(rows.slots)
            batch.observe(rows.slots, tops[position % 64])
            costs.append(time.perf_counter_ns() - begun)
            for reply, token in zip(replies, tokens[position].tolist(), strict=True):
                reply.append(token)
        rows.update(SimpleNamespace(removed=list(range(N)), added=[], moved=[]))
        for name, values in zip(spent, (costs[:part], costs, costs[-part:]), strict=True):
            spent[name].append(statistics.median(values) / N / 1000)
    best = {name: round(min(values), 3) for name, values in spent.items()}
    return {
        "rows": N,
        "tokens": length,
        "microseconds_per_token_and_request": best,
        "last_over_first": round(best[f"last {part}"] / best[f"first {part}"], 3),
        "expected_at_most": {"microseconds_per_token_and_request": 20.0},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--section", choices=["plugin", "controller"], action="append")
    parser.add_argument("--model", type=Path, default=Path("build/models/smollm2"))
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    sections = {"plugin": plugin_section, "controller": controller_section}
    report = {
        name: sections[name](args.model, args.tokens, args.repeats) for name in args.section or sections
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
