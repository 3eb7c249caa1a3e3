"""Result tables in a terminal: never wider than it, decimals under each other."""

from __future__ import annotations

import dataclasses
import re

import pytest
from rich.cells import cell_len

from distrivote.evaluation.results import Column, Table
from distrivote.report.terminal.table import result_table
from report.made_up import EVIL, METHODS, awkward_table, main_table
from report.terminal.test_votes import WIDTHS, shown


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("table", [main_table(), awkward_table()], ids=lambda table: table.name)
def test_no_line_is_wider_than_the_terminal(table: Table, width: int) -> None:
    assert all(cell_len(line) <= width for line in shown(result_table(table, width), width).splitlines())


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_decimals_stand_under_each_other(width: int) -> None:
    lines = shown(result_table(main_table(), width), width).splitlines()
    ours = [line for line in lines if "%" in line and line.split()[0] in METHODS]
    theirs = [line for line in lines if line.startswith("    paper ")]
    assert (len(ours), len(theirs)) == (9, 8)
    assert len({line.index("%") for line in ours}) == 1
    # The published number stands under the last one of its row, dot under dot.
    assert {line.rindex(".") for line in theirs} < {at.start() for at in re.finditer(r"\.", ours[0])}


def test_the_papers_numbers_add_lines_and_no_width() -> None:
    table = main_table()
    without = dataclasses.replace(
        table, columns=tuple(dataclasses.replace(column, paper=None) for column in table.columns)
    )
    wide, narrow = (shown(result_table(each, 200), 200).splitlines() for each in (table, without))
    rows = [[len(line) for line in lines if line.split()[0] in METHODS] for lines in (wide, narrow)]
    assert max(rows[0]) == max(rows[1])
    assert len(wide) == len(narrow) + 8
    assert any("paper: the published number" in line for line in wide)
    at = next(index for index, line in enumerate(wide) if line.split()[0] == "DIS-GMM*")
    assert wide[at + 1].split() == ["paper", "78.5"]
    # MoB has no published number here: nothing stands under it.
    at = next(index for index, line in enumerate(wide) if line.split()[0] == "MoB")
    assert wide[at + 1].split()[0] == "WSC-Top50"


def test_a_narrow_terminal_loses_details_before_columns() -> None:
    wide, middle, narrow, tiny = (
        shown(result_table(main_table(), width), width) for width in (200, 110, 80, 45)
    )
    assert "±0.2" in wide
    assert "60.8 to 66.8" in wide
    assert "±0.2" not in middle
    assert "60.8 to 66.8" in middle
    assert "60.8" not in narrow
    assert "Avg." in narrow
    assert "69.3" in narrow
    assert "a to b" not in narrow
    assert "…95% intervals left out; -o FILE gives them" in narrow
    assert "left out" not in middle
    assert "…1 more column; -o FILE gives all" in tiny


def test_the_best_is_bold_and_ties_are_marked() -> None:
    coloured = shown(result_table(main_table(), 80), 80, colour=True)
    assert "\x1b[1m73.1%" in coloured
    lines = shown(result_table(main_table(), 80), 80).splitlines()
    assert [line.split()[0] for line in lines if "%≈" in line] == ["DIS-GMM"]


def test_what_a_run_wrote_is_only_text() -> None:
    text = shown(result_table(awkward_table(), 200), 200)
    assert EVIL in text
    assert "\x1b" not in text
    assert "␛[31m" in text


def test_a_table_without_rows_says_so() -> None:
    assert "no rows" in shown(result_table(Table("t", "Nothing", (Column("a", "a"),), ()), 80), 80)


def test_a_long_title_goes_on_in_a_second_line() -> None:
    words = "A title that is much longer than one line of a narrow terminal, with all its words"
    table = dataclasses.replace(main_table(), title=words)
    lines = shown(result_table(table, 60), 60).splitlines()
    assert " ".join(" ".join(lines[:2]).split()) == words


def test_what_is_not_known_is_a_dash() -> None:
    table = Table(
        "t", "Times", (Column("q", "Run"), Column("s", "Seconds", "number")), ({"q": None, "s": None},)
    )
    assert shown(result_table(table, 60), 60).splitlines()[2].strip() == "–"
