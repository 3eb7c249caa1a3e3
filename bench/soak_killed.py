"""A run that is killed again and again: nothing that was stored is lost, doubled, changed or unreadable.

`distrivote generate` is killed with SIGKILL at random moments, half of them anywhere between its start and a
few seconds later, half right behind a change in the folder of parts, where a write may be under way. After
each kill every file is opened and compared with what was there before. A run that gets to its end is compared
with one that was never interrupted (for one slot; `seconds`, a clock, is left out), and another is begun.

    python bench/soak_killed.py [--kills 50] [--several-slots] [-- OPTIONS OF generate]

Prints JSON, and fails if anything was lost.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA

BENCHMARK = ["arithmetic", "--size", "8", "--budget", "6", "--seed", "6"]
EMBEDDED = ["--max-tokens", "8", "--threads", "1"]
CLOCKS = ("seconds",)
COLUMNS = [name for name in SCHEMA.names if name not in CLOCKS]


def stored(path: Path) -> dict[tuple[str, int], str]:
    """Return every trajectory of a run, bit for bit but for its clock."""
    run = Run.open(path)
    rows = run.table(COLUMNS).to_pylist()
    if run.notes:
        raise AssertionError(f"unreadable: {run.notes}")
    found = {(row["question_id"], row["sample"]): repr(row) for row in rows}
    assert len(found) == len(rows), "doubled"
    return found


def n_files(path: Path) -> int:
    """Open every part without this library, and return how many there are."""
    names = sorted(path.glob("parts/[!.]*"))
    for name in names:
        assert name.suffix == ".parquet", f"set aside: {name.name}"
        pq.read_table(name, partitioning=None)
    return len(names)


def changed(folder: Path, process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait until something in a folder changes, the process ends or the time is up; say whether it lives."""
    before = _names(folder)
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None and _names(folder) == before:
        time.sleep(0.0005)
    return process.poll() is None


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*")} | {path.name for path in folder.glob(".*")}


def killed_once(command: list[str], path: Path, rng: random.Random, longest: float) -> str:
    """Start a run and kill it; return at what it was aimed, or `ended` if it was faster."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        aim = rng.choice(("anywhere", "a write"))
        if aim == "anywhere":
            time.sleep(rng.uniform(0.0, longest))
        elif changed(path / "parts", process, 60.0):
            time.sleep(rng.uniform(0.0, 0.01))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
    finally:
        _, errors = process.communicate()
    if process.returncode == -signal.SIGKILL:
        return aim
    assert process.returncode == 0, errors.decode()
    return "ended"


def soak(n_kills: int, longest: float, options: list[str], one_slot: bool, folder: Path) -> dict[str, Any]:
    """Kill so many runs, and return what was seen."""
    rng = random.Random(n_kills)
    generate = [sys.executable, "-m", "distrivote", "generate", *BENCHMARK, *options, "-o"]
    subprocess.run([*generate, str(folder / "whole")], check=True, stdout=subprocess.DEVNULL)
    whole = stored(folder / "whole")
    aims = {"anywhere": 0, "a write": 0, "ended": 0}
    seen: dict[tuple[str, int], str] = {}
    n_runs, n_checked, n_opened = 1, 0, 0
    path = folder / "killed-1"
    while sum(aims.values()) - aims["ended"] < n_kills:
        aims[killed_once([*generate, str(path)], path, rng, longest)] += 1
        if not (path / "manifest.json").exists():
            continue
        now = stored(path)
        lost = [key for key, row in seen.items() if now.get(key) != row]
        assert not lost, f"lost or changed: {lost}"
        n_checked += len(seen)
        n_opened += n_files(path)
        seen = now
        if len(now) == len(whole):
            n_runs += 1
            _compare(now, whole, one_slot)
            path, seen = folder / f"killed-{n_runs}", {}
    subprocess.run([*generate, str(path)], check=True, stdout=subprocess.DEVNULL)
    last = stored(path)
    assert all(last[key] == row for key, row in seen.items()), "lost at the end"
    _compare(last, whole, one_slot)
    return {
        "n_kills": sum(aims.values()) - aims["ended"],
        "kills": {name: n for name, n in aims.items() if name != "ended"},
        "n_runs_completed": n_runs,
        "n_trajectories": n_runs * len(whole),
        "n_rows_compared_after_kills": n_checked,
        "n_files_opened": n_opened,
        "n_lost": 0,
        "n_doubled": 0,
        "n_unreadable": 0,
        "same_as_uninterrupted": one_slot,
    }


def _compare(found: dict[tuple[str, int], str], whole: dict[tuple[str, int], str], one_slot: bool) -> None:
    assert found.keys() == whole.keys()
    if one_slot:
        different = [key for key in whole if found[key] != whole[key]]
        assert not different, f"other than uninterrupted: {[(found[k], whole[k]) for k in different[:1]]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument(
        "--longest", type=float, default=5.0, help="seconds to a kill that is not aimed at a write"
    )
    parser.add_argument("--several-slots", action="store_true")
    parser.add_argument("options", nargs="*", help="of generate, behind --; else the embedded engine runs")
    asked = parser.parse_args()
    slots = ["--slots", "4"] if asked.several_slots else ["--slots", "1"]
    options = asked.options or [*EMBEDDED, *slots]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-killed-") as folder:
        result = soak(asked.kills, asked.longest, options, not asked.several_slots, Path(folder))
    print(json.dumps(result | {"minutes": round((time.monotonic() - begun) / 60, 1)}, indent=2))


if __name__ == "__main__":
    main()
