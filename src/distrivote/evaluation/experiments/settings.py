"""Experiments over runs that were generated with different settings of SelfStepConf.

Each compares the steered runs of a model that differ in one setting (alpha, delta, the splitter, the
reflection text) or in two (alpha and delta), and are alike in all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from distrivote.evaluation.estimates import Estimate, Sample, estimate
from distrivote.evaluation.experiments.base import Experiment, Findings, Setting, cells
from distrivote.evaluation.experiments.points import last_column
from distrivote.evaluation.experiments.setting_views import (
    SHARES,
    VOTES,
    WHOLE,
    Compared,
    setting_charts,
    setting_tables,
)
from distrivote.evaluation.experiments.setting_words import order, published_word, words
from distrivote.evaluation.experiments.steps import alpha_course
from distrivote.evaluation.experiments.tables import Paper, near_the_best, published_value
from distrivote.evaluation.experiments.whole import whole_sample
from distrivote.evaluation.results import Cell, Chart, Table
from distrivote.evaluation.scoring import Ask, Scores
from distrivote.evaluation.studies import Study

Key = tuple[Cell, ...]

_IGNORED = ("temperature", "exact_token")


class _Variants(NamedTuple):
    """The sets of a study that differ in some settings alone."""

    sources: dict[Key, dict[str, int]]
    """For each value of the settings, the set of every benchmark."""

    left_out: list[int]
    """Steered sets that differ in other settings too."""


@dataclass(frozen=True, slots=True)
class Sensitivity(Compared):
    """A comparison of runs by some of their settings."""

    table: str = ""
    """The paper's."""

    method: str = ""
    word: str | None = None
    """What the paper calls the setting, if not by its name."""

    def variants(self, setting: Setting, study: Study) -> _Variants:
        """Return the largest group of sets that are alike in all other settings.

        Of groups of equal size it is the one with the starred set.
        """
        groups: dict[str, dict[Key, dict[str, int]]] = {}
        starred, sources = set(), []
        for bench in study.benches:
            for source in bench.variants:
                settings = setting.sets[source].settings
                if not all(key in settings for key in self.keys):
                    continue
                others = repr(sorted((k, v) for k, v in settings.items() if k not in (*self.keys, *_IGNORED)))
                value = tuple(settings[key] for key in self.keys)
                found = groups.setdefault(others, {}).setdefault(value, {})
                found.setdefault(bench.benchmark, source)
                sources.append(source)
                if source == bench.ssc:
                    starred.add(others)
        if not groups:
            return _Variants({}, [])
        best = max(groups, key=lambda others: (len(groups[others]), others in starred))
        chosen = dict(sorted(groups[best].items(), key=lambda item: [order(value) for value in item[0]]))
        used = {source for found in chosen.values() for source in found.values()}
        return _Variants(chosen, [source for source in sources if source not in used])

    def asks(self, setting: Setting) -> Iterator[Ask]:
        for study in setting.studies:
            found = self.variants(setting, study).sources
            for sources in found.values() if len(found) > 1 else ():
                for source in sources.values():
                    for measure in VOTES.values():
                        yield Ask(source, setting.budget, measure)

    def make(self, setting: Setting, scores: Scores) -> Findings:
        tables: list[Table] = []
        charts: list[Chart] = []
        notes: list[str] = []
        for study in setting.studies:
            found, left_out = self.variants(setting, study)
            if len(found) < 2:
                differ = " and ".join(self.labels)
                notes.append(
                    f"{study.model}: this needs SelfStepConf runs that differ in {differ} alone, and there"
                    f" {'is only one' if found else 'is none'}"
                )
                continue
            samples = [_samples(setting, scores, sources) for sources in found.values()]
            rows = [
                self._row(setting, study, key, len(sources), some)
                for (key, sources), some in zip(found.items(), samples, strict=True)
            ]
            for name in SHARES:
                for row, near in zip(
                    rows, near_the_best([some[name] for some in samples], setting.seed), strict=True
                ):
                    row[f"{name}_near"] = near
            tables += setting_tables(self, setting, study, rows)
            charts += setting_charts(self, setting, study, rows)
            if self.keys == ("alpha",):
                benchmark = study.benches[0].benchmark
                sets = [
                    setting.sets[sources[benchmark]] for sources in found.values() if benchmark in sources
                ]
                course = alpha_course(sets, study.model)
                charts += [course] if course is not None else []
            notes += self._notes(setting, study, found, left_out)
        if (
            self.keys == ("delta",)
            and tables
            and not any(study.temperature == 0 for study in setting.studies)
        ):
            notes.append("The paper counts the reflections of delta at temperature 0: no run here has that")
        return Findings(tables, charts, notes)

    def _notes(
        self,
        setting: Setting,
        study: Study,
        found: Mapping[Key, Mapping[str, int]],
        left_out: Sequence[int],
    ) -> Iterator[str]:
        if left_out:
            names = ", ".join(setting.sets[source].name for source in left_out)
            yield f"{study.model}: left out, for they differ in other settings or come twice: {names}"
        compared = [
            setting.sets[source].settings for sources in found.values() for source in sources.values()
        ]
        ours = [settings for settings in compared if not settings.get("released")]
        if setting.published is not None and setting.published.model(study.model) is not None and ours:
            yield (
                f"{study.model}: the paper's runs are SelfStepConf.as_published() (generate --as-published),"
                f" and {len(ours)} of these {len(compared)} are not: reflections and lengths do not compare"
            )

    def _row(
        self,
        setting: Setting,
        study: Study,
        key: Key,
        n_benchmarks: int,
        samples: Mapping[str, Sequence[Sample] | None],
    ) -> dict[str, Cell]:
        row: dict[str, Cell] = {
            name: words(value) if name == "split" else value
            for name, value in zip(self.keys, key, strict=True)
        }
        row["n_benchmarks"] = n_benchmarks
        # The paper's numbers are of all benchmarks, or of the only one.
        published = key if n_benchmarks == len(study.benches) else None
        for name, some in samples.items():
            metric = WHOLE[name].published if name in WHOLE else name
            found = None if some is None else estimate(some, setting.seed)
            row |= self._cells(setting, study, name, metric, found, published)
        return row

    def _cells(
        self,
        setting: Setting,
        study: Study,
        name: str,
        metric: str,
        found: Estimate | None,
        published: Key | None,
    ) -> dict[str, Cell]:
        """Return a measure's fields; `published` is None where the paper's number would not compare."""
        row: dict[str, Cell] = dict(cells(name, found))
        if published is not None:
            metric = metric.lower() if self.method and name == "pass1" else metric
            scale = 100.0 if name in SHARES else 1.0
            paper = Paper(self.table, self._published_setting(published), metric, scale)
            value = published_value(setting, study, paper, self.method, last_column(study))
            if value is not None:
                row[f"{name}_paper"] = value
        return row

    def _published_setting(self, key: Key) -> str:
        names = (self.word,) if self.word is not None else self.keys
        return " ".join(f"{name}={published_word(value)}" for name, value in zip(names, key, strict=True))


