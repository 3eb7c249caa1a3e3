"""Are all slots of an engine busy? The real scheduling code over a simulated vLLM; prints JSON.

    build/eval/bin/python bench/scheduling.py FILE [--section engine|ray|scan]

The engine has 256 slots. Every running trajectory gets a token in each step, and a step takes
10 ms and 0.06 ms for each of them, about as an 8B model on a large GPU. FILE is boinf_aime2024.parquet:
trajectories are as long as those of Qwen3-14B on AIME 2024, at most 65,536 tokens, divided by `--shrink`.
What is measured does not depend on that.

- engine, in simulated time: batches of 256 that are each sampled to the end, as `--ray` did before, against
  the window that `VllmEngine` keeps.
- ray: the same for four workers of `--ray`, each with a clock of its own: four parts of 64 to a worker, which
  samples them to the end before it gets more, against the pieces of `Work.pieces`, with `Work.n_pieces` of
  them at each worker at any time. Ray itself is not simulated: a piece takes no time to arrive.
- scan: what a step costs beside vLLM, by the number of trajectories that wait.

Occupancy is the share of slots that are busy, over time, from the first step to when the last trajectory
begins: the tail after that can't be filled. Throughput is that of the whole run against all slots busy.
"""

from __future__ import annotations

import argparse
import bisect
import heapq
import json
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow.parquet as pq

from distrivote.engines.base import Job, SamplingParams
from distrivote.engines.choice import EngineChoice
from distrivote.engines.feed import Feed
from distrivote.engines.tokens.tables import TokenTable
from distrivote.engines.vllm.engine import VllmEngine
from distrivote.generation.worker import Work
from distrivote.problem import Message, Problem
from distrivote.rounds import Todo
from distrivote.store.runs.rows import Keep

MAX_TOKENS = 65_536
MODEL = "Qwen3-14B"
STEP, STEP_PER_TRAJECTORY = 0.010, 0.00006
N_WORKERS = 4
FLAT = SimpleNamespace(start_indices=[0], end_indices=[3], logprobs=[-1.0, -1.0, -2.0], token_ids=[0, 0, 1])


def real_lengths(path: Path, shrink: int) -> list[list[int]]:
    """Return the lengths of the trajectories of each question."""
    table = pq.read_table(path, columns=["model", "question_id", "length_tokens"]).to_pylist()
    models = {row["model"] for row in table}
    model = MODEL if MODEL in models else min(models)
    found: dict[int, list[int]] = {}
    for row in table:
        if row["model"] == model:
            length = max(1, min(row["length_tokens"], MAX_TOKENS) // shrink)
            found.setdefault(row["question_id"], []).append(length)
    return list(found.values())


class SimulatedCore:
    """What `VllmEngine` uses of vLLM's engine, with a clock of its own."""

    def __init__(self, n_slots: int, lengths: Sequence[Sequence[int]]) -> None:
        self._n_slots, self._lengths = n_slots, lengths
        self._waiting: deque[str] = deque()
        self._left: dict[str, int] = {}
        self._running: dict[str, None] = {}
        self.renderer = SimpleNamespace(render_cmpl=lambda prompts: [prompts[0]["prompt_token_ids"]])
        self.seconds = self.busy = 0.0
        self.at_last_start = (0.0, 0.0)
        self._course: list[tuple[float, float]] = [(0.0, 0.0)]
        self.n_tokens = 0

    def add_request(self, name: str, prompt: Sequence[int], _params: Any) -> None:
        known = self._lengths[prompt[0]]
        self._left[name] = known[int(name.rsplit("-", 1)[1]) % len(known)]
        self._waiting.append(name)

    def abort_request(self, names: Sequence[str]) -> None:
        for name in names:
            self._left.pop(name, None)
            self._running.pop(name, None)
        self._waiting = deque(name for name in self._waiting if name in self._left)

    def step(self) -> list[Any]:
        while self._waiting and len(self._running) < self._n_slots:
            self._running[self._waiting.popleft()] = None
            self.at_last_start = (self.seconds, self.busy)
        n = len(self._running)
        took = STEP + STEP_PER_TRAJECTORY * n
        self.seconds += took
        self.busy += took * n
        self.n_tokens += n
        self._course.append((self.seconds, self.busy))
        outputs = []
        for name in list(self._running):
            self._left[name] -= 1
            ends = self._left[name] == 0
            sample = SimpleNamespace(
                token_ids=[0], logprobs=FLAT, finish_reason="length" if ends else None, stop_reason=None
            )
            outputs.append(SimpleNamespace(request_id=name, outputs=[sample], finished=ends))
            if ends:
                del self._running[name], self._left[name]
        return outputs

    def figures(self) -> dict[str, float]:
        seconds, busy = self.at_last_start
        return {
            "seconds": self.seconds,
            "n_tokens": self.n_tokens,
            "occupancy": busy / seconds / self._n_slots if seconds else 0.0,
            "occupancy_with_tail": self.busy / self.seconds / self._n_slots,
            "throughput_of_ideal": self.n_tokens / self.seconds / self.ideal(),
        }

    def busy_until(self, seconds: float) -> float:
        """Return how long slots were busy until a time, all together."""
        return self._course[bisect.bisect_right(self._course, (seconds, math.inf)) - 1][1]

    def ideal(self) -> float:
        return self._n_slots / (STEP + STEP_PER_TRAJECTORY * self._n_slots)


class SimulatedEngine(VllmEngine):
    """The real engine over a simulated core; a question is its number."""

    def __init__(self, core: SimulatedCore, n_slots: int) -> None:
        for name in ("vllm", "vllm.exceptions", "vllm.sampling_params"):
            sys.modules[name] = ModuleType(name)
        sys.modules["vllm"].SamplingParams = SimpleNamespace  # type: ignore[attr-defined]
        errors = ("VLLMClientError", "VLLMServerError")
        sys.modules["vllm.exceptions"].__dict__.update(dict.fromkeys(errors, RuntimeError))
        sys.modules["vllm.sampling_params"].RequestOutputKind = SimpleNamespace(DELTA=0)  # type: ignore[attr-defined]
        self.model = "simulated"
        self._engine: Any = core
        self._table = TokenTable([b"a", b"b"])
        self._cut = lambda _before, _text: [0]
        self._ends = frozenset()
        self._n_context, self._max_logprobs, self._n_calls = 10**9, 20, 0
        self._n_window = n_slots * 5 // 4 + 8

    def _prompt(self, messages: Sequence[Message], thinking: bool | None) -> list[int]:  # noqa: ARG002
        return [int(messages[-1].content)]


def jobs_of(n_questions: int, budget: int) -> list[Job]:
    params = SamplingParams(max_tokens=MAX_TOKENS, n_logprobs=2)
    return [Job((Message("user", str(number)),), params, range(budget)) for number in range(n_questions)]


def rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}


