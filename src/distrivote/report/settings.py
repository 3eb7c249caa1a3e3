"""The runs and settings of an evaluation, in words."""

from __future__ import annotations

from distrivote.evaluation.results import Cell, Report
from distrivote.report.cells import as_number


def settings_line(report: Report) -> str:
    """Return the runs and settings on one line."""
    names = ", ".join(str(source.get("name", "?")) for source in report.sources)
    said = {name: value for name, value in report.settings.items() if value is not None}
    settings = [f"{spoken(name)} {spelt(value)}" for name, value in said.items()]
    return " · ".join([names or "no runs", *settings])


def spoken(name: str) -> str:
    """Return a field's name in words.

    >>> spoken("n_repeats"), spoken("ssc"), spoken("interval_method")
    ('repeats', 'SelfStepConf', 'interval method')
    """
    if name == "ssc":
        return "SelfStepConf"
    return name.removeprefix("n_").replace("_", " ")


def spelt(value: Cell) -> str:
    """Return a setting's value.

    >>> spelt(True), spelt(None), spelt(12000), spelt(0.8)
    ('yes', 'not set', '12000', '0.8')
    """
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    known = as_number(value)
    return "not known" if known is None else str(value) if isinstance(value, int) else f"{known:g}"
