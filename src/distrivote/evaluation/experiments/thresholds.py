"""How much of the pool should a fixed filter keep? Every share from 1% to 99%, as one experiment.

On draws of 256, the paper's number for this figure, wherever every question has as many trajectories.
"""

from __future__ import annotations

from collections.abc import Sequence

from distrivote.evaluation.experiments.base import Experiment, Findings, Setting, line, slug
from distrivote.evaluation.experiments.sweeps import Entry, Sweep
from distrivote.evaluation.experiments.tables import Measured, Paper, measured
from distrivote.evaluation.results import Axis, Cell, Column, Table
from distrivote.evaluation.scoring import Scores
from distrivote.evaluation.studies import Study

TOPS = tuple(range(1, 100))
PAPER_BUDGET = 256
_VOTES = {"wsc": "weighted", "hier": "hierarchical"}
_TITLE = "How much of the pool should a fixed filter keep?"


def budget_of(setting: Setting, study: Study) -> int:
    """Return the paper's budget if every question has that many trajectories, otherwise the given one."""
    return PAPER_BUDGET if setting.reach(study) >= PAPER_BUDGET else setting.budget


def _entries(setting: Setting, study: Study) -> list[Entry]:
    budget = budget_of(setting, study)
    return [
        Entry(
            line(f"{words}, top {top}%", f"{vote}-top{top}", paper="WSC-TopK", budget=budget),
            words,
            top,
            # The paper's WSC-TopK is the hierarchical vote: see published.CONTRADICTIONS.
            Paper("top_threshold", f"top={top}%") if vote == "hier" else None,
        )
        for vote, words in _VOTES.items()
        for top in TOPS
    ]


_SWEEP = Sweep("top-threshold", _TITLE, Axis("x", "Share kept (%)", "whole"), _entries, budget_of)


def _make(setting: Setting, scores: Scores) -> Findings:
    found = _SWEEP.make(setting, scores)
    best = []
    for study in setting.studies:
        rows = measured(setting, scores, study, [entry.line for entry in _entries(setting, study)])
        if rows:
            best.append(_best_table(study, {row.line.label: row for row in rows}, budget_of(setting, study)))
    return Findings([*best, *found.tables], found.charts, found.notes)


def _best_table(study: Study, by_label: dict[str, Measured], budget: int) -> Table:
    """Return which share is best on each benchmark, and what the usual half gives there."""
    fields: list[dict[str, Cell]] = []
    for words in _VOTES.values():
        for bench in study.benches:
            known = _accuracies(by_label, words, bench.benchmark)
            if known:
                best = max(known, key=lambda top: (known[top], -top))
                fields.append(
                    {
                        "vote": words,
                        "benchmark": bench.benchmark,
                        "best": best,
                        "accuracy": known[best],
                        "half": known[50],
                    }
                )
    columns = (
        Column("vote", "Vote"),
        Column("benchmark", "Benchmark"),
        Column("best", "Best share (%)", "whole", 0),
        Column("accuracy", "Accuracy there", "percent", 2),
        Column("half", "Accuracy with half", "percent", 2),
    )
    title = (
        f"{study.model}: the best share of each benchmark, chosen on the same questions"
        f" ({budget} trajectories)"
    )
    return Table(f"{slug(study.model)}-best-share", title, columns, tuple(fields))


def _accuracies(by_label: dict[str, Measured], words: str, benchmark: str) -> dict[int, float]:
    known = {}
    for top in TOPS:
        row = by_label.get(f"{words}, top {top}%")
        found = None if row is None else row.estimates.get(benchmark)
        if found is not None and found.mean is not None:
            known[top] = found.mean
    return known


EXPERIMENTS: Sequence[Experiment] = (Experiment("top-threshold", _TITLE, _make, _SWEEP.asks),)
