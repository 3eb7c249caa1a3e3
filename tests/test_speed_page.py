"""The page on speed has the figures that the benchmarks printed, and no others."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
page = runpy.run_path(str(ROOT / "docs" / "speed.py"))["page"]


def test_the_page_is_what_its_template_and_the_recorded_figures_make() -> None:
    recorded = json.loads((ROOT / "bench" / "recorded.json").read_text())
    template = (ROOT / "docs" / "speed.template").read_text()
    assert (ROOT / "docs" / "speed.md").read_text() == page(template, recorded), "run docs/speed.py"


def test_figures_have_a_format_and_loads_are_named() -> None:
    recorded = {
        "voting": {"load_average": 0.2, "figures": {"table.rows": 10_000_000}},
        "wire": {"load_average": None, "figures": {"json.json": 14.44}},
    }
    template = "{{voting/table.rows/,.0f}} rows, {{wire/json.json/.1f}} µs: {{loads}}"
    assert page(template, recorded) == "10,000,000 rows, 14.4 µs: voting 0.2, wire not known"


def test_a_figure_that_nobody_recorded_is_named() -> None:
    with pytest.raises(SystemExit, match=r"voting: grid\.seconds"):
        page("{{voting/grid.seconds/.1f}}", {"voting": {"load_average": 0.2, "figures": {}}})
