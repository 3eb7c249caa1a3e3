"""The line of progress: late, small, in one place, and only for somebody who looks."""

from __future__ import annotations

import io
import sys

import pytest

from distrivote.cli import progress as module
from distrivote.cli.messages import note
from distrivote.cli.progress import ProgressDisplay
from goldens.screen import shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.now)
    return clock


def terminal_of(monkeypatch: pytest.MonkeyPatch, columns: int = 80) -> Terminal:
    """Make standard error a terminal, for the test that asks for it."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_it_shows_itself_after_two_seconds_and_leaves_nothing(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_of(monkeypatch)
    with ProgressDisplay() as display:
        clock.now += 1.9
        display.tell(0.24, "voting", "24% read")
        assert terminal.getvalue() == ""
        clock.now += 0.2
        display.tell(0.25, "voting", "25% read", "1,234,567 trajectories")
        assert shown(terminal.getvalue()).strip() == "voting ━━╸━━━━━━━ 25% read · 1,234,567 trajectories"
    assert shown(terminal.getvalue()).strip() == ""


def test_in_a_pipe_nothing_is_shown(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressDisplay(patience=0) as display:
        clock.now += 60
        display.tell(0.5, "voting")
    assert stream.getvalue() == ""


def test_it_is_drawn_ten_times_a_second_at_most(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with ProgressDisplay(patience=0) as display:
        display.tell(0.0, "voting")
        once = len(terminal.getvalue())
        for step in range(1000):
            clock.now += 0.001
            display.tell(step / 1000, "voting")
        assert len(terminal.getvalue()) < 15 * once


@pytest.mark.parametrize("columns", [30, 40, 60, 80, 120])
def test_the_line_stays_in_its_place_at_any_width(
    columns: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_of(monkeypatch, columns)
    with ProgressDisplay(patience=0) as display:
        for share in (0.25, 0.5):
            clock.now += 1
            parts = ("16/64", "question 3/30", "1,318 tok/s", "0:10:00 left", "42.0% right", "3 reflections")
            display.tell(share, "sampling", *parts, below="so far   12 60% · 35 20% · " + "x" * 100)
        line, below = shown(terminal.getvalue()).splitlines()
    assert line.startswith("sampling ━")
    assert "16/64" in line
    assert max(len(line), len(below)) <= columns
    assert line.endswith("3 reflections") == (columns == 120)
    assert below.startswith("so far")


def test_a_long_name_leaves_room_for_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with ProgressDisplay(patience=0) as display:
        display.tell(0.5, "writing " + "a-long-folder/" * 8, "50%")
        line = shown(terminal.getvalue()).strip()
    assert "━━━━━" in line
    assert line.endswith(" 50%")
    assert len(line) <= 80


def test_what_is_said_meanwhile_stands_above_the_line(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with ProgressDisplay(patience=0) as display:
        display.tell(0.5, "sampling", "1/2")
        note("the server was asked again")
        clock.now += 1
        display.tell(0.6, "sampling", "1/2")
        first, second = shown(terminal.getvalue()).splitlines()
    assert first == "note: the server was asked again"
    assert second.startswith("sampling")
    assert shown(terminal.getvalue()).strip() == first
