"""Two experiments: are the probabilities right, and what does abstention gain?

The probability of the default calibration is compared with what is often used as one: the winner's share of
the votes. Both are about the same winners (of `auto`, DistriVoting and the majority) on the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from distrivote.evaluation.estimates import Sample, compare, estimate
from distrivote.evaluation.experiments.base import ALL_RUNS, Experiment, Findings, Setting, cells
from distrivote.evaluation.experiments.tables import budget_words
from distrivote.evaluation.pools import Flags, Floats, PoolSet
from distrivote.evaluation.reliability import (
    Part,
    area_under_risk,
    bins_of,
    calibration_error,
    risk_coverage,
)
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Scores
from distrivote.evaluation.winners import METHODS, Winners, votes_of
from distrivote.voting.probability import Calibration

CLAIMS = {"probability": "probability", "share": "share of votes"}
"""The claims about a winner -> their labels."""

_PERFECT = "perfect"
_COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.5)
_MOST_POINTS = 200


class Claims(NamedTuple):
    """The claims about one method's winners on one set: (n_questions, n_repeats)."""

    name: str
    method: str
    samples: tuple[Sample, ...]
    """Only the questions' names and positions, for the intervals: a sample of zeros per set."""

    winners: Winners

    def claim(self, what: str) -> Floats:
        """Return the claims about winners, flat."""
        values: Floats = getattr(self.winners, what)[self.winners.answered]
        return values

    @property
    def right(self) -> Flags:
        return self.winners.right[self.winners.answered]

    def errors(self, what: str) -> list[Sample]:
        """Return the squared errors by question; without an answer the claim is 0, which is correct."""
        squares = np.square(getattr(self.winners, what) - self.winners.right)
        found, start = [], 0
        for sample in self.samples:
            some = squares[start : start + len(sample.names)]
            start += len(sample.names)
            counts = np.full(some.shape[1], float(len(some)))
            found.append(Sample(sample.benchmark, sample.names, some.mean(axis=1), some.sum(axis=0), counts))
        return found


def claims_of(setting: Setting, methods: tuple[str, ...] = METHODS) -> Iterator[Claims]:
    """Yield the claims about every set's winners, method by method, and those about all together."""
    voted = [votes_of(each, setting.budget, setting.n_repeats, setting.seed) for each in setting.sets]
    places = [_place(each) for each in setting.sets]
    for method in methods:
        for each, votes, place in zip(setting.sets, voted, places, strict=True):
            yield Claims(each.name, method, (place,), votes.winners[method])
        if len(voted) > 1:
            parts = zip(*(votes.winners[method] for votes in voted), strict=True)
            yield Claims(ALL_RUNS, method, tuple(places), Winners(*map(np.concatenate, parts)))


def _place(source: PoolSet) -> Sample:
    n = len(source.pools)
    names = tuple(pool.question for pool in source.pools)
    return Sample(source.name, names, np.zeros(n), np.zeros(1), np.full(1, float(n)))


# Calibration


