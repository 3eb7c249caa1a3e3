"""Methods ranked over many pools: where each wins and loses against a baseline, at one budget.

A pool is a model on a benchmark, and every pool has the same weight. All methods vote on the same draws, so
that differences are paired by question and draw; their intervals resample questions, and pools of one
benchmark share theirs. A difference is real if its 95% interval excludes 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from distrivote.evaluation.estimates import Comparison, Sample, compare, compare_by_pool, differences
from distrivote.evaluation.experiments.base import Experiment, Findings, Line, Setting, line, slug
from distrivote.evaluation.experiments.methods import BASELINE
from distrivote.evaluation.experiments.tables import budget_words
from distrivote.evaluation.experiments.trust import sample_of
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Ask, Scores, has_confidence
from distrivote.evaluation.winners import WHOLE_RUN, votes_of
from distrivote.nouns import count, verb
from distrivote.voting.methods import parse_method

NAME = "leaderboard"
SIGNAL = "signal"
"""The setting of a pool set that says what its confidences are."""

USUAL = (
    *("sc", "wsc", "bon", "borda", "mob", "hier", "wsc-top50", "wsc-gmm"),
    *("dis-top50", "dis-gmm", "root", "auto"),
)
"""What stands in the table beside what is named."""


class Standing(NamedTuple):
    """A method on a pool."""

    source: PoolSet
    sample: Sample
    against: Comparison | None
    """Compared with the baseline."""


def ranked(setting: Setting) -> tuple[str, ...]:
    """Return the names of the methods, the baseline first, each once."""
    asked = (setting.baseline or BASELINE, *USUAL, *setting.methods)
    return tuple(dict.fromkeys(parse_method(name).name for name in asked))


def _lines(setting: Setting) -> list[Line]:
    return [line(name, name, starred=False) for name in ranked(setting)]


def _asks(setting: Setting) -> Iterator[Ask]:
    for source in range(len(setting.sets)):
        yield from (each.ask(setting, source) for each in _lines(setting))


def _make(setting: Setting, scores: Scores) -> Findings:
    board = _board(setting, scores)
    pools, names, notes = _compared(setting, board)
    tables: list[Table] = []
    charts: list[Chart] = []
    for words, some in _groups(pools):
        rows = _ranking(setting, board, names, some)
        tables.append(_ranking_table(setting, rows, some, words))
        if not charts:
            charts.append(_chart(setting, rows, some))
    if pools:
        tables.append(_where_table(setting, board, names, pools))
        tables.append(_difference_table(setting, board, names, pools))
    return Findings(tables, charts, notes)


Board = dict[str, dict[str, Standing]]
"""By method and pool."""


def _board(setting: Setting, scores: Scores) -> Board:
    found: dict[str, dict[str, Sample]] = {}
    for each in _lines(setting):
        for number, source in enumerate(setting.sets):
            measured = scores.get(each.ask(setting, number))
            if measured is not None:
                found.setdefault(each.label, {})[source.name] = measured["correct"]
    if "auto" in found:
        whole = found.setdefault(WHOLE_RUN, {})
        for source in setting.sets:
            if has_confidence(source):
                votes = votes_of(source, setting.budget, setting.n_repeats, setting.seed)
                sample = sample_of(source, votes.right(WHOLE_RUN))
                whole[source.name] = replace(sample, benchmark=source.benchmark)
    baseline = found.get(ranked(setting)[0], {})
    by_name = {source.name: source for source in setting.sets}
    return {
        name: {
            pool: Standing(
                by_name[pool],
                sample,
                compare([sample], [baseline[pool]], setting.seed) if pool in baseline else None,
            )
            for pool, sample in samples.items()
        }
        for name, samples in found.items()
    }


def _compared(setting: Setting, board: Board) -> tuple[list[PoolSet], list[str], list[str]]:
    """Return the pools on which all methods vote, the methods that vote on them, and notes.

    Without such a pool, the methods that can vote on every pool are compared.
    """
    names, notes = list(board), []
    shared = [source for source in setting.sets if all(source.name in board[name] for name in names)]
    if not shared:
        names = [name for name in names if len(board[name]) == len(setting.sets)]
        left_out = [name for name in board if name not in names]
        notes.append(
            f"no pool has confidences, which {', '.join(left_out)} {verb(len(left_out), 'need')}: left out"
        )
        return list(setting.sets), names, notes
    without = [source.name for source in setting.sets if source not in shared]
    if without:
        notes.append(
            f"{', '.join(without)} {verb(len(without), 'have')} no confidences, so that most methods can't"
            " vote: left out"
        )
    return shared, names, notes


def _groups(pools: Sequence[PoolSet]) -> Iterator[tuple[str, list[PoolSet]]]:
    """Yield all pools, then those of each signal if there are several."""
    yield "", list(pools)
    by_signal: dict[str, list[PoolSet]] = {}
    for source in pools:
        by_signal.setdefault(str(source.settings.get(SIGNAL, "own confidences")), []).append(source)
    if len(by_signal) > 1:
        yield from by_signal.items()


def _ranking(
    setting: Setting, board: Board, names: Sequence[str], pools: Sequence[PoolSet]
) -> list[dict[str, Cell]]:
    baseline = board[ranked(setting)[0]]
    rows: list[dict[str, Cell]] = []
    for name in names:
        some = [board[name][source.name] for source in pools]
        pairs = [(each.sample, baseline[each.source.name].sample) for each in some]
        found = compare_by_pool(pairs, setting.seed)
        gaps = [gap for ours, theirs in pairs for gap in differences([ours], [theirs]).tolist()]
        row: dict[str, Cell] = {
            "method": name,
            "accuracy": sum(float(each.sample.questions.mean()) for each in some) / len(some),
            "n_pools_won": sum(_is_real(each, 1) for each in some),
            "n_pools_lost": sum(_is_real(each, -1) for each in some),
            "n_won": sum(gap > 0 for gap in gaps),
            "n_lost": sum(gap < 0 for gap in gaps),
        }
        if board[name] is baseline:
            found = None
        row |= {
            "difference": found and found.difference,
            "difference_low": found and found.low,
            "difference_high": found and found.high,
            "real": None if found is None else "yes" if found.real else "no",
            "pools": f"{row['n_pools_won']}–{row['n_pools_lost']}",
            "questions": f"{row['n_won']}–{row['n_lost']}",
        }
        rows.append(row)
    rows.sort(key=lambda row: -float(row["accuracy"] or 0.0))
    return [{"rank": rank, **row} for rank, row in enumerate(rows, 1)]


def _is_real(standing: Standing, sign: int) -> bool:
    found = standing.against
    return found is not None and found.real and found.difference * sign > 0


def _n_questions(pools: Sequence[PoolSet]) -> int:
    """Return the number of different questions: pools of one benchmark share theirs."""
    return len({(source.benchmark, pool.question) for source in pools for pool in source.pools})


def _ranking_table(setting: Setting, rows: Sequence[Row], pools: Sequence[PoolSet], words: str) -> Table:
    baseline = ranked(setting)[0]
    columns = (
        Column("rank", "#", "whole", 0),
        Column("method", "Method"),
        Column("accuracy", "Accuracy", "percent", 2, best="highest"),
        Column("difference", f"To {baseline}", "percent", 2, low="difference_low", high="difference_high"),
        Column("pools", "Pools"),
        Column("questions", "Questions"),
    )
    shared = count(_n_questions(pools), "different question")
    title = (
        f"Mean over {count(len(pools), 'pool')}, {shared} ({budget_words(setting)}); pools really won–lost,"
        " questions won–lost"
    )
    if words:
        title = f"{title}; signal: {words}"
    return Table(f"ranking-{slug(words)}" if words else "ranking", title, columns, tuple(rows))


def _where_table(setting: Setting, board: Board, names: Sequence[str], pools: Sequence[PoolSet]) -> Table:
    """Return for each pool the best method, and those that are really above and below the baseline."""
    baseline = ranked(setting)[0]
    rows: list[Row] = []
    for source in pools:
        some = {name: board[name][source.name] for name in names}
        best = max(some, key=lambda name: float(some[name].sample.questions.mean()))
        rows.append(
            {
                "pool": source.name,
                "n_questions": len(source.pools),
                "accuracy": float(some[baseline].sample.questions.mean()),
                "best": best,
                "best_accuracy": float(some[best].sample.questions.mean()),
                "won": _listed(some, 1),
                "lost": _listed(some, -1),
                SIGNAL: source.settings.get(SIGNAL),
            }
        )
    columns = (
        Column("pool", "Pool"),
        Column("n_questions", "Questions", "whole", 0),
        Column("accuracy", baseline, "percent", 2),
        Column("best_accuracy", "Best", "percent", 2),
        Column("best", "is"),
        Column("won", f"Really above {baseline}"),
        Column("lost", "Really below"),
        Column(SIGNAL, "Signal"),
    )
    return Table("where", f"Where methods win and lose against {baseline}", columns, tuple(rows))


def _listed(some: dict[str, Standing], sign: int) -> str:
    """Return the methods that are really better (or worse), the largest difference first."""
    found = {name: each.against.difference * sign for name, each in some.items() if each.against is not None}
    real = [name for name in found if _is_real(some[name], sign)]
    return "; ".join(sorted(real, key=lambda name: -found[name]))


def _difference_table(
    setting: Setting, board: Board, names: Sequence[str], pools: Sequence[PoolSet]
) -> Table:
    baseline = ranked(setting)[0]
    shown = [name for name in names if name != baseline]
    rows = []
    for source in pools:
        row: dict[str, Cell] = {"pool": source.name}
        for name in shown:
            found = board[name][source.name].against
            row |= {
                name: found and found.difference,
                f"{name}_low": found and found.low,
                f"{name}_high": found and found.high,
            }
        rows.append(row)
    columns = (Column("pool", "Pool"), *(Column(name, name, "percent", 1) for name in shown))
    return Table("differences", f"Differences from {baseline} by pool", columns, tuple(rows))


def _chart(setting: Setting, rows: Sequence[Row], pools: Sequence[PoolSet]) -> Chart:
    baseline = ranked(setting)[0]
    return Chart(
        "leaderboard",
        f"How far is each method from {baseline}?",
        f"mean over {count(len(pools), 'pool')}, {budget_words(setting)}; 95% intervals over questions",
        "points",
        Axis("method", "Method", "text"),
        Axis("difference", f"Difference from {baseline}", "percent"),
        tuple(row for row in rows if row["difference"] is not None),
        low="difference_low",
        high="difference_high",
    )


TITLE = "Which method is best over many pools, and where does it lose?"
EXPERIMENTS = (Experiment(NAME, TITLE, _make, _asks),)
