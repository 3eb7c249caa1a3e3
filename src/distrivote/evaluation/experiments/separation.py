"""How well does confidence separate right from wrong, with and without SelfStepConf? One experiment.

Whole pools, no draws: AUROC pooled and within question, Acc, WAcc, the density difference between the
two sides of the GMM split, the histogram of right and wrong, and the accuracy by rank of confidence, of all
and of either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from distrivote.evaluation.experiments.base import AVERAGE, Experiment, Findings, Setting, columns_of, slug
from distrivote.evaluation.experiments.points import last_column
from distrivote.evaluation.experiments.tables import (
    Measured,
    Paper,
    common_words,
    difference_chart,
    difference_table,
    line_table,
    paper_field,
    published_value,
)
from distrivote.evaluation.experiments.whole import (
    WAYS,
    Voters,
    Way,
    no_ssc_note,
    sets_of,
    voters,
    whole_measured,
)
from distrivote.evaluation.metrics import accuracy, auroc, density_difference, weighted_accuracy
from distrivote.evaluation.pooled_auroc import PooledAuroc, mean_auroc, pooled_auroc
from distrivote.evaluation.pools import Flags, Floats, Ints, Pool, PoolSet
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Rule, Table
from distrivote.evaluation.scoring import Scores, has_confidence
from distrivote.evaluation.studies import Study
from distrivote.voting.filters import GmmFilter

N_BINS = 40
N_RANKS = 20


def gmm_positive(batch: Voters) -> Flags:
    """Return the likely right side of a pool's GMM split, (1, n)."""
    values = np.sort(batch.confidence[batch.members])
    if not len(values):
        return batch.members
    splits = GmmFilter().split(values[None], np.array([len(values)]))
    positive: Flags = batch.members & (batch.confidence >= splits.lowest_positive[0])
    return positive


def _of(value: Callable[[Voters], Floats]) -> Callable[[Pool], float]:
    return lambda pool: float(value(voters(pool))[0])


_ACCURACIES: tuple[tuple[str, str, Paper | None, Callable[[Voters], Floats]], ...] = (
    ("acc", "Acc", None, lambda v: accuracy(v.correct, v.members)),
    (
        "wacc",
        "WAcc",
        Paper("ssc_distribution", "", "WAcc"),
        lambda v: weighted_accuracy(v.confidence, v.correct, v.members),
    ),
    (
        "density",
        "Density difference, Acc(likely right) − Acc(likely wrong)",
        Paper("ssc_distribution", "", "Density difference", 1.0),
        lambda v: density_difference(gmm_positive(v), v.correct, v.members),
    ),
)


def _make(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    tables, charts, notes = [], [], []
    for study in setting.studies:
        ways = [way for way in WAYS if any(has_confidence(each) for each in sets_of(setting, study, way))]
        if not ways:
            notes.append(f"{study.model}: no confidences, so nothing can be separated")
            continue
        within = _rows(setting, study, ways, lambda v: auroc(v.confidence, v.correct, v.members))
        tables.append(_pooled_table(setting, study, ways))
        tables.append(
            line_table(
                setting,
                study,
                within,
                title=f"{study.model}: AUROC within questions",
                label="Sampling",
                name=f"{study.model}-auroc-within",
                kind="number",
                decimals=4,
            )
        )
        notes += _skipped(study, within)
        for name, words, paper, value in _ACCURACIES:
            rows = _rows(setting, study, ways, value)
            tables.append(
                line_table(
                    setting,
                    study,
                    rows,
                    title=f"{study.model}: {words}",
                    label="Sampling",
                    name=f"{study.model}-{name}",
                    paper=paper,
                )
            )
        differences = difference_table(setting, study, within, (("SelfStepConf", "BasicInference"),))
        if differences is not None:
            title = f"{study.model}: is the AUROC within questions really different?"
            tables.append(Table(differences.name, title, _as_numbers(differences.columns), differences.rows))
            charts.append(difference_chart(study, differences, "number"))
        charts += [_histogram(setting, study, ways), _by_rank(setting, study, ways)]
        charts += [_by_side(setting, study, ways)]
        notes += no_ssc_note(setting, study)
    return Findings(tables, charts, notes)


def _rows(
    setting: Setting, study: Study, ways: Sequence[Way], value: Callable[[Voters], Floats]
) -> list[Measured]:
    found = (whole_measured(setting, study, way, way.name, _of(value)) for way in ways)
    return [row for row in found if row is not None]


def _as_numbers(columns: Sequence[Column]) -> tuple[Column, ...]:
    return tuple(
        Column(c.name, c.label, "number", 4, low=c.low, high=c.high) if c.format == "percent" else c
        for c in columns
    )


def _skipped(study: Study, rows: Sequence[Measured]) -> list[str]:
    column = last_column(study)
    words = [
        f"{row.estimates[column].n_skipped} of {row.line.label}"
        for row in rows
        if column in row.estimates and row.estimates[column].n_skipped
    ]
    if not words:
        return []
    return [
        f"{study.model}: the AUROC within questions leaves out those whose answers are all right or all wrong"
        f" ({', '.join(words)})"
    ]


# Pooled over the questions of a benchmark


def _joined(sets: Sequence[PoolSet]) -> Voters:
    """Return the trajectories of all questions as one pool."""
    parts = [voters(pool) for each in sets for pool in each.pools]
    return Voters(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))


