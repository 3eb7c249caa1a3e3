"""Benchmarks by name, and your own by the path of a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from distrivote.benchmarks import arithmetic, choice, gpqa, gsm8k, matharena, notes, tables
from distrivote.benchmarks.benchmark import Benchmark, system_of
from distrivote.benchmarks.files import read
from distrivote.benchmarks.hub import Home, fetch
from distrivote.benchmarks.levels import DEFAULT_SIZE
from distrivote.benchmarks.own import own_benchmark
from distrivote.benchmarks.question_table import QuestionTable
from distrivote.errors import InputError
from distrivote.names import BENCHMARK, unknown
from distrivote.names import found as found_own
from distrivote.problem import Problem

BENCHMARKS: dict[str, str] = {
    "aime2024": "AIME I and II of 2024, 30 problems",
    "aime2025": "AIME I and II of 2025, 30 problems",
    "hmmt2025": "HMMT of February 2025, 30 problems",
    "brumo2025": "BRUMO 2025, 30 problems",
    "gpqa-diamond": "GPQA Diamond, 198 multiple choice questions (gated)",
    "gsm8k": "the test set of GSM8K, 1,319 word problems",
    "arithmetic": "built in: word problems of one and two steps, made from a seed",
    "easy-choice": "built in: multiple choice questions, made from a seed",
    "notes": "built in: short notes whose facts are asked for as JSON, made from a seed",
}
"""The names that `load` accepts -> what they mean."""


@dataclass(frozen=True, slots=True)
class _Published:
    """A published benchmark: where it is, and how its rows become problems."""

    home: Home
    problems: Callable[[QuestionTable], tuple[Problem, ...]]


def _contest(name: str) -> _Published:
    return _Published(matharena.HOMES[name], lambda rows: matharena.problems(name, rows))


_PUBLISHED = {name: _contest(name) for name in matharena.HOMES} | {
    gpqa.NAME: _Published(gpqa.HOME, gpqa.problems),
    gsm8k.NAME: _Published(gsm8k.HOME, gsm8k.problems),
}
_BUILT_IN: dict[str, Callable[[int, int], tuple[Problem, ...]]] = {
    arithmetic.NAME: arithmetic.problems,
    choice.NAME: choice.problems,
    notes.NAME: notes.problems,
}


def load(
    name_or_path: str | os.PathLike[str],
    *,
    path: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    spread: bool = False,
    seed: int = 0,
    size: int | None = None,
) -> Benchmark:
    """Return a benchmark by its name, or a table of questions and answers by its path.

    A name takes precedence over a file of that name: write ./arithmetic for the file.

    Args:
        name_or_path: A name from `BENCHMARKS`, NAME@REVISION for a published one as it was then, NAME=FILE
            for a local copy of it, a path, or package.module:function for one of your own.
        path: The local copy of a named benchmark, the same as NAME=FILE.
        limit: The number of problems to use, from the first on.
        spread: Spread the problems of `limit` over the benchmark (see `Benchmark.spread`).
        seed: Selects the problems of a built-in benchmark. The others have none.
        size: The number of problems of a built-in benchmark, 100 by default; those of `arithmetic` and
            `easy-choice` rise from easy to hard over that number. The others have none.

    >>> load("arithmetic", size=20, limit=3).problems[2].id
    'arithmetic-0003'
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: ask for at least one problem")
    if spread and limit is None:
        raise InputError("spread says which problems limit takes: give a limit too")
    name = os.fspath(name_or_path)
    before, equals, after = name.partition("=")
    if equals and before in BENCHMARKS and not os.path.exists(name):
        if path is not None:
            raise InputError(f"{name} names a file, and so does path ({os.fspath(path)}): give one of them")
        if not after:
            raise InputError(f"{name} names no file: write {before}=FILE")
        name, path = before, after
    revision = None
    before, at, after = name.partition("@")
    if at and before in _PUBLISHED and path is None and not os.path.exists(name):
        if not after:
            raise InputError(f"{name} names no revision: write {before}@REVISION")
        name, revision = before, after
    own = None if name in BENCHMARKS or os.path.exists(name) else found_own(BENCHMARK, name, BENCHMARKS)
    if name in _BUILT_IN:
        found = _made(name, path, seed, DEFAULT_SIZE if size is None else size)
    else:
        if own is None:
            _check_known(name, path)
        if size is not None or seed != 0:
            asked = f"a size ({size})" if size is not None else f"a seed ({seed})"
            raise InputError(
                f"{name} is not made from a seed, so it can't be given {asked}: use limit for fewer problems"
            )
        found = own_benchmark(own) if own is not None else _read(name, path, revision)
    found = replace(found, system=system_of(found.problems))  # of all questions, also those beyond the limit
    if limit is None:
        return found
    return found.spread(limit) if spread else replace(found, problems=found.problems[:limit])


def _made(name: str, path: str | os.PathLike[str] | None, seed: int, size: int) -> Benchmark:
    if path is not None:
        raise InputError(f"{name} is built in and read from no file: leave out {os.fspath(path)}")
    problems = _BUILT_IN[name](seed, size)
    answer = notes.ANSWER if name == notes.NAME else None
    return Benchmark(name, problems, f"built in, seed {seed}, size {size}", answer=answer)


def _read(name: str, path: str | os.PathLike[str] | None, revision: str | None) -> Benchmark:
    if name in _PUBLISHED:
        published = _PUBLISHED[name]
        rows = fetch(replace(published.home, revision=revision), name) if path is None else read(path)
        return Benchmark(name, published.problems(rows), rows.source)
    rows = read(name)
    return Benchmark(os.path.splitext(os.path.basename(name))[0], tables.problems(rows), rows.source)


def _check_known(name: str, path: str | os.PathLike[str] | None) -> None:
    """Raise UnknownNameError unless it is a name or, without `path`, a path."""
    is_path = os.path.exists(os.path.expanduser(name)) or _looks_like_a_path(name)
    if name not in _PUBLISHED and (path is not None or not is_path):
        raise unknown(BENCHMARK, name, BENCHMARKS)


def _looks_like_a_path(name: str) -> bool:
    return os.path.basename(name) != name or os.path.splitext(name)[1].lower() in _SUFFIXES


_SUFFIXES = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".pq"}
