from __future__ import annotations

import io

from rich.console import Console

from distrivote.cli.live import Sampling
from distrivote.engines.base import Progress
from distrivote.trajectory import Trajectory


def test_the_display_counts_trajectories_tokens_and_answers() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Sampling(console, 4, lambda text: text or None) as display:
        display.watch(Progress(120, 2, 1))
        for text in ("12", "12.0", ""):
            display.add(Trajectory(text))
        line = display.render().plain
    assert "3/4" in line
    assert "120 tokens" in line
    assert "1 reflection\n" in line
    assert "12 100%" in line
    assert display.n_tokens == 120


def test_in_a_pipe_nothing_is_shown() -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    with Sampling(console, 4, lambda _: None) as display:
        display.add(Trajectory("x"))
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]
