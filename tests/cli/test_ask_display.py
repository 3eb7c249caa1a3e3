"""What is shown while a question is sampled: counts, pace, and the answers so far."""

from __future__ import annotations

import io
import sys

import pytest

from distrivote.cli import ask_display, progress
from distrivote.cli.ask_display import AskDisplay
from distrivote.engines.base import Progress
from distrivote.poll import Poll
from goldens.screen import shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_display_counts_trajectories_tokens_and_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    monkeypatch.setattr(ask_display.time, "monotonic", lambda: now)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with AskDisplay(Poll("How many?", budget=4)) as display:
        assert shown(terminal.getvalue()).startswith("sampling ━━━━━━━━━━ 0/4 · 0 tokens")
        for answer in ("12", "12.0", None):
            now += 2
            display.add(answer)
        now += 2
        display.watch(Progress(120, 2, 1))
        line, below = shown(terminal.getvalue()).splitlines()
        assert line == "sampling ━━━━━━━╸━━ 3/4 · 120 tokens · 15 tok/s · 0:02 left · 1 reflection"
        assert below == "so far   12 100%"
    assert shown(terminal.getvalue()).strip() == ""
    assert display.seconds == 8.0


def test_in_a_pipe_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with AskDisplay(Poll("How many?", budget=4)) as display:
        display.add("x")
    assert capsys.readouterr().err == ""