def _pooled(setting: Setting, study: Study, way: Way) -> dict[str, PooledAuroc]:
    """Return the AUROC of every benchmark that has one, and their mean if all have."""
    found = {}
    for each in sets_of(setting, study, way):
        one = pooled_auroc(each.pools, each.benchmark, setting.seed)
        if not np.isnan(one.value):
            found[each.benchmark] = one
    if len(found) == len(study.benches) > 1:
        found[AVERAGE] = mean_auroc(list(found.values()))
    return found


def _pooled_table(setting: Setting, study: Study, ways: Sequence[Way]) -> Table:
    columns = [Column("method", "Sampling")]
    fields: list[dict[str, Cell]] = [{"method": way.name} for way in ways]
    pooled = [_pooled(setting, study, way) for way in ways]
    for column in columns_of(study):
        known = [each[column] for each in pooled if column in each]
        best = max(known, key=lambda one: one.value, default=None)
        for field, each in zip(fields, pooled, strict=True):
            one = each.get(column)
            low, high = (None, None) if one is None else one.interval or (None, None)
            field[column] = None if one is None else one.value
            field |= {f"{column}_low": low, f"{column}_high": high}
            field[f"{column}_near"] = one is not None and best is not None and not one.really_differs(best)
        ends = (f"{column}_low", f"{column}_high")
        paper = Paper("ssc_distribution", "", "AUROC", 1.0)
        values = [published_value(setting, study, paper, way.name, column) for way in ways]
        beside = paper_field(column, fields, values)
        label = study.label(column)
        columns.append(
            Column(column, label, "number", 4, None, *ends, "highest", f"{column}_near", paper=beside)
        )
    title = f"{study.model}: AUROC pooled over the questions of a benchmark{common_words(setting, study)}"
    return Table(f"{slug(study.model)}-auroc-pooled", title, tuple(columns), tuple(fields))


# Charts


def _histogram(setting: Setting, study: Study, ways: Sequence[Way]) -> Chart:
    joined = {way.name: _joined(list(sets_of(setting, study, way))) for way in ways}
    values = np.concatenate([each.confidence[each.members] for each in joined.values()])
    edges = histogram_edges(values)
    rows: list[Row] = []
    cuts = []
    for name, each in joined.items():
        n = int(each.members.sum())
        for series, who in (("right", each.correct), ("wrong", ~each.correct)):
            rows += histogram_rows(each.confidence[each.members & who], edges, n, series, name)
        positive = gmm_positive(each)
        if (each.members & ~positive).any():
            lowest = float(each.confidence[positive].min())
            cuts.append(Rule("cut of two Gaussians", lowest, name if len(joined) > 1 else None))
    return Chart(
        f"{slug(study.model)}-histogram",
        "How sure is the model when it is right, and when it is wrong?",
        f"{study.model}, all trajectories with an answer",
        "histogram",
        Axis("confidence", "Confidence"),
        Axis("share", "Share of trajectories", "percent", zero=True),
        tuple(rows),
        series="answer",
        facet="way" if len(joined) > 1 else None,
        rules=tuple(cuts),
    )


