"""The interface of experiments: each requests measurements and makes tables and charts from them.

All experiments of an evaluation make their requests first, everything is measured together, and then each
makes its result: what two of them need is measured once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from distrivote.evaluation.drawn import DrawMeasure, Voting
from distrivote.evaluation.estimates import Estimate, Sample, estimate
from distrivote.evaluation.paper.published import Published
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.results import Chart, Column, Table
from distrivote.evaluation.scoring import Ask, Scores
from distrivote.evaluation.studies import Study
from distrivote.voting.methods import parse_method

AVERAGE = "Avg."
"""The column of the mean over all questions of all benchmarks, as the paper calls it."""

ALL_RUNS = "all runs"
"""The row of all sets together."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is evaluated, and how."""

    sets: tuple[PoolSet, ...]
    studies: tuple[Study, ...]
    budget: int
    n_repeats: int
    seed: int
    published: Published | None = None
    """The paper's numbers, if they are to be shown."""

    clock: Callable[[], float] | None = None
    """Returns seconds, to measure the time of splits; without it no times are shown."""

    shared: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """The questions that both arms have, for sets whose arms have different ones."""

    rules: tuple[str, ...] = ()
    """Stopping rules to compare; if empty, the experiment's own."""

    slots: int | None = None
    """Trajectories in progress at a time, where stopping rules are replayed; None: one after the other."""

    methods: tuple[str, ...] = ()
    """Methods to compare; if empty, the experiment's own."""

    baseline: str | None = None
    """The method that they are compared with; None: majority voting."""

    @property
    def has_starred(self) -> bool:
        """Whether anybody expects starred rows: a run has SelfStepConf, or the paper's numbers are shown."""
        steered = any(bench.ssc is not None for study in self.studies for bench in study.benches)
        return steered or self.published is not None

    def arm(self, source: int) -> PoolSet:
        """Return a set with the questions on which it is compared."""
        return self.sets[source].only(self.shared.get(source))

    def reach(self, study: Study) -> int:
        """Return the number of trajectories that every question of a study has."""
        sources = [bench.which(starred) for bench in study.benches for starred in (False, True)]
        return min(self.sets[source].smallest for source in sources if source is not None)


class Findings(NamedTuple):
    """The result of an experiment."""

    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """One of the paper's tables or figures."""

    name: str
    title: str
    """A question."""

    make: Callable[[Setting, Scores], Findings]
    asks: Callable[[Setting], Iterable[Ask]] = field(default=lambda _: ())
    reads: tuple[str, ...] = ()
    """What it reads besides answers and confidences, by the names of `loading.READS`."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table of methods."""

    label: str
    measure: DrawMeasure
    starred: bool = False
    """From the run with SelfStepConf."""

    paper: str | None = None
    """What the paper calls the method in its table."""

    budget: int | None = None
    confidence: str | None = None

    def ask(self, setting: Setting, source: int) -> Ask:
        budget = setting.budget if self.budget is None else self.budget
        return Ask(source, budget, self.measure, self.confidence, questions=setting.shared.get(source))


def line(
    label: str,
    method: str,
    *,
    paper: str | None = None,
    budget: int | None = None,
    starred: bool | None = None,
) -> Line:
    """Return the line of a method by its name; a label that ends in * is of the SelfStepConf run."""
    starred = label.endswith("*") if starred is None else starred
    return Line(label, Voting(parse_method(method)), starred, paper or label, budget)


def asks_of(setting: Setting, lines: Iterable[Line]) -> Iterator[Ask]:
    """Yield the requests of lines, for every study that has their sets."""
    lines = list(lines)
    for study in setting.studies:
        for bench in study.benches:
            for each in lines:
                source = bench.which(each.starred)
                if source is not None:
                    yield each.ask(setting, source)


def samples_of(
    setting: Setting, scores: Scores, study: Study, line: Line, value: str = "correct"
) -> dict[str, list[Sample]]:
    """Return a line's samples by column: each benchmark, and the average if all are there."""
    found: dict[str, list[Sample]] = {}
    for bench in study.benches:
        source = bench.which(line.starred)
        measured = None if source is None else scores.get(line.ask(setting, source))
        if measured is not None:
            found[bench.benchmark] = [measured[value]]
    if len(found) == len(study.benches) > 1:
        found[AVERAGE] = [sample for samples in found.values() for sample in samples]
    return found


def columns_of(study: Study) -> tuple[str, ...]:
    """Return the benchmarks of a study and, if there are several, the average."""
    names = tuple(bench.benchmark for bench in study.benches)
    return (*names, AVERAGE) if len(names) > 1 else names


def estimates_of(setting: Setting, samples: dict[str, list[Sample]]) -> dict[str, Estimate]:
    return {column: estimate(some, setting.seed) for column, some in samples.items()}


def cells(name: str, value: Estimate | None) -> dict[str, float | None]:
    """Return the fields of an estimate in a row."""
    if value is None:
        return {name: None, f"{name}_sd": None, f"{name}_low": None, f"{name}_high": None}
    return {name: value.mean, f"{name}_sd": value.sd, f"{name}_low": value.low, f"{name}_high": value.high}


def cell_column(
    name: str,
    label: str,
    kind: Literal["percent", "number"] = "percent",
    decimals: int = 2,
    *,
    best: Literal["highest", "lowest"] | None = "highest",
    paper: str | None = None,
) -> Column:
    """Return the column that shows the fields of `cells`, with what is near the best if that is marked."""
    near = f"{name}_near" if best else None
    ends = (f"{name}_low", f"{name}_high")
    return Column(name, label, kind, decimals, f"{name}_sd", *ends, best, near, paper)


def slug(text: str) -> str:
    """Return a text as part of a file's name."""
    return "-".join("".join(c if c.isalnum() or c in ".*" else " " for c in text).split()).replace(
        "*", "-star"
    )
