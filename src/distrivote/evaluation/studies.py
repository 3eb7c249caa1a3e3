"""Pool sets grouped by model and benchmark, with and without SelfStepConf.

A `Study` is one model. For each benchmark it has a plain set, a steered one (the starred rows), or both.
Further steered sets of the same benchmark, made with other settings, belong to the experiments that
compare settings. Sets of one benchmark that differ in more than the steering (thinking, template,
temperature, the limit of tokens, ...: `conditions`) are never compared with each other: they become separate
studies of the model, and a note names the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from distrivote.evaluation.conditions import (
    Value,
    benchmark_key,
    condition,
    difference_words,
    differing,
    label_words,
    model_key,
)
from distrivote.evaluation.paper.published import BENCHMARKS, published
from distrivote.evaluation.pools import PoolSet, common_questions
from distrivote.nouns import count

PUBLISHED_SETTINGS = {"alpha": 0.8, "delta": 0.8, "reflection": "wait"}
"""The settings of the starred rows, if there are several sets."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark of a study; sets by their index."""

    benchmark: str
    basic: int | None
    ssc: int | None
    variants: tuple[int, ...] = ()
    """All steered sets, `ssc` among them."""

    temperature: float | None = None
    """Of all its sets; None if it is not known."""

    def which(self, starred: bool) -> int | None:
        return self.ssc if starred else self.basic


@dataclass(frozen=True, slots=True)
class Study:
    """One model under one set of conditions."""

    model: str
    """For display; with its conditions if there are several studies of the model."""

    benches: tuple[Bench, ...]
    """In the order of the paper's columns, others after them."""

    name: str = ""
    """The model's name in its first set, by which the paper's numbers are found."""

    thinking: bool | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """Names of benchmarks for display: the paper's names, or the part before the source."""

    @property
    def temperature(self) -> float | None:
        """Of all its sets; None if it is not known, or not the same on all benchmarks."""
        values = {bench.temperature for bench in self.benches}
        return values.pop() if len(values) == 1 else None

    def label(self, column: str) -> str:
        """Return a benchmark's short name; any other column unchanged."""
        return self.labels.get(column, column)

    def sources(self, starred: bool) -> tuple[int, ...]:
        """Return the sets of all benchmarks, plain or steered; empty unless every benchmark has one."""
        found = [bench.which(starred) for bench in self.benches]
        return tuple(source for source in found if source is not None) if None not in found else ()

    def has(self, starred: bool) -> bool:
        """Whether any benchmark has such a set."""
        return any(bench.which(starred) is not None for bench in self.benches)


class _Draft:
    """A study while sets are added to it."""

    def __init__(self, label: str, first: PoolSet) -> None:
        self.label = label
        self.first = first
        self.benches: dict[str, Bench] = {}

    def study(self) -> Study:
        known = published()
        order = {name: place for place, name in enumerate(BENCHMARKS)}
        benches = sorted(
            self.benches.values(),
            key=lambda bench: order.get(known.benchmark(bench.benchmark) or "", len(order)),
        )
        thinking = condition(self.first, "thinking")
        return Study(
            self.label,
            tuple(benches),
            self.first.model,
            thinking if isinstance(thinking, bool) else None,
            short_names([bench.benchmark for bench in benches]),
        )


def studies_of(sets: Sequence[PoolSet]) -> tuple[tuple[Study, ...], tuple[str, ...]]:
    """Return the studies, in the order in which models first appear, and notes on what was unclear."""
    notes: list[str] = []
    models: dict[tuple[str, str], list[int]] = {}
    for index, each in enumerate(sets):
        models.setdefault(model_key(each.model), []).append(index)
    drafts: dict[str, _Draft] = {}
    for members in models.values():
        some = [sets[index] for index in members]
        notes += _spelling_notes(some)
        apart, said = _apart(some)
        notes += said
        labels: dict[tuple[Value, ...], str] = {}
        for index in members:
            values = tuple(condition(sets[index], name) for name in apart)
            if values not in labels:
                told = ", ".join(map(label_words, apart, values))
                labels[values] = _free(f"{some[0].model} {told}" if told else some[0].model, drafts)
            label = labels[values]
            draft = drafts.setdefault(label, _Draft(label, sets[index]))
            notes += _add(drafts, draft, index, sets)
    notes += [note for draft in drafts.values() for note in _variant_notes(draft, sets)]
    return tuple(draft.study() for draft in drafts.values()), tuple(notes)


def _spelling_notes(sets: Sequence[PoolSet]) -> Iterator[str]:
    spellings = list(dict.fromkeys(each.model for each in sets))
    if len(spellings) > 1:
        yield f"{' and '.join(spellings)} are taken for one model"


