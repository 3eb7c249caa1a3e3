"""Experiments that compare methods at one budget: main, components."""

from __future__ import annotations

from collections.abc import Sequence

from distrivote.evaluation.experiments.base import (
    Experiment,
    Findings,
    Line,
    Setting,
    asks_of,
    line,
    slug,
)
from distrivote.evaluation.experiments.points import column_words, last_column, point
from distrivote.evaluation.experiments.tables import (
    Measured,
    Paper,
    budget_words,
    difference_chart,
    difference_table,
    disagreements,
    line_table,
    measured,
    missing_notes,
    published_value,
)
from distrivote.evaluation.results import Axis, Chart, Row
from distrivote.evaluation.scoring import Scores
from distrivote.evaluation.studies import Study

MAIN = (
    line("SC", "sc"),
    line("WSC", "wsc"),
    line("BoN", "bon"),
    line("MoB (q = 0.75)", "mob", paper="-"),
    line("MoB (q = 0.1)", "mob:q=0.1", paper="MoB-Adaptive"),
    line("WSC-Top50", "wsc-top50"),
    line("WSC-GMM", "wsc-gmm"),
    line("WSC-GMM*", "wsc-gmm"),
    line("DIS-Top50", "dis-top50"),
    line("DIS-GMM", "dis-gmm"),
    line("DIS-GMM*", "dis-gmm"),
    line("DIS-GMM, released", "dis-gmm:released", paper="-"),
    line("Root", "root", paper="-"),
    line("auto", "auto", paper="-"),
)
"""The paper's methods, its main one as the authors' released script counts it, and two not of the paper."""

MAIN_PAIRS = (
    ("WSC", "SC"),
    ("WSC-Top50", "WSC"),
    ("WSC-GMM", "WSC-Top50"),
    ("DIS-GMM", "WSC-GMM"),
    ("DIS-GMM", "DIS-Top50"),
    ("DIS-GMM", "SC"),
    ("DIS-GMM", "BoN"),
    ("DIS-GMM", "MoB (q = 0.75)"),
    ("DIS-GMM", "MoB (q = 0.1)"),
    ("WSC-GMM*", "WSC-GMM"),
    ("DIS-GMM*", "DIS-GMM"),
    ("DIS-GMM, released", "DIS-GMM"),
    ("Root", "SC"),
    ("Root", "WSC"),
    ("Root", "DIS-GMM"),
    ("auto", "SC"),
    ("auto", "DIS-GMM"),
)

_PARTS = (  # method, then GMM filter, reject filter, hierarchical vote as the paper writes them
    ("wsc-top50", "no", "no", "no"),
    ("wsc-gmm", "yes", "no", "no"),
    ("wsc-top50-reject", "no", "yes", "no"),
    ("hier-top50", "no", "no", "yes"),
    ("wsc-gmm-reject", "yes", "yes", "no"),
    ("hier-gmm", "yes", "no", "yes"),
    ("dis-top50", "no", "yes", "yes"),
    ("dis-gmm", "yes", "yes", "yes"),
    ("wsc", "--", "--", "no"),
    ("hier", "--", "--", "yes"),
)
_RELEASED = tuple(method for method, *_ in _PARTS if method not in ("wsc", "wsc-top50"))
"""Methods in which the authors' released script differs."""

COMPONENTS = (
    *(
        line(
            method + star,
            method,
            paper=f"ssc={'yes' if star else 'no'} gmm={gmm} reject={reject} hier={hier}",
        )
        for star in ("", "*")
        for method, gmm, reject, hier in _PARTS
    ),
    *(
        line(f"{method}:released{star}", f"{method}:released", paper="-")
        for star in ("", "*")
        for method in _RELEASED
    ),
)
COMPONENT_PAIRS = (
    ("dis-gmm*", "dis-gmm"),
    *(
        (ours + star, theirs + star)
        for star in ("", "*")
        for ours, theirs in (
            ("wsc-gmm", "wsc-top50"),
            ("wsc-gmm-reject", "wsc-gmm"),
            ("hier-gmm", "wsc-gmm"),
            ("dis-gmm", "hier-gmm"),
            ("dis-gmm", "dis-top50"),
            ("hier", "wsc"),
        )
    ),
    *((f"{method}:released{star}", f"{method}{star}") for star in ("", "*") for method in _RELEASED),
)


def _table_experiment(
    name: str,
    title: str,
    lines: Sequence[Line],
    pairs: Sequence[tuple[str, str]],
    paper: str,
    subject: str,
) -> Experiment:
    """Return an experiment that is one table per model, with the differences that are real."""

    def make(setting: Setting, scores: Scores) -> Findings:
        tables, notes = [], []
        charts = []
        for study in setting.studies:
            rows = measured(setting, scores, study, lines)
            notes += missing_notes(setting, rows, study, lines)
            if not rows:
                continue
            words = f"{study.model}: {subject} ({budget_words(setting)})"
            tables.append(line_table(setting, study, rows, title=words, paper=Paper(paper)))
            notes += disagreements(setting, study, rows, pairs, Paper(paper))
            differences = difference_table(setting, study, rows, pairs)
            if differences is not None:
                tables.append(differences)
            charts.append(bars(setting, study, rows, title, paper))
            if differences is not None:
                charts.append(difference_chart(study, differences))
        return Findings(tables, charts, notes)

    return Experiment(name, title, make, lambda setting: asks_of(setting, lines))


def bars(setting: Setting, study: Study, rows: Sequence[Measured], title: str, paper: str) -> Chart:
    column = last_column(study)
    fields: list[Row] = []
    for row in rows:
        found = row.estimates.get(column)
        if found is None:
            continue
        fields.append(point(row.line.label, row.line.label, found.mean, found.low, found.high))
        value = published_value(setting, study, Paper(paper), row.line.paper, column)
        if value is not None:
            fields.append(point(row.line.label, row.line.label, value, None, None, published=True))
    return Chart(
        f"{slug(study.model)}-accuracy",
        title,
        f"{study.model}, {column_words(column)}, {budget_words(setting)}; 95% intervals over questions",
        "points",
        Axis("x", "Method", "text"),
        Axis("accuracy", "Voting accuracy", "percent"),
        tuple(fields),
        low="low",
        high="high",
        published="published",
    )


EXPERIMENTS = (
    _table_experiment(
        "main",
        "Which method is right most often?",
        MAIN,
        MAIN_PAIRS,
        "main_results",
        "accuracy of every method",
    ),
    _table_experiment(
        "components",
        "What does each part of DistriVoting add?",
        COMPONENTS,
        COMPONENT_PAIRS,
        "component_ablation",
        "accuracy of every combination of parts",
    ),
)