def engine_section(lengths: list[list[int]], budget: int) -> dict[str, Any]:
    found = {}
    for name, batches in (
        ("barrier of 256", _batches(jobs_of(len(lengths), budget), 64, 4)),
        ("window", [jobs_of(len(lengths), budget)]),
    ):
        core = SimulatedCore(256, lengths)
        engine = SimulatedEngine(core, 256)
        n = sum(1 for jobs in batches for _ in engine.sample_all(jobs))
        found[name] = {"trajectories": n} | rounded(core.figures())
    speeds = [each["throughput_of_ideal"] for each in found.values()]
    return found | {"times_faster": round(speeds[1] / speeds[0], 2), "expected_at_least": {"occupancy": 0.9}}


def ray_section(lengths: list[list[int]], budget: int) -> dict[str, Any]:
    items = [Todo(Problem(str(number)), tuple(range(budget))) for number in range(len(lengths))]
    choice = EngineChoice("vllm", "simulated", options={"max_num_seqs": 256})
    work = Work(choice, "run", None, Keep(), SamplingParams(), None)  # type: ignore[arg-type]
    pieces = work.pieces(items, N_WORKERS)
    parts = [
        item._replace(samples=item.samples[start : start + 64])
        for item in items
        for start in range(0, budget, 64)
    ]
    found = {
        "four parts of 64 to the end": _on_workers(lengths, parts, 4, all_at_once=True),
        "pieces": _on_workers(lengths, pieces, work.n_pieces(pieces), all_at_once=False),
    }
    speeds = [each["throughput_of_ideal"] for each in found.values()]
    size = {"trajectories_of_a_piece": len(pieces[0].samples), "pieces_at_a_worker": work.n_pieces(pieces)}
    return (
        found
        | size
        | {"times_faster": round(speeds[1] / speeds[0], 2), "expected_at_least": {"occupancy": 0.9}}
    )