def _apart(sets: Sequence[PoolSet]) -> tuple[list[str], list[str]]:
    """Return the conditions that divide a model's sets, those that differ on one benchmark, and notes.

    Thinking always divides them: a mean over both would describe no model.
    """
    benchmarks: dict[str, list[PoolSet]] = {}
    for each in sets:
        benchmarks.setdefault(benchmark_key(each.benchmark), []).append(each)
    found = {name: None for name in differing(sets) if name == "thinking"}
    notes = []
    for some in benchmarks.values():
        names = differing(some)
        found |= dict.fromkeys(names)
        if names:
            notes.append(
                f"{sets[0].model} on {some[0].benchmark}: these runs differ in"
                f" {difference_words(some, names)}, so they are shown separately and not compared"
            )
    return list(found), notes


def _free(label: str, taken: Mapping[str, object]) -> str:
    """Return the label, with a number if another study has it."""
    number, free = 1, label
    while free in taken:
        number += 1
        free = f"{label} ({number})"
    return free


def _add(drafts: dict[str, _Draft], draft: _Draft, index: int, sets: Sequence[PoolSet]) -> Iterator[str]:
    """Add a set to a study, or to a new one if its place is taken; yield notes."""
    each = sets[index]
    key = benchmark_key(each.benchmark)
    temperature = condition(each, "temperature")
    known = temperature if isinstance(temperature, float) else None
    empty = Bench(each.benchmark, None, None, temperature=known)
    bench = draft.benches.get(key, empty)
    others = [source for source in (bench.basic, *bench.variants) if source is not None]
    stranger = next((sets[o].name for o in others if not common_questions([sets[o], each])), None)
    if stranger is not None or (not each.ssc and bench.basic is not None):
        own = _free(f"{draft.label} ({each.name})", drafts)
        drafts[own] = _Draft(own, each)
        if stranger is not None:
            reason = f"{stranger} and {each.name} have no question of {each.benchmark} in common"
        else:
            first = sets[others[0]].name
            reason = f"{first} and {each.name} are both plain runs of {draft.label} on {each.benchmark}"
        yield f"{reason}: the second is shown as {own}"
        draft, bench = drafts[own], empty
    if each.ssc:
        better = bench.ssc is None or _distance(each) < _distance(sets[bench.ssc])
        bench = replace(bench, ssc=index if better else bench.ssc, variants=(*bench.variants, index))
    else:
        bench = replace(bench, basic=index)
    draft.benches[key] = bench


def _variant_notes(draft: _Draft, sets: Sequence[PoolSet]) -> Iterator[str]:
    for bench in draft.benches.values():
        if len(bench.variants) > 1 and bench.ssc is not None:
            yield (
                f"{len(bench.variants)} SelfStepConf runs of {draft.label} on {bench.benchmark}: the starred"
                f" rows are {sets[bench.ssc].name}, whose settings are nearest to the paper's"
            )


def _distance(each: PoolSet) -> int:
    """Return in how many settings a set differs from the paper's."""
    return sum(
        name in each.settings and each.settings[name] != value for name, value in PUBLISHED_SETTINGS.items()
    )


def shared_questions(
    sets: Sequence[PoolSet], studies: Sequence[Study]
) -> tuple[dict[int, frozenset[str]], list[str]]:
    """Return the common questions of arms whose questions differ, and notes."""
    shared: dict[int, frozenset[str]] = {}
    notes = []
    for study in studies:
        for bench in study.benches:
            if bench.basic is None or bench.ssc is None:
                continue
            arms = (sets[bench.basic], sets[bench.ssc])
            common = common_questions(arms)
            if all(len(common) == len(arm.pools) for arm in arms):
                continue
            shared |= dict.fromkeys((bench.basic, bench.ssc), common)
            told = " and ".join(f"{len(arm.pools)} of {arm.name}" for arm in arms)
            notes.append(
                f"{study.model} on {bench.benchmark}: the arms are compared on the"
                f" {count(len(common), 'question')} that both have, of {told}"
            )
    return shared, notes


def short_names(benchmarks: Sequence[str]) -> dict[str, str]:
    """Return names of benchmarks: the paper's, or without their source if that is unique.

    >>> short_names(["aime_2025", "arithmetic: built in, seed 0", "a: x", "a: y"])
    {'aime_2025': 'AIME2025', 'arithmetic: built in, seed 0': 'arithmetic', 'a: x': 'a: x', 'a: y': 'a: y'}
    """
    known = published()
    names = {each: known.benchmark(each) or each.partition(": ")[0] for each in benchmarks}
    short = list(names.values())
    return {each: name if short.count(name) == 1 else each for each, name in names.items()}
