"""The progress line: late, small, and only for somebody who looks."""

from __future__ import annotations

import io
import sys

import pytest

from distrivote.cli import progress as progress_module
from distrivote.cli.progress import Progress


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
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    progress = Progress()
    now += after
    progress.show(0.25, 1_234_567)
    progress.show(0.26, 1_300_000)
    assert stream.getvalue() == ("\r 25% read · 1,234,567 trajectories\x1b[K" if shown else "")
    progress.clear()
    assert stream.getvalue().endswith("\r\x1b[K" if shown else "")