def _on_workers(
    lengths: list[list[int]], pieces: Sequence[Todo], n_at_once: int, *, all_at_once: bool
) -> dict[str, float]:
    """Give pieces to workers, to each as it finishes one, or all that it may have as it has finished all."""
    waiting = deque(pieces)
    params = SamplingParams(max_tokens=MAX_TOKENS, n_logprobs=2)
    cores = [SimulatedCore(256, lengths) for _ in range(N_WORKERS)]
    feeds = [Feed() for _ in cores]
    left: list[Counter[int]] = [Counter() for _ in cores]

    def give(worker: int) -> None:
        if waiting:
            piece = waiting.popleft()
            job = Job((Message("user", piece.problem.question),), params, piece.samples)
            left[worker][feeds[worker].put(job)] = len(piece.samples)

    # In turn: Ray Data gives a piece to the worker that has the fewest.
    for _ in range(n_at_once):
        for worker in range(N_WORKERS):
            give(worker)
    samples = [SimulatedEngine(core, 256).sample_fed(feed) for core, feed in zip(cores, feeds, strict=True)]
    events: list[tuple[float, int, int]] = []

    def go_on(worker: int) -> None:
        with suppress(StopIteration):
            made = next(samples[worker])
            heapq.heappush(events, (cores[worker].seconds, worker, made.job))

    for worker in range(N_WORKERS):
        if not waiting:
            feeds[worker].close()
        go_on(worker)
    n = 0
    while events:
        _, worker, number = heapq.heappop(events)
        n += 1
        left[worker][number] -= 1
        if not left[worker][number]:
            del left[worker][number]
            for _ in range(0 if all_at_once and left[worker] else n_at_once - len(left[worker])):
                give(worker)
            if not waiting:
                for feed in feeds:
                    feed.close()
        go_on(worker)
    # Slots count until the last trajectory of all begins.
    begun = max(core.at_last_start[0] for core in cores)
    end = max(core.seconds for core in cores)
    busy = sum(core.busy_until(begun) for core in cores)
    n_tokens = sum(core.n_tokens for core in cores)
    return {"trajectories": n} | rounded(
        {
            "seconds": end,
            "n_tokens": n_tokens,
            "occupancy": busy / begun / 256 / N_WORKERS if begun else 0.0,
            "occupancy_with_tail": sum(core.busy for core in cores) / end / 256 / N_WORKERS,
            "throughput_of_ideal": n_tokens / end / cores[0].ideal() / N_WORKERS,
        }
    )


def _batches(jobs: Sequence[Job], size: int, n: int) -> Iterator[list[Job]]:
    parts = [
        job._replace(indices=job.indices[start : start + size])
        for job in jobs
        for start in range(0, len(job.indices), size)
    ]
    for start in range(0, len(parts), n):
        yield parts[start : start + n]


def scan_section(_lengths: list[list[int]], _budget: int) -> dict[str, Any]:
    """Processor time of a step beside the core, with few and many waiting, and that of the former scan."""
    found: dict[str, Any] = {}
    for n_waiting in (1_000, 101_376):
        core = SimulatedCore(256, [[10**9]])
        engine = SimulatedEngine(core, 256)
        inside = [0]
        step = core.step

        def timed(step: Callable[[], Any] = step, inside: list[int] = inside) -> Any:
            begun = time.process_time_ns()
            try:
                return step()
            finally:
                inside[0] += time.process_time_ns() - begun

        core.step = timed  # type: ignore[method-assign]
        steps: list[float] = []
        last = [time.process_time_ns()]

        def watch(
            _: Any, steps: list[float] = steps, last: list[int] = last, inside: list[int] = inside
        ) -> None:
            now = time.process_time_ns()
            steps.append((now - last[0] - inside[0]) / 1e6)
            last[0], inside[0] = now, 0
            if len(steps) == 200:
                raise StopIteration

        with suppress(RuntimeError):
            list(engine.sample_all(jobs_of(1, n_waiting), watch=watch))
        waiting = {str(number): [0] for number in range(n_waiting)}
        begun = time.process_time_ns()
        sum(len(tokens) for tokens in waiting.values())
        scan = (time.process_time_ns() - begun) / 1e6
        found[f"{n_waiting} waiting"] = {
            "milliseconds_per_step": round(sorted(steps)[len(steps) // 2], 3),
            "former_scan_milliseconds": round(scan, 3),
        }
    few, many = (each["milliseconds_per_step"] for each in found.values())
    return found | {"many_over_few": round(many / few, 2), "expected_at_most": {"many_over_few": 1.5}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lengths", type=Path)
    parser.add_argument("--section", choices=["engine", "ray", "scan"], action="append")
    parser.add_argument("--shrink", type=int, default=128)
    parser.add_argument("--budget", type=int, default=64)
    args = parser.parse_args()
    sections = {"engine": engine_section, "ray": ray_section, "scan": scan_section}
    lengths = real_lengths(args.lengths, args.shrink)
    report: dict[str, Any] = {
        "questions": len(lengths),
        "mean_length": round(sum(map(sum, lengths)) / sum(map(len, lengths)), 1),
    }
    for name in args.section or sections:
        report[name] = sections[name](lengths, args.budget)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