def histogram_edges(values: Floats) -> Floats:
    """Return the edges of bins over all but the outermost half percent of the values."""
    low, high = np.quantile(values, [0.005, 0.995])
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, N_BINS + 1)


def histogram_rows(values: Floats, edges: Floats, n: int, answer: str, way: str) -> Iterator[Row]:
    """Yield the share of n in every bin; values beyond the edges are in the outermost bins."""
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    for middle, count in zip((edges[1:] + edges[:-1]) / 2, counts, strict=True):
        yield {"confidence": float(middle), "share": float(count / n), "answer": answer, "way": way}


def _by_rank(setting: Setting, study: Study, ways: Sequence[Way]) -> Chart:
    rows: list[Row] = []
    for way in ways:
        shares = [rank_accuracies(pool) for each in sets_of(setting, study, way) for pool in each.pools]
        known = np.array([share for share in shares if share is not None])
        for i, share in enumerate(known.mean(axis=0) if len(known) else ()):
            rows.append({"rank": (i + 0.5) / N_RANKS, "share": float(share), "way": way.name})
    words = "trajectories of each question in order of confidence, mean over questions"
    return _rank_chart(study, "by-rank", "Are surer answers more often right?", words, rows, series="way")


def _by_side(setting: Setting, study: Study, ways: Sequence[Way]) -> Chart:
    rows: list[Row] = []
    for way in ways:
        known = [side_counts(pool) for each in sets_of(setting, study, way) for pool in each.pools]
        right, members = np.sum(
            [each for each in known if each is not None] or np.zeros((1, 2, 2, 1)), axis=0
        )
        for side, words in enumerate(("likely wrong", "likely right")):
            for rank in np.flatnonzero(members[side]).tolist():
                share = float(right[side, rank] / members[side, rank])
                rows.append({"rank": (rank + 0.5) / N_RANKS, "share": share, "side": words, "way": way.name})
    title = "How right are the two sides of the split, by rank of confidence?"
    words = "each question cut by two Gaussians; all trajectories of a rank and side together"
    facet = "way" if len(ways) > 1 else None
    return _rank_chart(study, "by-side", title, words, rows, series="side", facet=facet)


def _rank_chart(
    study: Study,
    name: str,
    title: str,
    words: str,
    rows: Sequence[Row],
    series: str,
    facet: str | None = None,
) -> Chart:
    """Return a chart of the share of right answers by rank of confidence."""
    return Chart(
        f"{slug(study.model)}-{name}",
        title,
        f"{study.model}, {words}",
        "lines",
        Axis("rank", "Rank of confidence in its question (0: least sure)", "percent"),
        Axis("share", "Share of right answers", "percent"),
        tuple(rows),
        series=series,
        facet=facet,
    )


def side_counts(pool: Pool) -> Floats | None:
    """Return the right ones and all in each 5% by confidence, (2, 2, 20): likely wrong side first.

    None if the pool has fewer than 20 answers.
    """
    batch = voters(pool)
    order = _ascending(batch)
    if len(order) < N_RANKS:
        return None
    right, positive = (each[batch.members][order] for each in (batch.correct, gmm_positive(batch)))
    counts = np.zeros((2, 2, N_RANKS))
    for rank, some in enumerate(np.array_split(np.arange(len(order)), N_RANKS)):
        for side in (0, 1):
            who = positive[some] == bool(side)
            counts[:, side, rank] = right[some][who].sum(), who.sum()
    return counts


def _ascending(batch: Voters) -> Ints:
    """Return the indices of the members from least to most sure; on a tie the earlier counts as surer."""
    values = batch.confidence[batch.members]
    places: Ints = len(values) - 1 - np.argsort(values[::-1], kind="stable")
    return places


def rank_accuracies(pool: Pool) -> Floats | None:
    """Return the accuracy in each 5% of a pool by confidence; None if it has fewer than 20."""
    batch = voters(pool)
    order = _ascending(batch)
    if len(order) < N_RANKS:
        return None
    parts = np.array_split(batch.correct[batch.members][order], N_RANKS)
    return np.array([part.mean() for part in parts])


EXPERIMENTS = (Experiment("separation", "Does confidence tell right from wrong?", _make),)
