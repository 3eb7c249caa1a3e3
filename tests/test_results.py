"""The page and the README's table are made from stored rows, and these say what the detailed tables say."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SAMPLES = {
    "smollm2-400": "smollm2-400",
    "smollm2": "smollm2-basic",
    "qwen2.5-coder": "qwen2.5-coder-basic",
    "brumo": "brumo2025",
}
"""The file of a sample's tables -> how its run's name begins there."""

METHODS = ("SC", "DIS-GMM", "auto, one question", "auto, whole run")


def cells(line: str) -> list[str]:
    return [cell.strip(" *") for cell in line.strip().strip("|").split("|")]


def numbers(cell: str) -> list[str]:
    """Return the numbers of `58.67% ±2.88 (46.79 to 69.71)` but for the deviation."""
    return re.findall(r"-?[\d.]+", re.sub(r"±[\d.]+", "", cell.replace("−", "-")))


def says(written: str, table: str) -> bool:
    """Say whether a cell is that of a table with fewer places, as far as it goes."""

    def is_rounded(one: str, other: str) -> bool:
        n_places = len(one.partition(".")[2])
        # The table is rounded as well, to two places.
        return abs(float(one) - float(other)) <= 0.5 * 10**-n_places + 0.005 + 1e-9

    pairs = list(zip(numbers(written), numbers(table), strict=False))
    return bool(pairs) and all(is_rounded(*pair) for pair in pairs)


def table_cells(name: str, run: str, budget: int) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return what the tables have of each method, and of each difference from majority voting."""
    tables = json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text())["tables"]
    shares: dict[str, set[str]] = {method: set() for method in METHODS}
    differences: dict[str, set[str]] = {"DIS-GMM": set(), "auto, whole run": set()}
    for line in tables["trust"][0].splitlines():
        row = cells(line)
        if row[0].startswith(run) and row[1:2] == [str(budget)]:
            for method, cell in zip(METHODS, row[3:], strict=True):
                shares[method].add(cell)
    for line in tables["main"][0].splitlines():
        row = cells(line)
        method = "auto, one question" if row[0] == "auto" else row[0]
        if method in METHODS:
            shares[method].add(row[1].replace("**", "").replace("≈", ""))
    for line in tables["trust"][1].splitlines():
        row = cells(line)
        if row[0].startswith(run) and row[1:3] == [str(budget), "auto, whole run"]:
            differences["auto, whole run"].add(row[3])
    for line in tables["main"][1].splitlines():
        row = cells(line)
        if row[0] == "DIS-GMM − SC":
            differences["DIS-GMM"].add(row[1])
    return shares, differences


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The functions of docs/results.py."""
    pytest.importorskip("vl_convert", reason="pictures are drawn with vl-convert")
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    return runpy.run_path(str(ROOT / "docs" / "results.py"))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_stored_row_is_that_of_the_tables(name: str) -> None:
    row = json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text())["evidence"]
    shares, differences = table_cells(name, SAMPLES[name], row["budget"])
    names = {"auto, one question": "auto"}
    for method in METHODS:
        # The ends of an interval differ with the random numbers of the bootstrap; each has its own here.
        cell = str(round(row["percent"][names.get(method, method)][0], 1))
        assert any(says(cell, each) for each in shares[method]), (method, cell, shares[method])
    for method, known in differences.items():
        cell = str(round(row["differences"][f"{method} − SC"][0], 1))
        assert any(says(cell, each) for each in known), (method, cell, known)


def test_the_readmes_table_is_made_from_the_stored_rows(results: dict[str, Any]) -> None:
    readme = (ROOT / "README.md").read_text()
    evidence = results["evidence"]
    assert readme == evidence.with_table(readme, evidence.stored()), "run docs/results.py --page-only"


def test_the_page_is_what_its_template_and_tables_make(results: dict[str, Any]) -> None:
    docs = ROOT / "docs"
    made = results["page"]((docs / "results.template").read_text())
    assert (docs / "results.md").read_text() == made, "run docs/results.py --page-only"
