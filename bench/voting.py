"""How fast is a vote? Every competitor in the same run, as ratios; prints JSON.

    python bench/voting.py [--section pools|meanshift|grid|growth|table|start] [--rows 10000000]

Times are the best of a few repeats that alternate between the competitors, on one thread (`make bench`
sets OMP_NUM_THREADS=1) but for the table, which everybody may read with all cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import distrivote

GRID = ["sc", "bon", "mob", "wsc", "hier", "wsc-top50", "wsc-gmm", "hier-top50", "hier-gmm"]
GRID += ["wsc-top50-reject", "wsc-gmm-reject", "dis-top50", "dis-gmm"]


SUM = "duckdb sum"
"""What reading a file and grouping its rows takes at least: sums by question and answer."""


def make_pools(n: int, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw pools with two humps of confidence: class 0 is right, wrong answers follow a geometric law."""
    rng = np.random.default_rng(seed)
    right = rng.random((n, m)) < rng.beta(2, 2, (n, 1))
    gap = rng.uniform(0.5, 4.0, (n, 1))
    confidences = np.where(right, 14 + gap, 14 - gap) + rng.normal(0, 1.2, (n, m))
    wrong = np.minimum(rng.geometric(0.3, (n, m)), 30)
    return np.where(right, 0, wrong), np.maximum(confidences, 0.1)


def best_times(repeats: int, calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the best time of each call, taking turns so that noise hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: min(values) for name, values in times.items()}


def pools_section() -> dict[str, Any]:
    """One thread, pools of 128: against the scikit-learn loop, and scorio for the votes it has.

    Its majority of the bests has m = floor(sqrt n), as `mob-poly` has; the loop chooses m as `mob` does.
    """
    from scorio import aggregate

    import sklearn_loop

    classes, confidences = make_pools(8192, 128)
    few, some = 100, 1000
    ours = {
        f"distrivote {name}": lambda name=name: distrivote.vote_batch(classes, confidences, [name])
        for name in ("dis-gmm", "sc", "wsc", "bon", "mob", "mob-poly")
    }
    loops = {
        f"sklearn {name}": lambda name=name: sklearn_loop.run(name, classes[:few], confidences[:few])
        for name in ("dis-gmm", "sc", "wsc", "bon", "mob")
    }
    rivals = {
        "scorio sc": lambda: aggregate.majority_vote(classes[:some]),
        "scorio wsc": lambda: aggregate.weighted_majority_vote(classes[:some], confidences[:some]),
        "scorio bon": lambda: aggregate.best_of_n(classes[:some], confidences[:some]),
        "scorio mob-poly": lambda: aggregate.majority_of_the_bests(classes[:some], confidences[:some]),
    }
    counts = dict.fromkeys(ours, len(classes)) | dict.fromkeys(loops, few) | dict.fromkeys(rivals, some)
    times = best_times(5, ours | loops | rivals)
    per_vote = {name: seconds / counts[name] * 1e6 for name, seconds in times.items()}
    agreement = np.mean(
        sklearn_loop.run("dis-gmm", classes[:few], confidences[:few])
        == distrivote.vote_batch(classes[:few], confidences[:few], ["dis-gmm"])["dis-gmm"]
    )
    names = [name.removeprefix("scorio ") for name in rivals]
    theirs = {name: np.array(rivals[f"scorio {name}"]()) for name in names}
    winners = distrivote.vote_batch(classes[:some], confidences[:some], names)
    return {
        "microseconds_per_vote": {name: round(value, 2) for name, value in per_vote.items()},
        "times_faster": {
            name: round(value / per_vote["distrivote " + name.split()[1]], 1)
            for name, value in per_vote.items()
            if not name.startswith("distrivote")
        },
        "same_winner_as_the_sklearn_loop": float(agreement),
        "same_winner_as_scorio": {name: float(np.mean(theirs[name] == winners[name])) for name in names},
        "expected_at_least": {"sklearn dis-gmm": 100},
    }


