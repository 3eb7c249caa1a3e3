"""Does any input break a reader? A million spoiled files, replies and answers; prints JSON.

    python bench/fuzz.py [--share 1.0] [--first 0] [TARGET ...]

Every target gets its inputs in processes of its own, a few thousand each, with 4 GB of address space, so that
also a crash of a library is seen and its seeds are named. What may come back is a result or an error of ours,
within a second of processor time. `--share 0.01` gives each target a hundredth of its inputs; `--first`
begins at another seed. The exit code is 1 if anything was found; tests/faults/fuzzing.py makes the inputs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

INPUTS = {
    "extraction": 450_000,
    "equivalence": 330_000,
    "jsonl": 50_000,
    "csv": 50_000,
    "deepconf": 40_000,
    "openai": 20_000,
    "lm-eval": 20_000,
    "inspect": 20_000,
    "parquet": 15_000,
    "table": 5_000,
    "benchmark": 5_000,
    "vllm": 5_000,
    "nemo-skills": 5_000,
    "search-and-learn": 5_000,
    "self-certainty": 5_000,
    "run": 3_000,
    "mathverify": 1_000,
}
"""How many inputs each target gets: fewer where one takes longer."""

N_TOGETHER = {"extraction": 50_000, "equivalence": 20_000, "run": 500}
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


def fuzzed(target: str, first: int, n: int) -> dict[str, Any]:
    """Give a target n inputs in processes, and add up what came of it."""
    total: dict[str, Any] = {"inputs": 0, "refused": 0, "slowest_ms": 0.0, "finds": []}
    begun = time.perf_counter()
    together = N_TOGETHER.get(target, _TOGETHER)
    for start in range(first, first + n, together):
        size = min(together, first + n - start)
        command = [sys.executable, __file__, "--child", target, str(start), str(size)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            total["finds"].append([target, start, f"{size} inputs took more than {_PATIENCE} s"])
            continue
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            total["finds"].append([target, start, f"the process ended with {done.returncode}: {last}"])
            continue
        counts = json.loads(done.stdout)
        total["inputs"] += counts["n_inputs"]
        total["refused"] += counts["n_refused"]
        total["slowest_ms"] = round(max(total["slowest_ms"], counts["slowest"] * 1e3), 1)
        total["finds"] += counts["finds"]
        for find in counts["finds"]:
            print(*find, file=sys.stderr)
        print(f"{target}: {total['inputs']:,} inputs, {len(total['finds'])} finds", file=sys.stderr)
    return total | {"seconds": round(time.perf_counter() - begun, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(INPUTS))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child[0], int(args.child[1]), int(args.child[2]))
        return 0
    results = {
        target: fuzzed(target, args.first, max(1, int(INPUTS[target] * args.share)))
        for target in args.targets or INPUTS
    }
    n_finds = sum(len(result["finds"]) for result in results.values())
    n_inputs = sum(result["inputs"] for result in results.values())
    print(json.dumps({"targets": results, "inputs": n_inputs, "finds": n_finds}, indent=2))
    return 1 if n_finds else 0


if __name__ == "__main__":
    sys.exit(main())
