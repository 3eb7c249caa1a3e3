"""Does any input break a reader? Ten million spoiled files, replies and answers; prints JSON.

    python bench/fuzz.py [--share 1.0] [--jobs 1] [--seconds S] [--state FILE] [--first-seed 0] [TARGET ...]

Every target gets its inputs in processes of its own, some thousands each, with 4 GB of address space, so that
also a crash of a library is seen and its seeds are named. What may come back is a result or an error of ours,
within a second of processor time. `--share 0.01` gives each target a hundredth of its inputs.

Counts, the next seed of every target and all finds are kept in a file (`--state`): the same command goes on
where it was stopped or killed, and `--seconds` ends it in time. Finds stay there until the file is removed.
`--first-seed` is for a second file: with it, another machine makes other inputs.
The exit code is 1 if there are any; tests/faults/fuzzing.py makes the inputs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

INPUTS = {
    "extraction": 2_500_000,
    "events": 2_000_000,
    "json-answer": 1_500_000,
    "equivalence": 1_500_000,
    "stream": 500_000,
    "kinds": 400_000,
    "program": 300_000,
    "jsonl": 250_000,
    "csv": 250_000,
    "deepconf": 250_000,
    "fields": 200_000,
    "reward": 200_000,
    "openai": 100_000,
    "lm-eval": 100_000,
    "inspect": 60_000,
    "parquet": 60_000,
    "table": 40_000,
    "benchmark": 40_000,
    "nemo-skills": 40_000,
    "self-certainty": 40_000,
    "vllm": 30_000,
    "search-and-learn": 30_000,
    "responses": 30_000,
    "prefix-consistency": 30_000,
    "prs": 30_000,
    "answer-tokens": 30_000,
    "ssc-steps": 30_000,
    "run": 6_000,
    "mathverify": 4_000,
}
"""How many inputs each target gets, 10.5 million in all: fewer where one takes longer."""

N_TOGETHER = {
    "extraction": 50_000,
    "events": 50_000,
    "equivalence": 20_000,
    "json-answer": 20_000,
    "run": 500,
}
_TOGETHER = 5_000
_PATIENCE = 1800
_ADDRESS_SPACE = 4 << 30


def child(target: str, first: int, n: int) -> None:
    """Give a target some inputs, here, and print what came of it."""
    import resource

    from faults.fuzzing import fuzz

    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        counts = fuzz(target, first, n, Path(folder))
    print(json.dumps(counts._asdict()))


class Counted:
    """What came of all inputs so far, in a file that is replaced as a whole."""

    def __init__(self, path: Path, first_seed: int = 0) -> None:
        self._path, self._first_seed = path, first_seed
        self.targets: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, target: str) -> dict[str, Any]:
        first = self._first_seed
        counts = {"inputs": 0, "refused": 0, "slowest_ms": 0.0, "seconds": 0.0}
        return self.targets.setdefault(
            target, {"first_seed": first, "next_seed": first} | counts | {"finds": []}
        )

    def n_tried(self, target: str) -> int:
        """Return how many seeds were used, those of processes that crashed included."""
        mine = self.of(target)
        return int(mine["next_seed"]) - int(mine.get("first_seed", 0))

    def add(self, target: str, size: int, seconds: float, found: dict[str, Any]) -> None:
        """Count inputs; those of a process that crashed are passed over, and their first seed is a find."""
        mine = self.of(target)
        mine["next_seed"] += size
        mine["inputs"] += found["n_inputs"]
        mine["refused"] += found["n_refused"]
        mine["slowest_ms"] = round(max(mine["slowest_ms"], found["slowest"] * 1e3), 1)
        mine["seconds"] = round(mine["seconds"] + seconds, 1)
        mine["finds"] += found["finds"]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(self.targets, indent=1))
        os.replace(beside, self._path)

    @property
    def n_inputs(self) -> int:
        return sum(int(mine["inputs"]) for mine in self.targets.values())

    @property
    def n_finds(self) -> int:
        return sum(len(mine["finds"]) for mine in self.targets.values())


def fuzzed(target: str, start: int, size: int) -> dict[str, Any]:
    """Give a target some inputs in a process of its own; return what came of it."""
    command = [sys.executable, __file__, "--child", target, str(start), str(size)]
    nothing: dict[str, Any] = {"n_inputs": 0, "n_refused": 0, "slowest": 0.0}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return nothing | {"finds": [[target, start, f"{size} inputs took more than {_PATIENCE} s"]]}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return nothing | {"finds": [[target, start, f"the process ended with {done.returncode}: {last}"]]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def work(counted: Counted, wanted: dict[str, int], n_jobs: int, end: float) -> None:
    """Give all targets their inputs, each time to the one that has the least of its share."""
    lock, busy = threading.Lock(), set[str]()

    def one() -> None:
        while time.monotonic() < end:
            with lock:
                left = [name for name, n in wanted.items() if counted.n_tried(name) < n]
                free = [name for name in left if name not in busy]
                if not free:
                    return
                target = min(free, key=lambda name: counted.n_tried(name) / wanted[name])
                start = counted.of(target)["next_seed"]
                busy.add(target)
            size = min(N_TOGETHER.get(target, _TOGETHER), wanted[target] - counted.n_tried(target))
            begun = time.monotonic()
            found = fuzzed(target, start, size)
            with lock:
                counted.add(target, size, time.monotonic() - begun, found)
                busy.remove(target)
                for find in found["finds"]:
                    print(*find, file=sys.stderr)
                print(
                    f"{target}: {counted.n_inputs:,} inputs in all, {counted.n_finds} finds", file=sys.stderr
                )

    workers = [threading.Thread(target=one) for _ in range(n_jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(INPUTS))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1, help="processes at the same time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing new after this")
    parser.add_argument("--first-seed", type=int, default=0, help="of every target in a new file")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "fuzz.json")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child[0], int(args.child[1]), int(args.child[2]))
        return 0
    counted = Counted(args.state, args.first_seed)
    wanted = {target: max(1, int(INPUTS[target] * args.share)) for target in args.targets or INPUTS}
    work(counted, wanted, args.jobs, time.monotonic() + args.seconds)
    targets = {name: counted.of(name) | {"wanted": n} for name, n in wanted.items()}
    print(json.dumps({"targets": targets, "inputs": counted.n_inputs, "finds": counted.n_finds}, indent=2))
    return 1 if counted.n_finds else 0


if __name__ == "__main__":
    sys.exit(main())
