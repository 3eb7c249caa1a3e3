"""Records the figures of the benchmarks, so that later ones can be compared with them.

    python bench/record.py [NAME ...] [--compare | --check]

Runs `bench/NAME.py` for every name, all of them if none is given, and writes what counts into
bench/recorded.json: ratios to competitors of the same run, shares, times, and the score of bench/mutants.py.
`python docs/speed.py` fills docs/speed.md with them. What other names have stays as it is, and so do
figures that a run does not print, such as those of a library that is not installed. After `--` come options
of one benchmark, as in `voting -- --section start`. `--compare` writes nothing and prints the figures
beside the recorded ones; `--check` also exits with 1 if a ratio to a competitor is more than a quarter worse
than recorded, or if nothing is recorded. The load of the machine is kept too: a record of a busy machine is
worth little.

All together take two hours of an idle machine; `embedded`, `stopping` and a part of `store` run the
built-in model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "bench" / "recorded.json"
HIGHER, LOWER = ("*times_faster*", "score"), ("*over_*",)
"""Ratios: those that should be high, and those that should be low."""

ALLOWED = 0.25
"""How much worse a ratio may be: runs of one version differ by up to a sixth."""

MATH_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Bench(NamedTuple):
    """A script and which of its figures count: patterns of their names, with points between the levels."""

    figures: tuple[str, ...]
    options: tuple[str, ...] = ()
    one_thread: bool = False


BENCHES = {
    "voting": Bench(("pools.*", "meanshift.*", "grid.*", "growth.*", "table.*", "start.*"), one_thread=True),
    "kinds": Bench(("*.ms", "*_ms", "text.times_faster_than_sklearn", "missed"), one_thread=True),
    "embedded": Bench(("speed.over_*", "speed.tokens_per_second.*", "controller.*", "prefix.*", "first.*")),
    "token_store": Bench(("*.bytes_per_token.*", "*.as_found")),
    "store": Bench(("size.*", "writing.storing_percent", "import.*", "openai.*")),
    "grading": Bench(("distrivote.seconds*", "math_verify_per_trajectory.*", "times_faster")),
    "engines": Bench(("client.*", "processes.two_*", "plugin.*")),
    "wire": Bench(("http.*", "json.*")),
    "server": Bench(
        ("replayed.requests_per_second", "replayed.p50_ms", "replayed.server_processor_ms", "ten_million_*")
    ),
    "stopping": Bench(("*.accuracy", "*.same_answer", "*.trajectories", "*.tokens_spent")),
    "evaluation": Bench(
        (
            "workers_*.seconds",
            "workers_*.times_faster_by_cpu",
            "workers_*.peak_mb",
            "sklearn_loop_cpu_seconds",
        ),
        one_thread=True,
    ),
    "trust": Bench(("*.single", "*.whole_run"), ("--json",), one_thread=True),
    "mutants": Bench(("mutants", "sample", "killed", "survived", "timed out", "broken", "score")),
}
EXPECTED = "*expected_at_*"
"""Bars are no figures."""


def named(report: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give every value of a report with its name; rows of a list are named by their first text.

    >>> dict(named({"a": {"b": 1}, "c": [{"rule": "beta", "share": 0.5}]}))
    {'a.b': 1, 'c.beta.rule': 'beta', 'c.beta.share': 0.5}
    """
    match report:
        case dict():
            items = list(report.items())
        case [dict(), *_]:
            items = [(next(v for v in row.values() if isinstance(v, str)).strip(), row) for row in report]
        case _:
            yield path, report
            return
    for name, inside in items:
        yield from named(inside, f"{path}.{name}" if path else str(name))


def figures(report: Any, patterns: tuple[str, ...]) -> dict[str, Any]:
    """Return the values that count."""
    return {
        name: value
        for name, value in named(report)
        if value != "" and not fnmatch(name, EXPECTED) and any(fnmatch(name, each) for each in patterns)
    }


def measured(name: str, more: list[str]) -> dict[str, Any]:
    """Run a benchmark and return its figures, with the load of the machine before it."""
    bench = BENCHES[name]
    load = round(os.getloadavg()[0], 1)
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / f"{name}.py"), *bench.options, *more],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | (MATH_THREADS if bench.one_thread else {}),
    )
    report = json.loads(done.stdout)
    if name == "mutants":
        # A mutant that runs for ever has been noticed.
        noticed, judged = report["killed"] + report["timed out"], report["sample"] - report["broken"]
        report["score"] = round(noticed / judged, 4)
    return {"load_average": load, "figures": figures(report, bench.figures)}


def compare(name: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Print the figures of a benchmark, recorded and now."""
    print(f"{name} (load {before.get('load_average', '-')} then, {now['load_average']} now)")
    old, new = before.get("figures", {}), now["figures"]
    for figure in dict.fromkeys([*old, *new]):
        print(f"  {figure:60}  {old.get(figure, '-')!s:>12}  {new.get(figure, '-')!s:>12}")


def worse(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the ratios that are worse than recorded by more than the allowed share.

    >>> worse({"a.times_faster": 10.0, "a.over_b": 1.0}, {"a.times_faster": 7.9, "a.over_b": 1.2})
    ['a.times_faster: 7.9, recorded 10.0']
    """
    found = []
    for name, value in now.items():
        old = before.get(name)
        if not isinstance(old, int | float) or not isinstance(value, int | float):
            continue
        higher = any(fnmatch(name, pattern) for pattern in HIGHER)
        lower = any(fnmatch(name, pattern) for pattern in LOWER)
        if (higher and value * (1 + ALLOWED) < old) or (lower and value > old * (1 + ALLOWED)):
            found.append(f"{name}: {value}, recorded {old}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--compare", action="store_true", help="print beside the record; write nothing")
    parser.add_argument("--check", action="store_true", help="the same, and fail if a ratio is clearly worse")
    given = sys.argv[1:]
    own, more = (given[: given.index("--")], given[given.index("--") + 1 :]) if "--" in given else (given, [])
    args = parser.parse_args(own)
    unknown = [name for name in args.names if name not in BENCHES]
    if unknown or (more and len(args.names) != 1):
        parser.error(f"no benchmark is called {unknown[0]}" if unknown else "options need one name")
    known: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    failures: list[str] = []
    for name in args.names or BENCHES:
        print(f"{name} ...", file=sys.stderr, flush=True)
        now = measured(name, more)
        if args.compare or args.check:
            compare(name, known.get(name, {}), now)
            before = known.get(name, {}).get("figures", {})
            failures += worse(before, now["figures"]) if before else [f"{name}: nothing is recorded yet"]
            continue
        was = known.get(name, {}).get("figures", {})
        if not more and (kept := [figure for figure in was if figure not in now["figures"]]):
            print(f"  not measured, kept as recorded: {', '.join(kept)}", file=sys.stderr)
        known[name] = now | {"figures": was | now["figures"]}
        # Written at once: the next one may take an hour, or fail.
        ordered = {each: known[each] for each in BENCHES if each in known}
        RECORDED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    if args.check and failures:
        sys.exit("not as good as recorded:\n  " + "\n  ".join(failures))


if __name__ == "__main__":
    main()
