"""Experiments over runs that were generated with different settings of SelfStepConf.

Each compares the steered runs of a model that differ in one setting (alpha, delta, the splitter, the
reflection text) or in two (alpha and delta), and are alike in all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from distrivote.evaluation.drawn import Voting
from distrivote.evaluation.estimates import Estimate, Sample, estimate, whole_pool_sample
from distrivote.evaluation.experiments.base import Experiment, Findings, Setting, cells, slug
from distrivote.evaluation.experiments.points import column_words, last_column
from distrivote.evaluation.experiments.sampling import mean_confidence, mean_of, share_right
from distrivote.evaluation.experiments.steps import alpha_course
from distrivote.evaluation.experiments.tables import Paper, budget_words, published_value
from distrivote.evaluation.pools import Pool
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Ask, Scores
from distrivote.evaluation.studies import Study
from distrivote.voting.methods import parse_method

Key = tuple[Cell, ...]

_WHOLE: Mapping[str, tuple[str, Callable[[Pool], float]]] = {
    "pass1": ("Pass@1", share_right),
    "steps": ("Steps Count", mean_of(lambda pool: pool.n_steps)),
    "tokens": ("Tokens Count", mean_of(lambda pool: pool.n_tokens)),
    "confidence": ("Confidence", mean_confidence),
    "reflections": ("Reflections Count", mean_of(lambda pool: pool.n_reflections)),
}
_VOTES = {"WSC-GMM*": Voting(parse_method("wsc-gmm")), "DIS-GMM*": Voting(parse_method("dis-gmm"))}
_SHARES = ("pass1", *_VOTES)
_LABELS = {
    "pass1": "Pass@1",
    "steps": "Steps",
    "tokens": "Tokens",
    "confidence": "Confidence",
    "reflections": "Reflections",
}
_IGNORED = ("temperature", "exact_token")
_SPLITS = {"delimiter \\n\\n": "\\n\\n", "delimiter \\n": "\\n"}


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A comparison of runs by some of their settings."""

    name: str
    title: str
    keys: tuple[str, ...]
    labels: tuple[str, ...]
    table: str
    """The paper's."""

    method: str = ""
    word: str | None = None
    """What the paper calls the setting, if not by its name."""

    def variants(self, setting: Setting, study: Study) -> dict[Key, dict[str, int]]:
        """Return, for each value of the settings, the set of every benchmark."""
        found: dict[Key, dict[str, int]] = {}
        for bench in study.benches:
            if bench.ssc is None:
                continue
            base = self._others(setting, bench.ssc)
            for source in bench.variants:
                settings = setting.sets[source].settings
                if all(key in settings for key in self.keys) and self._others(setting, source) == base:
                    value = tuple(settings[key] for key in self.keys)
                    found.setdefault(value, {}).setdefault(bench.benchmark, source)
        return dict(sorted(found.items(), key=lambda item: [(isinstance(v, str), v) for v in item[0]]))

    def _others(self, setting: Setting, source: int) -> dict[str, Cell]:
        settings = setting.sets[source].settings
        return {k: v for k, v in settings.items() if k not in (*self.keys, *_IGNORED)}

    def asks(self, setting: Setting) -> Iterator[Ask]:
        for study in setting.studies:
            found = self.variants(setting, study)
            for sources in found.values() if len(found) > 1 else ():
                for source in sources.values():
                    for measure in _VOTES.values():
                        yield Ask(source, setting.budget, measure)

    def make(self, setting: Setting, scores: Scores) -> Findings:
        tables: list[Table] = []
        charts: list[Chart] = []
        notes: list[str] = []
        for study in setting.studies:
            found = self.variants(setting, study)
            if len(found) < 2:
                words = " and ".join(self.labels)
                notes.append(
                    f"{study.model}: this needs SelfStepConf runs that differ in {words} alone, and there"
                    f" {'is only one' if found else 'is none'}"
                )
                continue
            rows = [self._row(setting, scores, study, key, sources) for key, sources in found.items()]
            tables.append(self._table(setting, study, rows))
            charts += self._charts(setting, study, rows)
            if self.keys == ("alpha",):
                benchmark = study.benches[0].benchmark
                sets = [
                    setting.sets[sources[benchmark]] for sources in found.values() if benchmark in sources
                ]
                course = alpha_course(sets, study.model)
                charts += [course] if course is not None else []
        return Findings(tables, charts, notes)

    def _row(
        self, setting: Setting, scores: Scores, study: Study, key: Key, sources: Mapping[str, int]
    ) -> dict[str, Cell]:
        row: dict[str, Cell] = dict(zip(self.keys, key, strict=True))
        row["n_benchmarks"] = len(sources)
        whole = len(sources) == len(study.benches)
        for name, (metric, value) in _WHOLE.items():
            samples = [_whole(setting, source, value) for source in sources.values()]
            found = estimate(samples, setting.seed)
            row |= self._cells(setting, study, name, metric, found, key if whole else None)
        for label, measure in _VOTES.items():
            asked = [scores.get(Ask(source, setting.budget, measure)) for source in sources.values()]
            votes = [one["correct"] for one in asked if one is not None]
            known = estimate(votes, setting.seed) if len(votes) == len(sources) else None
            row |= self._cells(setting, study, label, label, known, key if whole else None)
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
            scale = 100.0 if name in _SHARES else 1.0
            paper = Paper(self.table, self._published_setting(published), metric, scale)
            value = published_value(setting, study, paper, self.method, last_column(study))
            if value is not None:
                row[f"{name}_paper"] = value
        return row

    def _published_setting(self, key: Key) -> str:
        words = (self.word,) if self.word is not None else self.keys
        return " ".join(f"{word}={_published_word(value)}" for word, value in zip(words, key, strict=True))

    def _table(self, setting: Setting, study: Study, rows: list[dict[str, Cell]]) -> Table:
        columns = [Column(key, label) for key, label in zip(self.keys, self.labels, strict=True)]
        columns.append(Column("n_benchmarks", "Benchmarks", "whole", 0))
        for name in ("pass1", *_VOTES, "steps", "tokens", "confidence", "reflections"):
            if all(row[name] is None for row in rows):
                continue
            label, share = _LABELS.get(name, name), name in _SHARES
            kind: Literal["percent", "number"] = "percent" if share else "number"
            columns.append(
                Column(
                    name,
                    label,
                    kind,
                    2,
                    spread=f"{name}_sd",
                    low=f"{name}_low",
                    high=f"{name}_high",
                    best="highest" if share else None,
                )
            )
            if any(f"{name}_paper" in row for row in rows):
                columns.append(Column(f"{name}_paper", f"{label}, paper", kind, 2))
                for row in rows:
                    row.setdefault(f"{name}_paper", None)
        words = f"{study.model}: {self.title[0].lower()}{self.title[1:]}"
        title = f"{words} ({column_words(last_column(study))}, {budget_words(setting)})"
        return Table(slug(study.model), title, tuple(columns), tuple(rows))

    def _charts(self, setting: Setting, study: Study, rows: list[dict[str, Cell]]) -> Iterator[Chart]:
        subtitle = f"{study.model}, {column_words(last_column(study))}, {budget_words(setting)}"
        numbers = all(isinstance(row[self.keys[0]], (int, float)) for row in rows)
        first = Axis(self.keys[0], self.labels[0], "number" if numbers else "text")
        if len(self.keys) == 2:
            for name in ("DIS-GMM*", "reflections"):
                if all(row[name] is not None for row in rows):
                    value = Axis(name, _LABELS.get(name, name), "percent" if name in _SHARES else "number")
                    second = Axis(self.keys[1], self.labels[1])
                    yield Chart(
                        f"{slug(study.model)}-{slug(name)}", self.title, subtitle, "heatmap", first, second,
                        tuple(rows), value=value,
                    )  # fmt: skip
            return
        points: list[Row] = [
            {
                self.keys[0]: row[self.keys[0]],
                "accuracy": row[name],
                "low": row[f"{name}_low"],
                "high": row[f"{name}_high"],
                "series": _LABELS.get(name, name),
            }
            for name in _SHARES
            for row in rows
            if row[name] is not None
        ]
        yield Chart(
            f"{slug(study.model)}-{self.name}",
            self.title,
            f"{subtitle}; 95% intervals over questions",
            "lines" if numbers else "points",
            first,
            Axis("accuracy", "Accuracy", "percent"),
            tuple(points),
            series="series",
            low="low",
            high="high",
        )


def _whole(setting: Setting, source: int, value: Callable[[Pool], float]) -> Sample:
    each = setting.sets[source]
    names = tuple(pool.question for pool in each.pools)
    return whole_pool_sample(each.benchmark, names, np.array([value(pool) for pool in each.pools]))


def _published_word(value: Cell) -> str:
    """Return a setting as the paper writes it: `window=512`, `HET`, `\\n\\n`, `0.8`."""
    text = str(value)
    if text.startswith("window "):
        return text.replace(" ", "=")
    if text.startswith("entropy"):
        return "HET"
    return _SPLITS.get(text.removesuffix(" exact"), text)


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
