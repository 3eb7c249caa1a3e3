"""Experiments over runs that were generated with different settings of SelfStepConf.

Each compares the steered runs of a model that differ in one setting (alpha, delta, the splitter, the
reflection text) or in two (alpha and delta), and are alike in all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from distrivote.evaluation.conditions import CONDITIONS
from distrivote.evaluation.estimates import Estimate, Sample, estimate
from distrivote.evaluation.experiments.base import AVERAGE, Experiment, Findings, Setting, cells
from distrivote.evaluation.experiments.points import column_words
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
from distrivote.evaluation.pools import common_questions
from distrivote.evaluation.results import Cell, Chart, Table
from distrivote.evaluation.scoring import Ask, Scores
from distrivote.evaluation.studies import Study
from distrivote.nouns import count

Key = tuple[Cell, ...]

_IGNORED = (*CONDITIONS, "exact_token")
"""Settings that the sets of a study share on each benchmark, or that the splitter's words include."""


class _Variants(NamedTuple):
    """The sets of a study that differ only in some settings."""

    sources: dict[Key, dict[str, int]]
    """For each value of the settings, the set of every benchmark."""

    questions: dict[str, frozenset[str]]
    """For each benchmark that all of them have, the questions that all have."""

    left_out: list[int]
    """Steered sets that differ in other settings too."""

    @property
    def n_questions(self) -> int:
        return sum(map(len, self.questions.values()))


@dataclass(frozen=True, slots=True)
class Sensitivity(Compared):
    """A comparison of runs by some of their settings."""

    table: str = ""
    """The paper's."""

    method: str = ""
    word: str | None = None
    """The paper's name of the setting, if it is another one."""

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
            return _Variants({}, {}, [])
        best = max(groups, key=lambda others: (len(groups[others]), others in starred))
        chosen = dict(sorted(groups[best].items(), key=lambda item: [order(value) for value in item[0]]))
        used = {source for found in chosen.values() for source in found.values()}
        questions = {}
        for bench in study.benches:
            have = [
                setting.sets[found[bench.benchmark]] for found in chosen.values() if bench.benchmark in found
            ]
            common = common_questions(have)
            if len(have) == len(chosen) and common:
                questions[bench.benchmark] = common
        return _Variants(chosen, questions, [source for source in sources if source not in used])

    def asks(self, setting: Setting) -> Iterator[Ask]:
        for study in setting.studies:
            found = self.variants(setting, study)
            for sources in found.sources.values() if len(found.sources) > 1 else ():
                for benchmark, questions in found.questions.items():
                    for measure in VOTES.values():
                        yield Ask(sources[benchmark], setting.budget, measure, questions=questions)

    def make(self, setting: Setting, scores: Scores) -> Findings:
        tables: list[Table] = []
        charts: list[Chart] = []
        notes: list[str] = []
        for study in setting.studies:
            variants = self.variants(setting, study)
            found = variants.sources
            if len(found) < 2 or not variants.questions:
                differ = " and ".join(self.labels)
                lack = "is only one" if found else "is none"
                notes.append(
                    f"{study.model}: this needs SelfStepConf runs that differ in {differ} alone, and there"
                    f" {lack if len(found) < 2 else 'is no question that all of them have'}"
                )
                continue
            column = _column(study, variants)
            samples = [_samples(setting, scores, sources, variants.questions) for sources in found.values()]
            rows = [
                self._row(setting, study, key, column, some) for key, some in zip(found, samples, strict=True)
            ]
            for name in SHARES:
                for row, near in zip(
                    rows, near_the_best([some[name] for some in samples], setting.seed), strict=True
                ):
                    row[f"{name}_near"] = near
            where = f"{_where(study, column, variants)}{_of_questions(setting, variants)}"
            tables += setting_tables(self, setting, study, rows, where)
            charts += setting_charts(self, setting, study, rows, where)
            if self.keys == ("alpha",):
                benchmark = study.benches[0].benchmark
                sets = [
                    setting.sets[sources[benchmark]] for sources in found.values() if benchmark in sources
                ]
                course = alpha_course(sets, study.model)
                charts += [course] if course is not None else []
            notes += self._notes(setting, study, variants)
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
        variants: _Variants,
    ) -> Iterator[str]:
        if variants.left_out:
            names = ", ".join(setting.sets[source].name for source in variants.left_out)
            yield f"{study.model}: left out because they differ in other settings or are duplicates: {names}"
        compared = [
            setting.sets[source].settings
            for sources in variants.sources.values()
            for source in sources.values()
        ]
        if _of_questions(setting, variants):
            n = count(variants.n_questions, "question")
            yield f"{study.model}: these runs are compared on the {n} that all {len(variants.sources)} have"
        ours = [settings for settings in compared if not settings.get("released")]
        known = setting.published is not None and setting.published.model(study.name, study.thinking)
        if known and ours:
            yield (
                f"{study.model}: the paper's runs are SelfStepConf.as_published(),"
                f" and {len(ours)} of these {len(compared)} are not:"
                " reflections and lengths are not comparable"
            )

    def _row(
        self,
        setting: Setting,
        study: Study,
        key: Key,
        column: str | None,
        samples: Mapping[str, Sequence[Sample] | None],
    ) -> dict[str, Cell]:
        row: dict[str, Cell] = {
            name: words(value) if name == "split" else value
            for name, value in zip(self.keys, key, strict=True)
        }
        for name, some in samples.items():
            metric = WHOLE[name].published if name in WHOLE else name
            found = None if some is None else estimate(some, setting.seed)
            row |= self._cells(setting, study, name, metric, found, key, column)
        return row

    def _cells(
        self,
        setting: Setting,
        study: Study,
        name: str,
        metric: str,
        found: Estimate | None,
        key: Key,
        column: str | None,
    ) -> dict[str, Cell]:
        """Return a measure's fields; `column` is None if no number of the paper is comparable."""
        row: dict[str, Cell] = dict(cells(name, found))
        if column is not None:
            metric = metric.lower() if self.method and name == "pass1" else metric
            scale = 100.0 if name in SHARES else 1.0
            paper = Paper(self.table, self._published_setting(key), metric, scale)
            value = published_value(setting, study, paper, self.method, column)
            if value is not None:
                row[f"{name}_paper"] = value
        return row

    def _published_setting(self, key: Key) -> str:
        names = (self.word,) if self.word is not None else self.keys
        return " ".join(f"{name}={published_word(value)}" for name, value in zip(names, key, strict=True))


