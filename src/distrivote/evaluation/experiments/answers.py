"""Can answers be told apart by confidence alone? The most frequent answers of a benchmark as Gaussians.

Each of the 8 most frequent answers is drawn as the Gaussian of its trajectories' confidences, and each of the
30 most frequent by itself, as a histogram. A mixture with as many components as answers is fitted to the same
confidences without knowing the answers: how well its components match the answers says whether confidence
could distinguish them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from distrivote.evaluation.experiments.base import Experiment, Findings, Setting, slug
from distrivote.evaluation.experiments.separation import histogram_edges, histogram_rows
from distrivote.evaluation.experiments.whole import WAYS, sets_of
from distrivote.evaluation.mixtures import adjusted_rand, crossed, fit_mixture
from distrivote.evaluation.pools import Floats, Pool
from distrivote.evaluation.results import Axis, Cell, Chart, Column, Row, Table
from distrivote.evaluation.scoring import Scores, has_confidence

N_TOGETHER, N_EACH = 8, 30
"""How many of the most frequent answers are drawn in one picture, and one by one; the paper's numbers."""

_QUESTION = "Can answers be told apart by confidence alone?"
_N_POINTS = 160


class Answer(NamedTuple):
    """One answer to one question."""

    name: str
    right: bool
    values: Floats
    """The confidences of its trajectories."""


def _make(setting: Setting, scores: Scores) -> Findings:  # noqa: ARG001
    tables, charts, notes = [], [], []
    for study in setting.studies:
        way = WAYS[0] if study.has(starred=False) else WAYS[1]
        for each in sets_of(setting, study, way):
            if not has_confidence(each):
                notes.append(f"{each.name}: no confidences, so answers have no distributions")
                continue
            found = most_frequent(each.pools)
            name, where = f"{slug(study.model)}-{slug(each.benchmark)}", f"{study.model} on {each.benchmark}"
            tables += [_answer_table(name, where, found), _mixture_table(name, where, found)]
            charts += [_together(name, where, found[:N_TOGETHER]), _one_by_one(name, where, found)]
    return Findings(tables, charts, notes)


def most_frequent(pools: Sequence[Pool]) -> list[Answer]:
    """Return the answers with most trajectories over all questions, at most `N_EACH`."""
    return sorted(_answers(pools), key=lambda answer: -len(answer.values))[:N_EACH]


def _answers(pools: Sequence[Pool]) -> Iterator[Answer]:
    for pool in pools:
        there = (pool.classes >= 0) & np.isfinite(pool.confidence)
        counts = np.bincount(pool.classes[there])
        for rank, number in enumerate(np.argsort(-counts, kind="stable")[:N_EACH].tolist(), start=1):
            values = pool.confidence[there & (pool.classes == number)]
            if len(values):
                name = f"{pool.question}, answer {rank}"
                yield Answer(name, bool(pool.right_classes[number]), values)


def _answer_table(name: str, where: str, found: Sequence[Answer]) -> Table:
    rows: list[Row] = [
        {
            "answer": answer.name,
            "right": "yes" if answer.right else "no",
            "n": len(answer.values),
            "mean": float(answer.values.mean()),
            "sd": float(answer.values.std()),
        }
        for answer in found
    ]
    columns = (
        Column("answer", "Answer"),
        Column("right", "Right"),
        Column("n", "Trajectories", "whole", 0),
        Column("mean", "Mean confidence", "number", 3),
        Column("sd", "Standard deviation", "number", 3),
    )
    title = f"{where}: confidence of the {len(rows)} most frequent answers"
    return Table(name, title, columns, tuple(rows))


def _mixture_table(name: str, where: str, found: Sequence[Answer]) -> Table:
    sizes = dict.fromkeys(min(n, len(found)) for n in (N_TOGETHER, N_EACH))
    columns = (
        Column("answers", "Answers and components", "whole", 0),
        Column("n", "Trajectories", "whole", 0),
        Column("told", "Answer is the most frequent of its component", "percent", 1),
        Column("largest", "Largest answer's share", "percent", 1),
        Column("rand", "Adjusted Rand index", "number", 3),
    )
    title = f"{where}: are the components of a mixture the answers? (index 1: the same, 0: by chance)"
    rows = tuple(mixture_row(found[:n]) for n in sizes)
    return Table(f"{name}-mixture", title, columns, rows)


def mixture_row(found: Sequence[Answer]) -> dict[str, Cell]:
    """Return how far a mixture with as many components as answers separates these."""
    values = np.concatenate([answer.values for answer in found])
    answers = np.repeat(np.arange(len(found)), [len(answer.values) for answer in found])
    components = fit_mixture(values, len(found)).labels
    counts = crossed(components, answers)
    return {
        "answers": len(found),
        "n": len(values),
        "told": float(counts.max(axis=1).sum() / len(values)),
        "largest": len(found[0].values) / len(values),
        "rand": adjusted_rand(components, answers),
    }


def _together(name: str, where: str, found: Sequence[Answer]) -> Chart:
    edges = histogram_edges(np.concatenate([answer.values for answer in found]))
    at = np.linspace(edges[0], edges[-1], _N_POINTS)
    rows: list[Row] = []
    for answer in found:
        sd = float(answer.values.std()) or float(edges[1] - edges[0])
        heights = np.exp(-0.5 * ((at - answer.values.mean()) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        rows += [
            {"confidence": float(x), "density": float(y), "answer": answer.name}
            for x, y in zip(at, heights, strict=True)
        ]
    return Chart(
        f"{name}-gaussians",
        _QUESTION,
        f"{where}, each answer's Gaussian: {_nearest(found)}",
        "lines",
        Axis("confidence", "Confidence"),
        Axis("density", "Density", zero=True),
        tuple(rows),
        series="answer",
    )


def _one_by_one(name: str, where: str, found: Sequence[Answer]) -> Chart:
    edges = histogram_edges(np.concatenate([answer.values for answer in found]))
    return Chart(
        name,
        _QUESTION,
        f"{where}, the {len(found)} most frequent answers one by one",
        "histogram",
        Axis("confidence", "Confidence"),
        Axis("share", "Share of the answer's trajectories", "percent", zero=True),
        tuple(
            bin
            for answer in found
            for bin in histogram_rows(answer.values, edges, len(answer.values), answer.name, "")
        ),
        series="answer",
        facet="answer" if len(found) > 1 else None,
    )


def _nearest(found: Sequence[Answer]) -> str:
    """Say how near the means of the two most frequent answers are."""
    if len(found) < 2:
        return "there is only one answer"
    first, second = (float(answer.values.mean()) for answer in found[:2])
    return f"the means of the two most frequent answers differ by {abs(first - second):.3g}"


EXPERIMENTS = (Experiment("answers-as-components", _QUESTION, _make),)
