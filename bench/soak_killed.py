"""A run that is killed again and again: nothing that was stored is lost, doubled, changed or unreadable.

`distrivote generate` is killed with SIGKILL at random moments, half of them anywhere between its start and a
few seconds later, half right behind a change in the folder of parts, where a write may be under way. After
each kill every file is opened and compared with what was there before. A run that gets to its end is compared
with one that was never interrupted (for one slot and for servers; `seconds`, a clock, is left out), and
another is begun.

    python bench/soak_killed.py [--engine embedded] [--kills 50] [--seconds S] [--state FILE]
    python bench/soak_killed.py --kills 5 -- --base-url http://127.0.0.1:8080/v1 --model MODEL

`--engine` is one of these:

    embedded    the built-in model, one slot
    openai      a server on loopback; every command is forked from a process that has imported everything
    processes   the same server, `--processes 2`: the command or one of its client processes is killed
    shards      the same server, two commands on one run, one of them for each shard; one or both are killed

Counts are kept in a file by `--state`: the same command goes on where it was stopped, and `--seconds` ends it
in time. Prints JSON, and fails if anything was lost.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import pyarrow.parquet as pq

from distrivote.store.columns import ANSWER_CLASS
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA

ROOT = Path(__file__).parent.parent
sys.path[0] = str(ROOT / "tests")  # not this folder, whose engines.py would hide that of the tests

CLOCKS = ("seconds",)
COLUMNS = [name for name in SCHEMA.names if name not in CLOCKS]

Rows: TypeAlias = dict[tuple[str, int], dict[str, Any]]
"""The rows of a run by question and sample."""


class Way(NamedTuple):
    """How the commands of an engine are started and killed."""

    benchmark: list[str]
    options: list[str]
    longest: float
    """Seconds to a kill that is not aimed at a write."""

    loopback: bool = True
    is_forked: bool = True
    shards: tuple[str, ...] = ()


_SMALL = ["arithmetic", "--size", "8", "--budget", "6", "--seed", "6"]
_LARGE = ["arithmetic", "--size", "8", "--budget", "24", "--seed", "6"]
_TOY = ["--model", "toy", "--no-ssc", "--parallel", "4"]
WAYS = {
    "embedded": Way(
        _SMALL, ["--max-tokens", "8", "--threads", "1", "--slots", "1"], 5.0, loopback=False, is_forked=False
    ),
    "openai": Way(_LARGE, _TOY, 1.0),
    "processes": Way(_LARGE, [*_TOY, "--processes", "2"], 5.0, is_forked=False),
    "shards": Way(_LARGE, _TOY, 1.5, shards=("1/2", "2/2")),
}
IMPORTED = [
    "__main__",
    "distrivote.answers.kinds",
    "distrivote.benchmarks.registry",
    "distrivote.cli.generate",
    "distrivote.cli.main",
    "distrivote.engines.openai.engine",
    "distrivote.engines.shared",
    "distrivote.generation.run",
    "distrivote.store.runs.writer",
    "distrivote.voting.vote",
    "pyarrow.dataset",
    "pyarrow.fs",
]
"""What a forked command need not import any more."""

_KILLED_CLIENT = "a client process was killed"


def stored(path: Path) -> Rows:
    """Return every trajectory of a run but for its clock."""
    run = Run.open(path)
    rows = run.table(COLUMNS).to_pylist()
    if run.notes:
        raise AssertionError(f"unreadable: {run.notes}")
    found = {(row["question_id"], row["sample"]): row for row in rows}
    assert len(found) == len(rows), "doubled"
    return found


def changes(before: Rows, now: Rows) -> list[tuple[str | None, str | None]]:
    """Return the rows of `before` that are not the same now, bit for bit, as they were and as they are.

    Classes are numbered by first appearance: a sample that arrives before others gives these new numbers. So
    it is compared which of the rows of `before` share a class.
    """
    kept = {key: now[key] for key in before if key in now}
    was, is_now = _by_members(before), _by_members(kept)
    return [(was[key], is_now.get(key)) for key in before if was[key] != is_now.get(key)]


def _by_members(rows: Rows) -> dict[tuple[str, int], str]:
    """Return rows as text, each class named by its first sample; -1 stays: no answer."""
    names: dict[tuple[str, int], int] = {}
    for question, sample in sorted(rows):
        names.setdefault((question, rows[question, sample][ANSWER_CLASS]), sample)
    return {
        key: repr(row | {ANSWER_CLASS: names[key[0], row[ANSWER_CLASS]] if row[ANSWER_CLASS] >= 0 else -1})
        for key, row in rows.items()
    }


def n_files(path: Path) -> int:
    """Open every part without this library, and return how many there are."""
    names = sorted(path.glob("parts/[!.]*"))
    for name in names:
        assert name.suffix == ".parquet", f"set aside: {name.name}"
        pq.read_table(name, partitioning=None)
    return len(names)


def changed(folder: Path, process: Started, seconds: float) -> bool:
    """Wait until something in a folder changes, the process ends or the time is up; say whether it lives."""
    before = _names(folder)
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None and _names(folder) == before:
        time.sleep(0.0005)
    return process.poll() is None


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*")} | {path.name for path in folder.glob(".*")}


class Started(Protocol):
    """A command that runs: a subprocess, or one that was forked."""

    pid: int

    def poll(self) -> int | None: ...
    def kill(self) -> None: ...
    def wait(self) -> int: ...


class Forked:
    """A command in a process that is forked from one that has imported the package already."""

    def __init__(self, words: list[str], errors: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(IMPORTED)
        self._process = context.Process(target=_run, args=(words, str(errors)))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def _run(words: list[str], errors: str) -> None:
    from distrivote.cli.main import main as command

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.argv = ["distrivote", *words]
    command()


def started(words: list[str], errors: Path, is_forked: bool) -> Started:
    if is_forked:
        return Forked(words, errors)
    with errors.open("ab") as file:
        command = [sys.executable, "-m", "distrivote", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file)


def clients_of(pid: int) -> list[int]:
    """Return the client processes of a command (Linux)."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(each) for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def killed_once(way: Way, words: list[str], path: Path, rng: random.Random, longest: float) -> str:
    """Start a run and kill it; return at what it was aimed, or `ended` if it was faster."""
    errors = path.with_suffix(".errors")
    errors.write_bytes(b"")
    commands = [[*words, "--shard", shard] for shard in way.shards] or [words]
    running = [started(each, errors, way.is_forked) for each in commands]
    clients: list[int] = []
    try:
        aim = rng.choice(("anywhere", "a write"))
        if aim == "anywhere":
            time.sleep(rng.uniform(0.0, longest))
        elif changed(path / "parts", running[0], 60.0):
            time.sleep(rng.uniform(0.0, 0.01))
        clients = [pid for each in running for pid in clients_of(each.pid)]
        if clients and rng.random() < 0.5:
            os.kill(rng.choice(clients), signal.SIGKILL)
            aim = "a client process"
        else:
            for each in rng.sample(running, rng.randint(1, len(running))):
                if each.poll() is None:
                    each.kill()
        codes = [each.wait() for each in running]
    finally:
        for each in running:
            if each.poll() is None:
                each.kill()
                each.wait()
    said = errors.read_text()
    if aim == "a client process":
        assert codes == [0] or (codes == [1] and _KILLED_CLIENT in said), said
    else:
        assert all(code in (0, -signal.SIGKILL) for code in codes), (codes, said)
    end = time.monotonic() + 30
    while time.monotonic() < end and any(map(is_alive, clients)):
        time.sleep(0.01)
    assert not any(map(is_alive, clients)), "a client process goes on without its command"
    return aim if aim == "a client process" or -signal.SIGKILL in codes else "ended"


