"""The bar: late, small, and only for somebody who looks."""

from __future__ import annotations

import io
import sys

import pytest

from distrivote.cli import progress_bar as module
from distrivote.cli.progress_bar import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "after", "shown"),
    [(Terminal(), 1.9, False), (Terminal(), 2.1, True), (io.StringIO(), 60.0, False)],
)
def test_it_shows_itself_after_two_seconds_on_a_terminal(
    stream: io.StringIO, after: float, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    bar = ProgressBar()
    now += after
    bar.tell(0.25, "voting")
    bar.tell(0.26, "voting")
    assert stream.getvalue() == (f"\rvoting {'━' * 7}{'─' * 21}  25%\x1b[K" if shown else "")
    bar.clear()
    assert stream.getvalue().endswith("\r\x1b[K" if shown else "")


def test_a_long_name_leaves_room_for_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    bar = ProgressBar()
    bar.next = 0.0
    bar.tell(0.5, "writing " + "a-long-folder/" * 8)
    line = stream.getvalue().removeprefix("\r").removesuffix("\x1b[K")
    assert len(line) < 60
    assert line.endswith(" 50%")
