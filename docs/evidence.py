"""One row for each sample: how often votes are right, what they differ by, and what stopping saves.

The rows are stored in docs/results/*.json, and make the first tables of docs/results.md and the table and the
picture of the README. Numbers are percent, each with its 95% interval over questions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from vote_table import points, table_of

from distrivote.evaluation.estimates import Sample, compare, estimate, whole_pool_sample
from distrivote.evaluation.experiments.base import Setting
from distrivote.evaluation.experiments.stopping import NUMBERS, WHOLE, Replay, plan_named, replay
from distrivote.evaluation.pools import Floats, PoolSet
from distrivote.evaluation.results import Axis, Chart, Row
from distrivote.evaluation.winners import METHODS, WHOLE_RUN, votes_of

TABLES = Path(__file__).parent / "results"
START, END = "<!-- docs/results.py writes this table -->", "<!-- until here -->"
N_REPEATS, N_ORDERS, SEED = 64, 4, 0
RULE = "gain"
ONE, SC, DIS, AUTO = "one sample", "SC", "DIS-GMM", "auto"
WAYS = dict(zip((*METHODS, WHOLE_RUN), (SC, DIS, AUTO, WHOLE_RUN), strict=True))
PAIRS = ((DIS, SC), (AUTO, SC), (WHOLE_RUN, SC))

Interval = Sequence[float]
"""A number and the ends of its interval."""


class Evidence(NamedTuple):
    """What one sample shows."""

    what: str
    """The sample in a few words, for tables."""

    short: str
    """The same for the picture."""

    n_questions: int
    budget: int
    percent: Mapping[str, Interval]
    differences: Mapping[str, Interval]
    """`ours − theirs`, paired by question."""

    tokens: float | None = None
    """The share of the tokens that the rule `gain` takes."""

    stopped: Interval = ()
    """By how many points `auto` is right more often with the rule than with the whole budget."""


ORDER = ("code", "plain", "notes", "smollm2-400", "qwen2.5-coder", "boinf", "brumo")
"""The files of the rows, in the order of the tables; those that are absent are left out."""


def of_pools(what: str, short: str, sets: Sequence[PoolSet], budget: int) -> Evidence:
    """Measure a sample; several sets are models on the same questions, with equal weights."""
    names = tuple(pool.question for pool in sets[0].pools)
    shares: dict[str, list[Floats]] = {ONE: [], **{name: [] for name in WAYS.values()}}
    for source in sets:
        assert tuple(pool.question for pool in source.pools) == names
        votes = votes_of(source, budget, N_REPEATS, SEED)
        shares[ONE].append(np.array([pool.correct.mean() for pool in source.pools]))
        for way, name in WAYS.items():
            shares[name].append(votes.right(way).mean(axis=1))
    samples = {name: _sample(sets[0].benchmark, names, each) for name, each in shares.items()}
    tokens, stopped = _stopping(sets, names, budget)
    return Evidence(
        what,
        short,
        len(names),
        budget,
        {name: _estimated(sample) for name, sample in samples.items()},
        {f"{ours} − {theirs}": _compared(samples[ours], samples[theirs]) for ours, theirs in PAIRS},
        tokens,
        stopped,
    )


def _stopping(sets: Sequence[PoolSet], names: tuple[str, ...], budget: int) -> tuple[float, Interval]:
    """Return the tokens that the rule takes, and what it costs."""
    setting = Setting(tuple(sets), (), budget, N_ORDERS, SEED)

    def replayed(rule: str | None) -> list[Replay]:
        plan = WHOLE if rule is None else plan_named(rule)
        return [replay(source, plan, setting)[NUMBERS] for source in sets]

    stopped, whole = replayed(RULE), replayed(None)
    ours, theirs = (
        _sample(sets[0].benchmark, names, [each.right.mean(axis=1) for each in found])
        for found in (stopped, whole)
    )
    tokens = np.mean([each.spent.sum() / each.whole.sum() for each in stopped])
    return round(100 * float(tokens), 1), _compared(ours, theirs)


def _sample(benchmark: str, names: tuple[str, ...], shares: Sequence[Floats]) -> Sample:
    return whole_pool_sample(benchmark, names, 100.0 * np.mean(shares, axis=0))


def _estimated(sample: Sample) -> Interval:
    found = estimate([sample], SEED)
    assert found.mean is not None
    assert found.low is not None
    assert found.high is not None
    return [round(each, 2) for each in (found.mean, found.low, found.high)]


def _compared(ours: Sample, theirs: Sample) -> Interval:
    found = compare([ours], [theirs], SEED)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return [round(each, 2) for each in (found.difference, found.low, found.high)]


def of_summary(
    what: str, short: str, budget: int, found: Mapping[str, Any], names: Mapping[str, str]
) -> Evidence:
    """Return the row of a summary (bench/stored_replies.py), whose names of the votes are given."""
    percent = {name: found["percent"][own] for name, own in names.items()}
    known = {f"{ours} − {theirs}": f"{names[ours]} - {names[theirs]}" for ours, theirs in PAIRS[:2]}
    differences = {name: found["differences"][own] for name, own in known.items()}
    return Evidence(what, short, found["n_questions"], budget, percent, differences)


def stored() -> list[Evidence]:
    """Return the stored rows."""
    files = [TABLES / f"{name}.json" for name in ORDER]
    return [Evidence(**json.loads(file.read_text())["evidence"]) for file in files if file.exists()]


def results_tables(rows: Sequence[Evidence]) -> str:
    """Return the first tables of docs/results.md: how often votes are right, and the differences."""
    ways = (SC, DIS, AUTO, WHOLE_RUN)
    shares, differences = [], []
    for row in rows:
        best = max(row.percent[way][0] for way in ways if way in row.percent)
        values = [_bold(_percent(row.percent.get(way)), row.percent.get(way), best) for way in ways]
        size = f"{row.n_questions} × {row.budget}"
        shares.append([row.what, size, _percent(row.percent[ONE]), *values])
        points_of = [_points(row.differences.get(f"{ours} − {theirs}")) for ours, theirs in PAIRS]
        tokens = "" if row.tokens is None else f"{row.tokens:.0f}%"
        differences.append([row.what, *points_of, tokens, _points(row.stopped or None)])
    heads = ["", "questions × samples", ONE, SC, DIS, "auto, one question", WHOLE_RUN]
    pairs = [f"{ours} − {theirs}" for ours, theirs in PAIRS]
    stop = ["tokens with `gain`", "`gain` − whole budget"]
    return f"{table_of(heads, shares)}\n\n{table_of(['', *pairs, *stop], differences)}"


def readme_table(rows: Sequence[Evidence]) -> str:
    """Return the table of the README."""
    heads = [
        *("", "questions × samples", "one sample", "majority", "DistriVoting", "`auto`"),
        *("`auto` − majority", "`--stop-when gain`: tokens, difference"),
    ]
    lines = [
        [
            row.what,
            f"{row.n_questions} × {row.budget}",
            *(_percent(row.percent.get(way)) for way in (ONE, SC, DIS, AUTO)),
            _points(row.differences[f"{AUTO} − {SC}"]),
            "" if row.tokens is None else f"{row.tokens:.0f}%, {_points(row.stopped)}",
        ]
        for row in rows
    ]
    return table_of(heads, lines)


def picture(rows: Sequence[Evidence]) -> Chart:
    """Return the picture of the README."""
    found: list[Row] = [
        {
            "sample": f"{row.short}, {row.n_questions} × {row.budget}",
            "vote": name,
            **dict(zip(("right", "low", "high"), (each / 100 for each in row.percent[way]), strict=True)),
        }
        for row in rows
        for name, way in ((ONE, ONE), ("majority", SC), ("DistriVoting", DIS), (AUTO, AUTO))
        if way in row.percent
    ]
    return Chart(
        "readme",
        "What does asking again gain, and which vote is right most often?",
        "right answers, with 95% intervals over questions · questions × samples of each",
        "points",
        Axis("sample", "", "text"),
        Axis("right", "Right answers", "percent", zero=True),
        tuple(found),
        series="vote",
        low="low",
        high="high",
    )


def with_table(readme: str, rows: Sequence[Evidence]) -> str:
    """Return the text of the README with its table made again."""
    pattern = f"{re.escape(START)}.*?{re.escape(END)}"
    table = f"{START}\n{readme_table(rows)}\n{END}"
    made, n = re.subn(pattern, lambda _: table, readme, flags=re.DOTALL)
    assert n == 1, "the README has no place for the table"
    return made


def _percent(value: Interval | None) -> str:
    return "" if value is None else f"{value[0]:.1f}%"


def _bold(text: str, value: Interval | None, best: float) -> str:
    return f"**{text}**" if value is not None and value[0] >= best else text


def _points(value: Interval | None) -> str:
    return "" if value is None else points(*value)
