"""Points of charts of accuracy, shared by the experiments that draw them."""

from __future__ import annotations

from distrivote.evaluation.experiments.base import AVERAGE
from distrivote.evaluation.results import Cell
from distrivote.evaluation.studies import Study


def point(
    x: Cell, series: str, mean: float | None, low: float | None, high: float | None, published: bool = False
) -> dict[str, Cell]:
    return {"x": x, "series": series, "accuracy": mean, "low": low, "high": high, "published": published}


def last_column(study: Study) -> str:
    """Return the summary column of a study: the average, or its only benchmark."""
    return AVERAGE if len(study.benches) > 1 else study.benches[0].benchmark


def column_words(column: str) -> str:
    return "average over all questions" if column == AVERAGE else column