def meanshift_section() -> dict[str, Any]:
    """One thread, pools of 128: the mean-shift split against scikit-learn's, timed on a few pools."""
    import sklearn_loop

    classes, confidences = make_pools(2048, 128)
    few = 8
    calls = {
        "distrivote": lambda: distrivote.vote_batch(classes, confidences, ["wsc-meanshift"]),
        "sklearn": lambda: sklearn_loop.run("wsc-meanshift", classes[:few], confidences[:few]),
    }
    times = best_times(3, calls)
    ours, theirs = times["distrivote"] / len(classes), times["sklearn"] / few
    same = sklearn_loop.run("wsc-meanshift", classes[:few], confidences[:few])
    winners = distrivote.vote_batch(classes[:few], confidences[:few], ["wsc-meanshift"])["wsc-meanshift"]
    return {
        "milliseconds_per_pool": {"distrivote": round(ours * 1e3, 3), "sklearn": round(theirs * 1e3, 1)},
        "times_faster": round(theirs / ours),
        "same_winner": float(np.mean(same == winners)),
        "expected_at_least": {"times_faster": 500},
    }


def make_grid() -> tuple[np.ndarray, np.ndarray]:
    """Return the paper's grid: 318 questions, 64 draws of 128 out of 512."""
    classes, confidences = make_pools(318, 512, seed=1)
    rng = np.random.default_rng(2)
    draws = np.argsort(rng.random((64, 512)), axis=1)[:, :128]
    return (
        classes[:, draws].reshape(-1, 128),
        confidences[:, draws].reshape(-1, 128),
    )


def grid_child() -> None:
    """Run the grid alone in this process, so that its peak memory can be seen."""
    import resource

    classes, confidences = make_grid()
    start = time.perf_counter()
    distrivote.vote_batch(classes, confidences, GRID)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


def grid_section() -> dict[str, Any]:
    """13 methods x 318 questions x 64 draws; the loop is timed on a part and scaled up."""
    import sklearn_loop

    classes, confidences = make_grid()
    part = np.linspace(0, len(classes) - 1, 40).astype(int)
    results = []
    for _ in range(3):
        start = time.perf_counter()
        for method in GRID:
            sklearn_loop.run(method, classes[part], confidences[part])
        loop = (time.perf_counter() - start) / len(part) * len(classes)
        child = subprocess.run(
            [sys.executable, __file__, "--section", "grid-child"], capture_output=True, check=True
        )
        ours = json.loads(child.stdout)
        results.append((loop, ours["seconds"], ours["peak_mb"]))
    loop, seconds, peak = (min(column) for column in zip(*results, strict=True))
    return {
        "pools": len(classes),
        "seconds": round(seconds, 2),
        "sklearn_loop_seconds": round(loop, 1),
        "sklearn_loop_timed_on_pools": len(part),
        "times_faster": round(loop / seconds, 1),
        "peak_mb": round(peak, 1),
        "expected_at_least": {"times_faster": 100},
        "expected_at_most": {"peak_mb": 600},
    }


