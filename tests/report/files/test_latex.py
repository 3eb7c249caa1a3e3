"""LaTeX: compiles, whatever the ids of questions are."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.evaluation.results import Column, Table
from distrivote.report.files.latex import escaped, report_latex, table_latex
from report.made_up import awkward_table, made_up_report, main_table

COMPILER = shutil.which("pdflatex") or shutil.which("tectonic")
DOCUMENT = r"\documentclass{article}\usepackage{booktabs}\begin{document}\input{tables}\end{document}"


def test_numbers_and_intervals_are_columns() -> None:
    text = table_latex(main_table(), "tab:main")
    assert r"\begin{tabular}{lr@{\ }lr@{\ }l" in text
    assert r"\textbf{73.1} & {\scriptsize (70.0 to 76.0)}" in text
    assert r"71.8\rlap{$^{\approx}$}" in text
    assert r"\label{tab:main}" in text
    rows = [line for line in text.splitlines() if line.strip().startswith(("SC", "DIS"))]
    assert [line.count(" & ") for line in rows] == [4] * len(rows)


def test_the_papers_number_is_a_line_below_ours() -> None:
    lines = table_latex(main_table(), "tab:main").splitlines()
    at = [index for index, line in enumerate(lines) if line.strip().startswith("DIS-GMM{*}")]
    assert lines[at[0] + 1].strip() == r"\bottomrule"
    assert lines[at[1] + 1].strip() == r"\quad paper &  &  & \textit{78.5} &  \\"
    assert "Paper: the published number" in table_latex(alone(), "x")


def test_a_row_and_the_papers_line_below_it_stay_in_one_tabular() -> None:
    for line in table_latex(alone(71), "x").split(r"\midrule")[1:]:
        assert r"\quad paper" not in line.strip().splitlines()[0]


def alone(n: int = 1) -> Table:
    """Return a table with nothing to explain but the paper's numbers, which every other row has."""
    columns = (Column("m", "Method"), Column("a", "Accuracy", "percent", paper="p"))
    rows = tuple({"m": str(i), "a": 0.5, "p": None if i % 2 else 0.25} for i in range(n))
    return Table("t", "Alone", columns, rows)


def test_what_is_wider_than_a_line_is_set_in_parts_with_the_names_of_the_rows_in_each() -> None:
    text = table_latex(main_table(), "tab:main")
    headers = [line.strip() for line in text.splitlines() if line.strip().startswith("Method")]
    assert len(headers) == 2
    assert headers[1].endswith(r"{Avg.} \\")
    assert text.count(r"\begin{table}") == text.count(r"\caption") == 1


def test_what_is_higher_than_a_page_is_several_floats() -> None:
    columns = (Column("alpha", "alpha"), Column("delta", "delta"), Column("n", "Tokens", "whole"))
    rows = tuple({"alpha": "0.1", "delta": str(i), "n": i} for i in range(81))
    text = table_latex(Table("t", "Long", columns, rows), "tab:long")
    assert text.count(r"\begin{table}") == 3
    assert [f"Part {i} of 3" in text for i in (1, 2, 3)] == [True] * 3
    assert r"\label{tab:long}" in text
    assert r"\label{tab:long-3}" in text
    assert all(f"0.1 & {i} & {i}" in text for i in range(81))


def test_percent_is_said_once_in_the_caption_or_in_the_header() -> None:
    assert r"64 repeats (\%)" in table_latex(main_table(), "x")
    mixed = Table("t", "Mixed", (Column("a", "Accuracy", "percent"), Column("n", "Tokens", "whole")), ())
    assert r"Accuracy (\%) & Tokens" in table_latex(mixed, "x")


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50% & a_b #1", r"50\% \& a\_b \#1"),
        ("\\cmd{x}", r"\textbackslash{}cmd\{x\}"),
        ("[1] *", "{[}1] {*}"),
        ("α ≈ −1", r"$\alpha$ $\approx$ $-$1"),
        ("naïve", r"na\"{i}ve"),
        ("数", "{[}U+6570]"),
    ],
)
def test_text_is_escaped(text: str, latex: str) -> None:
    assert escaped(text) == latex


@given(st.text())
def test_escaped_text_is_ascii_with_balanced_braces_and_no_bare_specials(text: str) -> None:
    found = escaped(text)
    assert found.isascii()
    assert found.isprintable()
    assert not re.search(r"(?<!\\)[%&#_]", found)
    bare = re.sub(r"\\[{}]", "", found)
    assert bare.count("{") == bare.count("}")


def compiled(folder: Path, text: str) -> str:
    """Return what the compiler says of a paper with these tables."""
    if COMPILER is None:
        pytest.skip("no LaTeX compiler is there")
    (folder / "tables.tex").write_text(text)
    (folder / "paper.tex").write_text(DOCUMENT)
    options = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in COMPILER else []
    done = subprocess.run([COMPILER, *options, "paper.tex"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 10_000
    return done.stdout


def test_the_tables_compile_also_if_latex_can_not_hold_them_all(tmp_path: Path) -> None:
    every = "".join(chr(code) for code in range(0x20, 0x180)) + "αβγδΔλμσττ★✓→≤≥…–—"
    odd = Table("odd", every, (Column("q", every),), ({"q": every}, {"q": "[2em] x"}, {"q": "*"}))
    report = made_up_report()
    many = dataclasses.replace(report, results=report.results * 20)
    compiled(tmp_path, table_latex(odd, "tab:odd") + report_latex(many))


def test_no_table_is_wider_than_the_page(tmp_path: Path) -> None:
    wide = dataclasses.replace(main_table(), columns=main_table().columns * 3)
    said = compiled(tmp_path, "".join(table_latex(wide, f"tab:wide{i}") for i in range(3)))
    assert "Overfull" not in said


def test_the_awkward_table_has_as_many_cells_in_every_row() -> None:
    lines = table_latex(awkward_table(), "x").splitlines()
    rows = [line for line in lines if line.endswith(r"\\")]
    cells = [len(re.findall(r"(?<!\\)&", line)) for line in rows]
    n = len(awkward_table().rows)
    assert (cells[1 : n + 1], cells[n + 2 :]) == ([3] * n, [1] * n)
