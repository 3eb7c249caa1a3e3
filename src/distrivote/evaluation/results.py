"""The result of an experiment: tables and charts as data, and notes. `report` renders them.

Cells are numbers, texts or None. Accuracies, shares and AUROC are fractions here, 0 to 1; `percent` in a
column's format makes them percentages where they are shown. A chart holds its rows and says which field
is what; it has one question as its title and the answer, where the data gives one, as its subtitle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Cell: TypeAlias = float | int | str | bool | None
Row: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    """The field in the rows, and the name in exported files."""

    label: str
    """The header, with the unit if there is one."""

    format: Literal["text", "whole", "percent", "number"] = "text"
    decimals: int = 1

    spread: str | None = None
    """The field with the standard deviation over repeats, which are draws; the paper's ± is another."""

    low: str | None = None
    high: str | None = None
    """The fields with the ends of the 95% interval."""

    best: Literal["highest", "lowest"] | None = None
    """Which value is set in bold; those whose difference from it is not real are marked too."""

    near: str | None = None
    """The field that is true if the difference from the best one is not real (a paired comparison)."""

    paper: str | None = None
    """The field with the paper's own number, in the same unit; its ± is another quantity and not shown."""

    extra: bool = False
    """Whether a terminal that is too narrow leaves it out before the intervals of the others; such columns
    are the last ones."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns."""

    name: str
    """Unique in its experiment; a file's name."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a chart."""

    field: str
    label: str
    format: Literal["text", "whole", "percent", "number"] = "number"
    log: bool = False
    zero: bool = False


class Rule(NamedTuple):
    """A vertical line in a chart."""

    label: str
    at: float
    panel: str | None = None
    """The value of the facet whose panel it belongs to; None for all of them."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Rows, and how they are drawn."""

    name: str
    title: str
    """A question."""

    subtitle: str
    """The answer, or what is shown."""

    kind: Literal["lines", "bars", "histogram", "points", "heatmap", "steps"]
    x: Axis
    y: Axis
    rows: tuple[Row, ...]
    series: str | None = None
    """The field that distinguishes lines, bars or distributions."""

    low: str | None = None
    high: str | None = None
    """The fields with the ends of an interval around y."""

    facet: str | None = None
    """The field of which every value gets a panel of its own."""

    value: Axis | None = None
    """What the colour of a heatmap shows."""

    published: str | None = None
    """The field that is true for the paper's own numbers, which are drawn hollow."""

    rules: Sequence[Rule] = ()
    """Vertical lines: a cut, a threshold."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one experiment found."""

    experiment: str
    title: str
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()
    """Caveats: what was left out and why, contradictions in the paper."""

    seconds: float = 0.0
    """How long it took; not part of what is compared."""


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one evaluation, with the runs and settings."""

    results: tuple[Result, ...]
    sources: tuple[Row, ...]
    """The runs: name, model, benchmark, ssc, n_questions, n_trajectories, ..."""

    settings: Row
    """Seed, repeats, budget, method of intervals, library version."""

    notes: tuple[str, ...] = ()
