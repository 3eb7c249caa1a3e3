"""Markdown: aligned, and every text is only text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from distrivote.report.files.markdown import escaped, report_markdown, table_markdown
from report.made_up import awkward_table, made_up_report, main_table


def test_a_table_reads_well_as_plain_text() -> None:
    lines = table_markdown(main_table()).splitlines()
    assert len(lines) == 2 + 9 + 8
    assert len({len(line) for line in lines}) == 1
    assert lines[1].startswith("| ------")
    assert "-: |" in lines[1]
    assert "**73.1%** ±0.2 (70.0 to 76.0)" in lines[-2]
    assert lines[-1].replace("|", "").split() == ["*paper*", "*78.5*"]
    assert "71.8% ≈" in lines[-4]


def test_cells_can_not_break_out_of_their_table() -> None:
    for line in table_markdown(awkward_table()).splitlines():
        assert line.replace("\\|", "").count("|") == 5
        assert "<" not in line


def test_the_report_has_every_title_and_note() -> None:
    text = report_markdown(made_up_report())
    assert "## Is DistriVoting right more often?" in text
    assert "- MoB was run with q = 0.1" in text
    assert "- One question has no truth" in text
    assert "seed 0 · repeats 64" in text
    assert "<script" not in text


@given(st.text())
def test_escaped_text_has_one_line_and_no_bare_marks(text: str) -> None:
    found = escaped(text)
    assert len(found.splitlines()) <= 1
    assert "<" not in found
    assert found.replace("\\\\", "").replace("\\|", "").count("|") == 0
