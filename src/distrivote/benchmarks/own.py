"""Benchmarks of one's own: a `Benchmark`, or a function () -> problems or pairs of question and answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from distrivote.benchmarks.benchmark import Benchmark
from distrivote.names import BENCHMARK, Own, called, check_call, each_of, misgiven
from distrivote.problem import Problem

SOURCE = "imported"


def own_benchmark(own: Own) -> Benchmark:
    """Return the benchmark that an object of the user's is.

    >>> [each.id for each in own_benchmark(Own("mine:sums", lambda: [("1 + 1?", "2")]))]
    ['1']
    """
    if isinstance(own.value, Benchmark):
        return replace(own.value, name=own.name, source=SOURCE)
    check_call(BENCHMARK, own, 0)
    made = called(BENCHMARK, own.name, own.value)
    if not isinstance(made, Iterable) or isinstance(made, str):
        raise misgiven(BENCHMARK, own, f"returned {str(made)[:60]}")
    items = list(each_of(BENCHMARK, own, made))
    problems = [_problem(own, number, len(items), item) for number, item in enumerate(items, 1)]
    return Benchmark(own.name, tuple(problems), SOURCE)


def _problem(own: Own, number: int, n: int, item: object) -> Problem:
    if isinstance(item, Problem):
        return item
    if isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str):
        question, answer = item
        name = str(number).zfill(len(str(n)))
        return Problem(question, name, None if answer is None else str(answer))
    raise misgiven(BENCHMARK, own, f"has {str(item)[:60]} as item {number}")