def _column(study: Study, variants: _Variants) -> str | None:
    """Return the comparable column of the paper's tables: a single benchmark, or the mean over all."""
    if len(variants.questions) == 1:
        return next(iter(variants.questions))
    return AVERAGE if len(variants.questions) == len(study.benches) else None


def _where(study: Study, column: str | None, variants: _Variants) -> str:
    if column is None:
        return "average over " + ", ".join(map(study.label, variants.questions))
    return column_words(column) if column == AVERAGE else study.label(column)


def _of_questions(setting: Setting, variants: _Variants) -> str:
    """Say how many questions are compared, if some runs have more."""
    sizes = {sum(len(setting.sets[s].pools) for s in found.values()) for found in variants.sources.values()}
    return "" if sizes == {variants.n_questions} else f", {count(variants.n_questions, 'common question')}"


def _samples(
    setting: Setting, scores: Scores, sources: Mapping[str, int], questions: Mapping[str, frozenset[str]]
) -> dict[str, list[Sample] | None]:
    """Return the samples of every measure, one per benchmark; None for votes without confidences."""
    found: dict[str, list[Sample] | None] = {
        name: [
            whole_sample(setting.sets[sources[benchmark]].only(some), each.value)
            for benchmark, some in questions.items()
        ]
        for name, each in WHOLE.items()
    }
    for label, measure in VOTES.items():
        asked = [
            scores.get(Ask(sources[benchmark], setting.budget, measure, questions=some))
            for benchmark, some in questions.items()
        ]
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
