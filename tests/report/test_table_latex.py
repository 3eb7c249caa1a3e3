"""LaTeX: compiles, whatever the ids of questions are."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.evaluation.results import Column, Table
from distrivote.report.table_latex import escaped, report_latex, table_latex
from report.made_up import awkward_table, made_up_report, main_table

COMPILER = shutil.which("pdflatex") or shutil.which("tectonic")
DOCUMENT = r"\documentclass{article}\usepackage{booktabs}\begin{document}\input{tables}\end{document}"


def test_numbers_and_intervals_are_columns() -> None:
    text = table_latex(main_table(), "tab:main")
    assert r"\begin{tabular}{lr@{\ }lr@{\ }lr@{\ }lr@{\ }lr}" in text
    assert r"\textbf{73.1} & {\scriptsize (70.0 to 76.0)}" in text
    assert r"71.8\rlap{$^{\approx}$}" in text
    assert r"\label{tab:main}" in text
    rows = [line for line in text.splitlines() if line.strip().startswith(("SC", "DIS"))]
    assert all(line.count(" & ") == 9 for line in rows)


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


@pytest.mark.skipif(COMPILER is None, reason="no LaTeX compiler is there")
def test_the_tables_compile(tmp_path: Path) -> None:
    assert COMPILER is not None
    every = "".join(chr(code) for code in range(0x20, 0x180)) + "αβγδΔλμσττ★✓→≤≥…–—"
    odd = Table("odd", every, (Column("q", every),), ({"q": every}, {"q": "[2em] x"}, {"q": "*"}))
    text = report_latex(made_up_report()) + table_latex(odd, "tab:odd")
    (tmp_path / "tables.tex").write_text(text)
    (tmp_path / "paper.tex").write_text(DOCUMENT)
    options = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in COMPILER else []
    done = subprocess.run([COMPILER, *options, "paper.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000


def test_the_awkward_table_has_as_many_cells_in_every_row() -> None:
    lines = table_latex(awkward_table(), "x").splitlines()
    rows = [line for line in lines if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows[1:]} == {4}
