"""The votes on fields in a terminal."""

from __future__ import annotations

import math

import pytest

from distrivote.answers.structured.fields import FieldVote, RunnerUp
from distrivote.report.terminal.fields import field_lines

FIELDS = [
    FieldVote("name", "Anna", 5, 6, 0.75, 0.8, 9.0, RunnerUp("Ana", 1)),
    FieldVote("items", [], 6, 6, math.nan, math.nan, math.nan),
]


def test_each_field_has_its_votes_its_share_and_what_came_next() -> None:
    header, name, items = (str(line).split() for line in field_lines(FIELDS, 80))
    assert header == ["field", "value", "votes", "score", "next"]
    assert name == ["name", '"Anna"', "5", "of", "6", "75%", '"Ana"', "(1)"]
    assert items == ["items", "[]", "6", "of", "6"]


def test_nothing_comes_next_where_all_agree() -> None:
    assert "next" not in str(field_lines(FIELDS[1:], 80)[0])


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = [FieldVote("a" * 90, "b" * 90 + "\n\x1b[31m", 1, 2, 0.5, 0.5, 9.0, RunnerUp("c" * 90, 1))] * 50
    lines = field_lines(long, width)
    assert max(line.cell_len for line in lines) <= width
    assert "…10 more" in str(lines[-1])
    assert not any("\x1b" in str(line) or "\n" in str(line) for line in lines)