class Counts:
    """What was seen, in a file that is replaced as a whole, or in memory only."""

    def __init__(self, path: Path | None, engine: str) -> None:
        self._path = path
        self._all: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            self._all = json.loads(path.read_text())
        nothing = {"kills": {}, "n_ended": 0, "n_runs_completed": 0, "n_trajectories_compared": 0}
        nothing |= {"n_rows_compared_after_kills": 0, "n_files_opened": 0, "seconds": 0.0}
        self.mine: dict[str, Any] = self._all.setdefault(engine, nothing)

    @property
    def n_kills(self) -> int:
        return sum(self.mine["kills"].values())

    def add(self, **numbers: float) -> None:
        for name, number in numbers.items():
            self.mine[name] = round(self.mine[name] + number, 1)

    def killed(self, aim: str) -> None:
        if aim == "ended":
            self.mine["n_ended"] += 1
        else:
            self.mine["kills"][aim] = self.mine["kills"].get(aim, 0) + 1

    def keep(self) -> None:
        if self._path is not None:
            beside = self._path.with_suffix(".new")
            beside.write_text(json.dumps(self._all, indent=1))
            beside.replace(self._path)


def soak(
    way: Way, words: list[str], is_exact: bool, counts: Counts, n_kills: int, end: float, folder: Path
) -> None:
    """Kill so many runs, and count what was seen."""
    rng = random.Random(counts.n_kills)
    subprocess.run(
        [sys.executable, "-m", "distrivote", *words, str(folder / "whole")],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    whole = stored(folder / "whole")
    seen: Rows = {}
    n_runs = 1
    path = folder / "killed-1"
    while counts.n_kills < n_kills and time.monotonic() < end:
        begun = time.monotonic()
        aim = killed_once(way, [*words, str(path)], path, rng, way.longest)
        if (path / "manifest.json").exists():
            now = stored(path)
            lost = changes(seen, now)
            assert not lost, f"lost or changed after {aim}: {lost}"
            counts.add(n_rows_compared_after_kills=len(seen), n_files_opened=n_files(path))
            seen = now
            if len(now) == len(whole):
                _compare(now, whole, is_exact)
                counts.add(n_runs_completed=1, n_trajectories_compared=len(whole))
                n_runs += 1
                path, seen = folder / f"killed-{n_runs}", {}
        counts.killed(aim)
        counts.add(seconds=time.monotonic() - begun)
        counts.keep()
    subprocess.run(
        [sys.executable, "-m", "distrivote", *words, str(path)], check=True, stdout=subprocess.DEVNULL
    )
    last = stored(path)
    lost = changes(seen, last)
    assert not lost, f"lost or changed at the end: {lost}"
    _compare(last, whole, is_exact)
    counts.add(n_runs_completed=1, n_trajectories_compared=len(whole))
    counts.keep()


def _compare(found: Rows, whole: Rows, one_slot: bool) -> None:
    assert found.keys() == whole.keys()
    if one_slot:
        different = [(found[key], whole[key]) for key in whole if repr(found[key]) != repr(whole[key])]
        assert not different, f"other than uninterrupted: {different[:1]}"


@contextmanager
def loopback(is_wanted: bool) -> Iterator[list[str]]:
    """Give the options that name a server, which answers by the seed alone and takes its time."""
    if not is_wanted:
        yield []
        return
    from engines.scripted_server import Reply, Request, ScriptedServer
    from faults.faulty_server import SeededModel

    def answer(request: Request) -> Reply:
        reply = SeededModel()(request)
        reply.pause = 0.005
        return reply

    with ScriptedServer(answer) as server:
        yield ["--base-url", server.url]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engine", choices=WAYS, default="embedded")
    parser.add_argument("--kills", type=int, default=50, help="in all, those of the file included")
    parser.add_argument("--longest", type=float, help="seconds to a kill that is not aimed at a write")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing new after this")
    parser.add_argument("--state", type=Path, help="a file of counts, to go on")
    parser.add_argument("--several-slots", action="store_true", help="embedded: four")
    parser.add_argument("options", nargs="*", help="of generate, behind --, in place of the engine's")
    asked = parser.parse_args()
    way = WAYS[asked.engine]
    if asked.several_slots:
        way = way._replace(options=[*way.options[:-1], "4"])
    if asked.options:
        way = way._replace(options=asked.options, loopback=False)
    if asked.longest is not None:
        way = way._replace(longest=asked.longest)
    counts = Counts(asked.state, asked.engine)
    end = time.monotonic() + asked.seconds
    is_exact = not asked.several_slots
    folder = Path(tempfile.mkdtemp(prefix="soak-killed-"))  # it stays where something was lost
    with loopback(way.loopback) as server:
        words = ["generate", *way.benchmark, *way.options, *server, "-o"]
        soak(way, words, is_exact, counts, asked.kills, end, folder)
    shutil.rmtree(folder)
    nothing = {"n_lost": 0, "n_doubled": 0, "n_unreadable": 0, "same_as_uninterrupted": is_exact}
    print(json.dumps({"engine": asked.engine, "n_kills": counts.n_kills} | counts.mine | nothing, indent=2))


if __name__ == "__main__":
    main()
