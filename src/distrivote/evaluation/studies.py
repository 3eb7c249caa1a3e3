"""Pool sets sorted by what they are sets of: a model, its benchmarks, with and without SelfStepConf.

A `Study` is one model. For each benchmark it has a plain set, a steered one (the starred rows), or both.
Further steered sets of the same benchmark, made with other settings, belong to the experiments that
compare settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from distrivote.evaluation.pools import PoolSet

PUBLISHED_SETTINGS = {"alpha": 0.8, "delta": 0.8, "reflection": "wait"}
"""The settings of the starred rows, where a choice must be made."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark of a study; sets by their index."""

    benchmark: str
    basic: int | None
    ssc: int | None
    variants: tuple[int, ...] = ()
    """All steered sets, `ssc` among them."""

    def which(self, starred: bool) -> int | None:
        return self.ssc if starred else self.basic


@dataclass(frozen=True, slots=True)
class Study:
    """One model."""

    model: str
    benches: tuple[Bench, ...]

    def sources(self, starred: bool) -> tuple[int, ...]:
        """Return the sets of all benchmarks, plain or steered; empty unless every benchmark has one."""
        found = [bench.which(starred) for bench in self.benches]
        return tuple(source for source in found if source is not None) if None not in found else ()

    def has(self, starred: bool) -> bool:
        """Whether any benchmark has such a set."""
        return any(bench.which(starred) is not None for bench in self.benches)


def studies_of(sets: Sequence[PoolSet]) -> tuple[tuple[Study, ...], tuple[str, ...]]:
    """Return the studies, in the order in which models first appear, and notes on what was unclear."""
    notes: list[str] = []
    models: dict[str, dict[str, Bench]] = {}
    for index, each in enumerate(sets):
        benches = models.setdefault(each.model, {})
        bench = benches.setdefault(each.benchmark, Bench(each.benchmark, None, None))
        if each.ssc:
            better = bench.ssc is None or _distance(each) < _distance(sets[bench.ssc])
            ssc = index if better else bench.ssc
            benches[each.benchmark] = Bench(each.benchmark, bench.basic, ssc, (*bench.variants, index))
        elif bench.basic is None:
            benches[each.benchmark] = Bench(each.benchmark, index, bench.ssc, bench.variants)
        else:
            # A second plain set of the same model and benchmark stands for itself.
            own = f"{each.model} ({each.name})"
            models.setdefault(own, {})[each.benchmark] = Bench(each.benchmark, index, None)
            notes.append(
                f"{sets[bench.basic].name} and {each.name} are both plain runs of {each.model} on"
                f" {each.benchmark}: the second is shown as {own}"
            )
    for benches in models.values():
        for bench in benches.values():
            if len(bench.variants) > 1 and bench.ssc is not None:
                notes.append(
                    f"{len(bench.variants)} SelfStepConf runs on {bench.benchmark}: the starred rows are"
                    f" {sets[bench.ssc].name}, whose settings are nearest to the paper's"
                )
    found = tuple(Study(model, tuple(benches.values())) for model, benches in models.items())
    return tuple(study for study in found if study.benches), tuple(notes)


def _distance(each: PoolSet) -> int:
    """Return in how many settings a set differs from the paper's."""
    return sum(
        name in each.settings and each.settings[name] != value for name, value in PUBLISHED_SETTINGS.items()
    )
