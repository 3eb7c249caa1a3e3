"""Tables and charts of runs with different settings: accuracies, lengths, reflections.

The paper calls them accuracy and analysis metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from distrivote.evaluation.drawn import Voting
from distrivote.evaluation.experiments.base import Setting, cell_column, slug
from distrivote.evaluation.experiments.tables import budget_words
from distrivote.evaluation.experiments.whole import LENGTHS, Whole, share_right
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.studies import Study
from distrivote.voting.methods import parse_method

_REFLECTED = "How often does the model think again?"


WHOLE: Mapping[str, Whole] = {"pass1": Whole("Pass@1", share_right, "Pass@1"), **LENGTHS}
VOTES = {"WSC-GMM*": Voting(parse_method("wsc-gmm")), "DIS-GMM*": Voting(parse_method("dis-gmm"))}
SHARES = ("pass1", *VOTES)


@dataclass(frozen=True, slots=True)
class Compared:
    """What is compared: a name, a question, and one or two settings."""

    name: str
    title: str
    keys: tuple[str, ...]
    labels: tuple[str, ...]


def setting_tables(
    each: Compared, setting: Setting, study: Study, rows: list[dict[str, Cell]], where: str
) -> Iterator[Table]:
    """Yield the accuracies and the lengths, as the paper has them; `where` says over which questions."""
    yield Table(
        slug(study.model),
        f"{study.model}: {each.title[0].lower()}{each.title[1:]} ({where}, {budget_words(setting)})",
        _columns(each, rows, SHARES),
        tuple(rows),
    )
    if any(row[name] is not None for row in rows for name in LENGTHS):
        yield Table(
            f"{slug(study.model)}-lengths",
            f"{study.model}: means per trajectory ({where})",
            _columns(each, rows, tuple(LENGTHS)),
            tuple(rows),
        )


def _columns(each: Compared, rows: list[dict[str, Cell]], names: Sequence[str]) -> tuple[Column, ...]:
    columns = [Column(key, label, "text", 2) for key, label in zip(each.keys, each.labels, strict=True)]
    for name in names:
        if all(row[name] is None for row in rows):
            continue
        label, share = _label(name), name in SHARES
        kind: Literal["percent", "number"] = "percent" if share else "number"
        beside = any(f"{name}_paper" in row for row in rows)
        best: Literal["highest"] | None = "highest" if share else None
        paper = f"{name}_paper" if beside else None
        columns.append(cell_column(name, label, kind, best=best, paper=paper))
        for row in rows if beside else ():
            row.setdefault(f"{name}_paper", None)
    return tuple(columns)


def setting_charts(
    each: Compared, setting: Setting, study: Study, rows: Sequence[Row], where: str
) -> Iterator[Chart]:
    """Yield accuracies and reflections by the setting; as heatmaps by two of them."""
    subtitle = f"{study.model}, {where}"
    votes = f"{subtitle}, {budget_words(setting)}"
    numbers = all(isinstance(row[each.keys[0]], (int, float)) for row in rows)
    first = Axis(each.keys[0], each.labels[0], "number" if numbers else "text")
    reflected = all(row["reflections"] is not None for row in rows)
    if len(each.keys) == 2:
        second = Axis(each.keys[1], each.labels[1])
        if all(row["DIS-GMM*"] is not None for row in rows):
            value = Axis("DIS-GMM*", "DIS-GMM*", "percent")
            name = f"{slug(study.model)}-DIS-GMM"
            yield Chart(name, each.title, votes, "heatmap", first, second, tuple(rows), value=value)
        if reflected:
            value = Axis("reflections", "Reflections")
            name = f"{slug(study.model)}-reflections"
            yield Chart(name, _REFLECTED, subtitle, "heatmap", first, second, tuple(rows), value=value)
        return
    points = [point for name in SHARES for point in _points(each, rows, name)]
    yield Chart(
        f"{slug(study.model)}-accuracy",
        each.title,
        f"{votes}; 95% intervals over questions",
        "lines" if numbers else "points",
        first,
        Axis("value", "Accuracy", "percent"),
        tuple(points),
        series="series",
        low="low",
        high="high",
    )
    if reflected:
        yield Chart(
            f"{slug(study.model)}-reflections",
            _REFLECTED,
            f"{subtitle}; 95% intervals over questions",
            "lines" if numbers else "points",
            first,
            Axis("value", "Reflections per trajectory", zero=True),
            tuple(_points(each, rows, "reflections")),
            low="low",
            high="high",
        )


def _points(each: Compared, rows: Sequence[Row], name: str) -> Iterator[Row]:
    for row in rows:
        if row[name] is not None:
            yield {
                each.keys[0]: row[each.keys[0]],
                "value": row[name],
                "low": row[f"{name}_low"],
                "high": row[f"{name}_high"],
                "series": _label(name),
            }


def _label(name: str) -> str:
    return WHOLE[name].label if name in WHOLE else name