def _samples(setting: Setting, scores: Scores, sources: Mapping[str, int]) -> dict[str, list[Sample] | None]:
    """Return the samples of every measure, one per benchmark; None for votes without confidences."""
    found: dict[str, list[Sample] | None] = {
        name: [whole_sample(setting.sets[source], each.value) for source in sources.values()]
        for name, each in WHOLE.items()
    }
    for label, measure in VOTES.items():
        asked = [scores.get(Ask(source, setting.budget, measure)) for source in sources.values()]
        votes = [one["correct"] for one in asked if one is not None]
        found[label] = votes if len(votes) == len(asked) else None
    return found


def _experiment(each: Sensitivity) -> Experiment:
    reads = ("lengths", "traces") if each.name == "alpha" else ("lengths",)
    return Experiment(each.name, each.title, each.make, each.asks, reads)


_SETTINGS = (
    Sensitivity(
        "alpha",
        "How much of the threshold should stay?",
        ("alpha",),
        ("alpha",),
        "sensitivity_alpha",
    ),
    Sensitivity(
        "delta",
        "How large a drop should count?",
        ("delta",),
        ("delta",),
        "sensitivity_delta",
    ),
    Sensitivity(
        "alpha-delta",
        "Do alpha and delta depend on each other?",
        ("alpha", "delta"),
        ("alpha", "delta"),
        "sensitivity_alpha_delta",
    ),
    Sensitivity(
        "step-split",
        "Where should a step end?",
        ("split",),
        ("splitter",),
        "step_split",
        "SelfStepConf",
    ),
    Sensitivity(
        "reflection-token",
        "Which word makes the model think again?",
        ("reflection",),
        ("reflection",),
        "reflection_token",
        "SelfStepConf",
        word="token",
    ),
)
EXPERIMENTS = tuple(map(_experiment, _SETTINGS))
