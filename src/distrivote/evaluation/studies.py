"""Pool sets sorted by what they are sets of: a model, its benchmarks, with and without SelfStepConf.

A `Study` is one model. For each benchmark it has a plain set, a steered one (the starred rows), or both.
Further steered sets of the same benchmark, made with other settings, belong to the experiments that
compare settings. Sets that were sampled at different temperatures are never compared with each other: a
model with several temperatures on one benchmark is a study for each.
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
    """As it is shown; with the temperature, where there are several."""

    benches: tuple[Bench, ...]
    temperature: float | None = None
    """Of all its sets; None if it is not known, or not the same on all benchmarks."""

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
    temperatures: dict[str, set[float | None]] = {}
    apart = _with_several_temperatures(sets)
    for index, each in enumerate(sets):
        model = f"{each.model} {_temperature_words(each)}" if each.model in apart else each.model
        benches = models.setdefault(model, {})
        temperatures.setdefault(model, set()).add(_temperature(each))
        bench = benches.setdefault(each.benchmark, Bench(each.benchmark, None, None))
        if each.ssc:
            better = bench.ssc is None or _distance(each) < _distance(sets[bench.ssc])
            ssc = index if better else bench.ssc
            benches[each.benchmark] = Bench(each.benchmark, bench.basic, ssc, (*bench.variants, index))
        elif bench.basic is None:
            benches[each.benchmark] = Bench(each.benchmark, index, bench.ssc, bench.variants)
        else:
            # A second plain set of the same model and benchmark stands for itself.
            own = f"{model} ({each.name})"
            temperatures[own] = {_temperature(each)}
            models.setdefault(own, {})[each.benchmark] = Bench(each.benchmark, index, None)
            notes.append(
                f"{sets[bench.basic].name} and {each.name} are both plain runs of {model} on"
                f" {each.benchmark}: the second is shown as {own}"
            )
    for model, benches in models.items():
        for bench in benches.values():
            if len(bench.variants) > 1 and bench.ssc is not None:
                notes.append(
                    f"{len(bench.variants)} SelfStepConf runs of {model} on {bench.benchmark}: the starred"
                    f" rows are {sets[bench.ssc].name}, whose settings are nearest to the paper's"
                )
    found = tuple(
        Study(
            model,
            tuple(benches.values()),
            next(iter(temperatures[model])) if len(temperatures[model]) == 1 else None,
        )
        for model, benches in models.items()
    )
    return found, tuple(notes)


def _with_several_temperatures(sets: Sequence[PoolSet]) -> set[str]:
    """Return the models that have sets of one benchmark at different temperatures."""
    found: dict[tuple[str, str], set[float | None]] = {}
    for each in sets:
        found.setdefault((each.model, each.benchmark), set()).add(_temperature(each))
    return {model for (model, _), some in found.items() if len(some) > 1}


def _temperature(each: PoolSet) -> float | None:
    value = each.settings.get("temperature")
    return float(value) if isinstance(value, (int, float)) else None


def _temperature_words(each: PoolSet) -> str:
    value = _temperature(each)
    return "at unknown temperature" if value is None else f"at temperature {value:g}"


def _distance(each: PoolSet) -> int:
    """Return in how many settings a set differs from the paper's."""
    return sum(
        name in each.settings and each.settings[name] != value for name, value in PUBLISHED_SETTINGS.items()
    )