def growth_section() -> dict[str, Any]:
    """The cost per trajectory of dis-gmm must not depend on the size of the pool."""
    calls = {}
    for m in (128, 1024, 8192):
        classes, confidences = make_pools(2**20 // m, m)
        calls[str(m)] = lambda c=classes, f=confidences: distrivote.vote_batch(c, f, ["dis-gmm"])
    times = {name: seconds / 2**20 * 1e9 for name, seconds in best_times(5, calls).items()}
    return {
        "nanoseconds_per_trajectory": {name: round(value, 1) for name, value in times.items()},
        "cost_over_proportional": {name: round(value / times["128"], 2) for name, value in times.items()},
        "expected_at_most": {"cost_over_proportional": 1.5},
    }


def make_table(path: Path, n_rows: int, m: int = 128) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = -(-n_rows // m)
    classes, confidences = make_pools(n, m, seed=3)
    base = np.random.default_rng(4).integers(0, 1000, (n, 1))
    answers = pa.array((base + 7 * classes).ravel()[:n_rows]).cast(pa.string())
    questions = np.repeat(np.arange(n), m)[:n_rows]
    table = {"question_id": questions, "answer": answers, "confidence": confidences.ravel()[:n_rows]}
    pq.write_table(pa.table(table), path)


def table_section(n_rows: int) -> dict[str, Any]:
    """The command on a Parquet file, against just reading and grouping its three columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.parquet"
        make_table(path, n_rows)
        command = [str(Path(sys.executable).with_name("distrivote")), "vote", str(path), "--json"]
        code = {
            "polars sum": "import polars as pl; pl.scan_parquet({0!r}).group_by('question_id', 'answer')"
            ".agg(pl.col('confidence').sum()).collect()",
            "polars lists": "import polars as pl; pl.scan_parquet({0!r}).group_by('question_id')"
            ".agg('answer', 'confidence').collect()",
            SUM: 'import duckdb; duckdb.sql("select question_id, answer, sum(confidence)'
            " from '{0}' group by all\").fetchnumpy()",
            "duckdb lists": 'import duckdb; duckdb.sql("select question_id, list(answer),'
            " list(confidence) from '{0}' group by all\").to_arrow_table()",
        }
        calls = {name: [sys.executable, "-c", text.format(str(path))] for name, text in code.items()}
        for method in ("wsc", "dis-gmm"):
            calls[f"distrivote {method}"] = [*command, "--method", method]
        times, used = best_processes(3, calls)
    reading = min(seconds for name, seconds in times.items() if not name.startswith("distrivote"))
    ours = [name for name in times if name.startswith("distrivote")]
    return {
        "rows": n_rows,
        "seconds": {name: round(seconds, 2) for name, seconds in times.items()},
        "processor_seconds": {name: round(seconds, 2) for name, seconds in used.items()},
        "over_fastest_reading": {name: round(times[name] / reading, 2) for name in ours},
        "over_duckdb_sum": {name: round(seconds / times[SUM], 2) for name, seconds in times.items()},
        "over_duckdb_sum_by_processor": {name: round(each / used[SUM], 2) for name, each in used.items()},
        "duckdb_sum_to_ours": {name: round(times[SUM] / times[name], 2) for name in ours},
        "load": round(os.getloadavg()[0], 1),
        "expected_at_most": {"over_duckdb_sum": {"distrivote wsc": 1.5, "distrivote dis-gmm": 3}},
    }


def best_processes(repeats: int, commands: dict[str, list[str]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the best time of each command, by the clock and of processors, taking turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            start = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise subprocess.CalledProcessError(process.returncode, command)
            found[name].append((time.perf_counter() - start, usage.ru_utime + usage.ru_stime))
    clock, used = ({name: min(each[i] for each in runs) for name, runs in found.items()} for i in (0, 1))
    return clock, used


def start_section() -> dict[str, Any]:
    """Start-up: importing, the first vote, and the command's help."""
    first_vote = (
        "import distrivote, time; start = time.perf_counter(); distrivote.vote(list('aabbbacbda'),"
        " [9., 8, 7, 6.5, 6, 9.5, 5, 4, 3, 8.8]); print(time.perf_counter() - start)"
    )
    calls = {
        "empty python": _quietly([sys.executable, "-c", ""]),
        "import distrivote": _quietly([sys.executable, "-c", "import distrivote"]),
        "import typer, rich": _quietly([sys.executable, "-c", "import typer, rich"]),
        "distrivote --help": _quietly([str(Path(sys.executable).with_name("distrivote")), "--help"]),
    }
    times = best_times(15, calls)
    firsts = [
        float(subprocess.run([sys.executable, "-c", first_vote], capture_output=True).stdout)
        for _ in range(5)
    ]
    return {
        "milliseconds": {name: round(seconds * 1e3, 1) for name, seconds in times.items()},
        "import_beyond_empty_ms": round((times["import distrivote"] - times["empty python"]) * 1e3, 1),
        "first_vote_ms": round(min(firsts) * 1e3, 2),
        "help_over_typer_and_rich": round(times["distrivote --help"] / times["import typer, rich"], 2),
        "expected_at_most": {
            "import_beyond_empty_ms": 300,
            "first_vote_ms": 20,
            "help_over_typer_and_rich": 2,
        },
    }


def _quietly(command: list[str]) -> Callable[[], object]:
    return lambda: subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    sections = {
        "pools": pools_section,
        "meanshift": meanshift_section,
        "grid": grid_section,
        "growth": growth_section,
        "start": start_section,
    }
    parser.add_argument("--section", choices=[*sections, "table", "grid-child"], action="append")
    parser.add_argument("--rows", type=int, default=10_000_000)
    args = parser.parse_args()
    if args.section == ["grid-child"]:
        return grid_child()
    report = {}
    for name in args.section or [*sections, "table"]:
        report[name] = table_section(args.rows) if name == "table" else sections[name]()
        print(f"{name} done", file=sys.stderr)
    print(json.dumps(report, indent=2))
    return None


if __name__ == "__main__":
    main()