def _make_calibration(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    rows: list[Row] = []
    points: list[Row] = []
    for claims in claims_of(setting):
        if not len(claims.right):
            continue
        differences = compare(claims.errors("probability"), claims.errors("share"), setting.seed)
        for what, words in CLAIMS.items():
            row: dict[str, Cell] = {"set": claims.name, "method": claims.method, "claim": words}
            row |= dict.fromkeys(("to_share", "to_share_low", "to_share_high"))
            row["ece"] = calibration_error(claims.claim(what), claims.right)
            row |= cells("brier", estimate(claims.errors(what), setting.seed))
            if what == "probability" and differences is not None:
                row["to_share"] = differences.difference
                row["to_share_low"], row["to_share_high"] = differences.low, differences.high
            row["claimed"] = float(claims.claim(what).mean())
            row["came_true"] = float(claims.right.mean())
            rows.append(row)
            if claims.method == "auto":
                points += _reliability_points(claims, what, words)
    columns = (
        Column("set", "Run"),
        Column("method", "Method"),
        Column("claim", "What is taken for a probability"),
        Column("ece", "ECE", "number", 4),
        Column("brier", "Brier score", "number", 4, low="brier_low", high="brier_high"),
        Column("to_share", "To share of votes", "number", 4, low="to_share_low", high="to_share_high"),
        Column("claimed", "Claimed", "percent", 1),
        Column("came_true", "Came true", "percent", 1),
    )
    title = f"How far are claims about winners off? {budget_words(setting)}"
    table = Table("calibration", title, columns, tuple(rows))
    shown = _shown(points)
    chart = Chart(
        "reliability",
        "Does 80% mean 80%?",
        f"Winners of auto on {shown}, {budget_words(setting)}; on the line, claims come true as often as they"
        " say",
        "lines",
        Axis("claimed", "Claimed probability", "percent", zero=True),
        Axis("came_true", "Share that was right", "percent", zero=True),
        (*_perfect(), *(row for row in points if row["set"] == shown)),
        series="claim",
    )
    return Findings([table], [chart] if points else [], _domain_notes(setting))


def _reliability_points(claims: Claims, what: str, words: str) -> list[Row]:
    return [
        {
            "set": claims.name,
            "claim": words,
            "claimed": each.claimed,
            "came_true": each.came_true,
            "n": each.n,
        }
        for each in bins_of(claims.claim(what), claims.right)
    ]


def _perfect() -> tuple[Row, ...]:
    return tuple({"claim": _PERFECT, "claimed": at, "came_true": at} for at in (0.0, 1.0))


def _shown(points: list[Row]) -> str:
    """Return the set that a chart shows: all of them together, or the only one."""
    names = [str(point["set"]) for point in points]
    return ALL_RUNS if ALL_RUNS in names else names[0] if names else ""


def _domain_notes(setting: Setting) -> list[str]:
    calibration = Calibration()
    if calibration.covers(setting.budget):
        return []
    return [
        f"the calibration was fitted on {calibration.fewest} to {calibration.most} answers per question, and"
        f" these votes have {setting.budget}: distrivote calibrate fits one of your own"
    ]


# Risk and coverage


def _make_risk(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    rows: list[Row] = []
    points: list[Row] = []
    for claims in claims_of(setting, ("auto",)):
        if not len(claims.right):
            continue
        for what, words in CLAIMS.items():
            parts = risk_coverage(claims.claim(what), claims.right)
            row: dict[str, Cell] = {"set": claims.name, "claim": words, "area": area_under_risk(parts)}
            for coverage in _COVERAGES:
                row[f"at_{coverage:.0%}"] = _accuracy_at(parts, coverage)
            rows.append(row)
            points += [
                {"set": claims.name, "claim": words, "coverage": part.coverage, "accuracy": part.accuracy}
                for part in _thinned(parts)
            ]
    columns = (
        Column("set", "Run"),
        Column("claim", "Abstain below this"),
        *(
            Column(f"at_{coverage:.0%}", f"Accuracy of the surest {coverage:.0%}", "percent", 1)
            for coverage in _COVERAGES
        ),
        Column("area", "Mean risk over all coverages", "number", 4),
    )
    title = f"What does abstaining buy? Winners of auto, {budget_words(setting)}"
    shown = _shown(points)
    chart = Chart(
        "risk-coverage",
        "How right is what is still answered, if one abstains below a probability?",
        f"Winners of auto on {shown}, {budget_words(setting)}",
        "lines",
        Axis("coverage", "Share of questions that are answered", "percent", zero=True),
        Axis("accuracy", "Accuracy of the answered part", "percent"),
        tuple(row for row in points if row["set"] == shown),
        series="claim",
    )
    return Findings([Table("risk-coverage", title, columns, tuple(rows))], [chart] if points else [])


def _accuracy_at(parts: list[Part], coverage: float) -> float:
    """Return the accuracy of the smallest part with at least this coverage."""
    return next(part.accuracy for part in parts if part.coverage >= coverage - 1e-9)


def _thinned(parts: list[Part]) -> list[Part]:
    """Return at most as many parts as a line needs, including the last."""
    step = max(1, -(-len(parts) // _MOST_POINTS))
    return parts[::-1][::step][::-1]


EXPERIMENTS = (
    Experiment("calibration", "Are the probabilities to be believed?", _make_calibration),
    Experiment("risk-coverage", "What does abstaining buy?", _make_risk),
)
