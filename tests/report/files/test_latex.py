"""LaTeX: compiles, whatever the ids of questions are."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.evaluation.results import Column, Table
from distrivote.report.files.latex import MOST_LINES, escaped, report_latex, table_latex
from report.made_up import awkward_table, made_up_report, main_table

COMPILER = shutil.which("pdflatex") or shutil.which("tectonic")
DOCUMENT = (
    r"\documentclass{article}\usepackage{booktabs,longtable,adjustbox}"
    r"\begin{document}\input{tables}\end{document}"
)


def test_numbers_and_intervals_are_columns() -> None:
    text = table_latex(main_table(), "tab:main")
    assert r"\begin{tabular}{lr@{\ }lr@{\ }l" in text
    assert r"\textbf{73.1} & {\scriptsize (70.0 to 76.0)}" in text
    assert r"71.8\rlap{$^{\approx}$}" in text
    assert r"\label{tab:main}" in text
    rows = [line for line in text.splitlines() if line.strip().startswith(("SC", "DIS"))]
    assert [line.count(" & ") for line in rows] == [8] * 4


def test_the_papers_number_is_a_line_below_ours() -> None:
    lines = [line.strip() for line in table_latex(main_table(), "tab:main").splitlines()]
    ours = next(index for index, line in enumerate(lines) if line.startswith("DIS-GMM{*}"))
    assert lines[ours + 1] == r"\quad paper &  &  &  &  &  &  & \textit{78.5} &  \\"
    assert lines[ours + 2] == r"\bottomrule"
    without = next(index for index, line in enumerate(lines) if line.startswith("MoB"))
    assert lines[without + 1].startswith("WSC-Top50")
    assert "Paper: the published number" in table_latex(alone(), "x")


def test_no_page_ends_between_a_row_and_the_papers_line_below_it() -> None:
    lines = table_latex(alone(71), "x").splitlines()
    body = lines[lines.index(r"    \endfoot") + 1 : -1]
    assert len(body) == 71 + 36
    for line, below in pairwise(body):
        assert line.endswith(r"\\*") is below.startswith(r"    \quad paper")
    assert body[-1].endswith(r" \\")


def alone(n: int = 1) -> Table:
    """Return a table with nothing to explain but the paper's numbers, which every other row has."""
    columns = (Column("m", "Method"), Column("a", "Accuracy", "percent", paper="p"))
    rows = tuple({"m": str(i), "a": 0.5, "p": None if i % 2 else 0.25} for i in range(n))
    return Table("t", "Alone", columns, rows)


def test_a_table_is_one_float_that_is_shrunk_to_the_line() -> None:
    lines = [line.strip() for line in table_latex(main_table(), "tab:main").splitlines()]
    assert lines[4] == r"\begin{adjustbox}{max width=\linewidth}"
    assert lines[-4:] == [r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}", r"\end{table}"]
    assert sum(line.startswith(r"\caption") for line in lines) == 1


@pytest.mark.parametrize(("n", "is_long"), [(MOST_LINES, False), (MOST_LINES + 1, True), (81, True)])
def test_a_table_that_is_taller_than_a_page_is_a_longtable(n: int, is_long: bool) -> None:
    columns = (Column("alpha", "alpha"), Column("delta", "delta"), Column("n", "Tokens", "whole"))
    rows = tuple({"alpha": "0.1", "delta": str(i), "n": i} for i in range(n))
    lines = table_latex(Table("t", "Long", columns, rows), "tab:long").splitlines()
    assert (r"\begin{longtable}{llr}" in lines) is is_long
    assert (r"\begin{table}" in lines) is not is_long
    assert lines.count(r"    alpha & delta & Tokens \\") == 1 + is_long  # again on every page
    assert [line.strip() for line in lines if line.startswith("    0.1")] == [
        f"0.1 & {i} & {i} \\\\" for i in range(n)
    ]
    assert sum(r"\label{tab:long}" in line for line in lines) == 1


def test_every_environment_and_group_is_closed() -> None:
    report = made_up_report()
    text = report_latex(report) + table_latex(alone(71), "x")
    opened = []
    for verb, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if verb == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    bare = re.sub(r"\\[{}%]|%.*", "", text)
    assert bare.count("{") == bare.count("}")


def test_the_floats_of_an_experiment_are_placed_before_those_of_the_next() -> None:
    report = made_up_report()
    n = sum(any(table.columns for table in result.tables) for result in report.results)
    assert n > 1
    assert report_latex(report).count(r"\clearpage") == n - 1


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
    header, *rows = [line for line in lines if line.endswith(r"\\")]
    assert r"\begin{tabular}{p{0.35\linewidth}r@{\ }lrr}" in "".join(lines)
    assert [len(re.findall(r"(?<!\\)&", line)) for line in rows] == [4] * len(awkward_table().rows)
    assert len(re.findall(r"(?<!\\)&", header)) == 3  # one spans two columns
