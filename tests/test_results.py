"""The page is made from its template, and the rows that people wrote in it say what the tables say."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAMPLES = {
    "SmolLM2-135M": ("smollm2", "smollm2-basic", 32),
    "Qwen2.5-Coder-1.5B": ("qwen2.5-coder", "qwen2.5-coder-basic", 16),
    "DeepSeek-R1-0528-Qwen3-8B": ("brumo", "brumo2025", 32),
}
"""How a written row begins -> the file of its tables, how its run's name begins there, the budget."""

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


def written(page: str, start: str) -> list[str]:
    (row,) = (line for line in (ROOT / page).read_text().splitlines() if line.startswith(f"| {start}"))
    return cells(row)


@pytest.mark.parametrize("start", SAMPLES)
def test_the_readmes_row_is_that_of_the_tables(start: str) -> None:
    shares, _ = table_cells(*SAMPLES[start])
    for method, cell in zip(METHODS, written("README.md", start)[3:], strict=True):
        assert len(numbers(cell)) == 3
        assert any(says(cell, each) for each in shares[method]), (method, cell, shares[method])


@pytest.mark.parametrize("start", SAMPLES)
def test_the_row_of_the_results_page_is_that_of_the_tables(start: str) -> None:
    shares, differences = table_cells(*SAMPLES[start])
    row = written("docs/results.template", start)[3:]
    for method, cell in zip(METHODS, row, strict=False):
        assert any(says(cell, each) for each in shares[method]), (method, cell, shares[method])
    for (method, known), cell in zip(differences.items(), row[4:], strict=True):
        assert any(says(cell, each) for each in known), (method, cell, known)


def test_the_page_is_what_its_template_and_tables_make(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert", reason="pictures are drawn with vl-convert")
    docs = ROOT / "docs"
    monkeypatch.setattr(sys, "path", [str(docs), *sys.path])
    made = runpy.run_path(str(docs / "results.py"))["page"]((docs / "results.template").read_text())
    assert (docs / "results.md").read_text() == made, "run docs/results.py --page-only"
