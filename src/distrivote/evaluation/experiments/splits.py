"""Experiments about the split into likely right and likely wrong: stages, clustering."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from distrivote.evaluation.drawn import PositiveSide, Stages, Voting
from distrivote.evaluation.experiments.base import Experiment, Findings, Line, Setting, asks_of, slug
from distrivote.evaluation.experiments.points import column_words, last_column
from distrivote.evaluation.experiments.tables import (
    Measured,
    Paper,
    budget_words,
    line_table,
    measured,
    measured_line,
    missing_notes,
    published_value,
)
from distrivote.evaluation.results import Axis, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Ask, Scores, draw_pools, has_confidence
from distrivote.evaluation.studies import Study
from distrivote.voting.filters import Filter, GmmFilter, KMeansFilter, MeanShiftFilter, TopFilter
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.votes import HierarchicalVote

# Stages

_STAGES = Stages(Pipeline(HierarchicalVote(), GmmFilter(), reject=True))
_STAGE_LINES = (
    Line("DIS-GMM", _STAGES, paper="DIS-GMM"),
    Line("DIS-GMM*", _STAGES, starred=True),
)
_STAGE_NAMES = {1: "I", 2: "II", 3: "III"}
_STAGE_WORDS = {1: "I: all answers", 2: "II: likely right", 3: "III: after rejection"}


def _make_stages(setting: Setting, scores: Scores) -> Findings:
    tables, charts, notes = [], [], []
    for study in setting.studies:
        points: list[Row] = []
        for value, metric in (("acc", "Acc"), ("wacc", "WAcc")):
            rows: list[Measured] = []
            papers = {}
            for line in _STAGE_LINES:
                for number, words in _STAGE_WORDS.items():
                    label = words + ("*" if line.starred else "")
                    row = measured_line(setting, scores, study, line, f"{value}_{number}", label)
                    rows += [row] if row is not None else []
                    papers[label] = Paper("filter_stages", f"stage={_STAGE_NAMES[number]}", metric)
            if rows:
                title = f"{study.model}: {metric} at each stage ({budget_words(setting)})"
                name = f"{study.model}-{value}"
                tables.append(
                    line_table(setting, study, rows, title=title, label="Stage", name=name, settings=papers)
                )
                points += _stage_points(setting, study, rows, metric, papers)
        notes += missing_notes(
            setting, measured(setting, scores, study, _STAGE_LINES, "acc_1"), study, _STAGE_LINES
        )
        if points:
            charts.append(_stage_chart(setting, study, points))
    return Findings(tables, charts, notes)


def _stage_points(
    setting: Setting, study: Study, rows: Sequence[Measured], metric: str, papers: dict[str, Paper]
) -> Iterator[Row]:
    column = last_column(study)
    for row in rows:
        stage, series = row.line.label.split(":")[0], metric + ("*" if row.line.starred else "")
        found = row.estimates.get(column)
        if found is not None:
            yield {
                "stage": stage,
                "series": series,
                "share": found.mean,
                "low": found.low,
                "high": found.high,
            }
        value = published_value(setting, study, papers[row.line.label], row.line.paper, column)
        if value is not None:
            yield {"stage": stage, "series": series, "share": value, "published": True}


def _stage_chart(setting: Setting, study: Study, points: Sequence[Row]) -> Chart:
    return Chart(
        f"{slug(study.model)}-stages",
        "How pure is the pool at each stage?",
        f"{study.model}, {column_words(last_column(study))}, {budget_words(setting)}; 95% intervals over"
        " questions",
        "lines",
        Axis("stage", "Stage", "text"),
        Axis("share", "Share of right answers", "percent"),
        tuple(points),
        series="series",
        low="low",
        high="high",
        published="published",
    )


# Clustering

_FILTERS: dict[str, Filter] = {
    "Top50": TopFilter(),
    "K-Means": KMeansFilter(),
    "MeanShift": MeanShiftFilter(),
    "GMM": GmmFilter(),
}
_METRICS = (
    ("acc", "Acc", "Acc (%)"),
    ("wacc", "WAcc", "WAcc (%)"),
    ("auroc", "AUROC", "AUROC ()"),
    ("voting", "Voting accuracy", "Voting Acc (%)"),
    ("predict", "Predict accuracy", "Predict Acc (%)"),
)


def _cluster_line(name: str, value: str) -> Line:
    filter = _FILTERS[name]
    voting = Voting(Pipeline(HierarchicalVote(), filter, reject=True))
    return Line(name, voting if value == "voting" else PositiveSide(filter), paper=name)


def _cluster_asks(setting: Setting) -> Iterator[Ask]:
    return asks_of(setting, [_cluster_line(name, value) for name in _FILTERS for value in ("acc", "voting")])


def _make_clustering(setting: Setting, scores: Scores) -> Findings:
    tables: list[Table] = []
    notes: list[str] = []
    for study in setting.studies:
        for value, metric, published_metric in _METRICS:
            field = "correct" if value == "voting" else value
            found = (
                measured_line(setting, scores, study, _cluster_line(name, value), field) for name in _FILTERS
            )
            rows = [row for row in found if row is not None]
            if rows:
                scale = 1.0 if value == "auroc" else 100.0
                paper = Paper("clustering_ablation", "", published_metric, scale)
                tables.append(_cluster_table(setting, study, rows, value, metric, paper))
            if value == "auroc":
                notes += _skipped(study, rows)
        lines = [_cluster_line(name, "acc") for name in _FILTERS]
        notes += missing_notes(setting, measured(setting, scores, study, lines, "acc"), study, lines)
        if setting.clock is not None:
            tables += _times(setting, study, setting.clock)
    return Findings(tables, (), notes)


def _cluster_table(
    setting: Setting, study: Study, rows: Sequence[Measured], value: str, metric: str, paper: Paper
) -> Table:
    inside = " inside the positive side" if value in ("acc", "wacc", "auroc") else ""
    auroc = value == "auroc"
    return line_table(
        setting,
        study,
        rows,
        title=f"{study.model}: {metric}{inside} of every split ({budget_words(setting)})",
        label="Split",
        name=f"{study.model}-{value}",
        paper=paper,
        kind="number" if auroc else "percent",
        decimals=4 if auroc else 2,
    )


def _skipped(study: Study, rows: Sequence[Measured]) -> list[str]:
    column = last_column(study)
    skipped = {row.line.label: row.estimates[column].n_skipped for row in rows if column in row.estimates}
    if not any(skipped.values()):
        return []
    words = ", ".join(f"{n} for {label}" for label, n in skipped.items())
    return [
        f"{study.model}: the AUROC inside the positive side leaves out questions where it holds only right or"
        f" only wrong answers in every draw ({words})"
    ]


def _times(setting: Setting, study: Study, clock: Callable[[], float]) -> Iterator[Table]:
    """Yield the time that a split of one pool takes, measured on a draw of each question."""
    for source in study.sources(starred=False)[:1]:
        if not has_confidence(setting.sets[source]):
            return
        rows: list[Row] = []
        pools = setting.sets[source].pools[:64]
        for name in _FILTERS:
            fresh = draw_pools(pools, setting.budget, 1, setting.seed)
            begun = clock()
            fresh.electorate.splits(_FILTERS[name])
            rows.append({"split": name, "time": (clock() - begun) / len(pools) * 1e3})
        columns = (
            Column("split", "Split"),
            Column("time", "Milliseconds per pool", "number", 4, best="lowest"),
        )
        yield Table(f"{slug(study.model)}-time", f"{study.model}: time of a split", columns, tuple(rows))


EXPERIMENTS = (
    Experiment(
        "clustering",
        "Which split tells right from wrong best?",
        _make_clustering,
        _cluster_asks,
    ),
    Experiment(
        "stages",
        "How pure is the pool at each stage?",
        _make_stages,
        lambda setting: asks_of(setting, _STAGE_LINES),
    ),
)
