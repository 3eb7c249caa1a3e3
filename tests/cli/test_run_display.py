"""The line that says how far a run is."""

from __future__ import annotations

import pytest

from distrivote.cli import run_display
from distrivote.cli.run_display import RunDisplay
from distrivote.engines.base import Progress


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> RunDisplay:
    """A display whose clock goes on by two seconds with every look at it."""
    clock = iter(range(0, 100, 2))
    monkeypatch.setattr(run_display.time, "monotonic", lambda: float(next(clock)))
    return RunDisplay(8, 2, on=True)


def test_tokens_of_trajectories_under_way_count_in_the_rate(
    display: RunDisplay, capsys: pytest.CaptureFixture[str]
) -> None:
    display.watch(Progress(n_tokens=500, n_live=2, n_reflections=0))
    assert "0/8 trajectories · 250 tok/s" in capsys.readouterr().err
    display.add("a", 300, 0, None)
    assert "1/8 trajectories · 125 tok/s" in capsys.readouterr().err


def test_the_rate_is_that_of_what_is_stored_where_nobody_watches(
    display: RunDisplay, capsys: pytest.CaptureFixture[str]
) -> None:
    display.add("a", 300, 2, True)
    assert "question 1/2 · 1/8 trajectories · 150 tok/s" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [20, 60, 80, 120])
def test_the_line_stays_in_its_place_at_any_width(
    columns: int,
    display: RunDisplay,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    display.add("a", 300, 2, True)
    shown = capsys.readouterr().err.removeprefix("\r").removesuffix("\x1b[K")
    assert shown.startswith("question 1/2")
    assert len(shown) < columns
    assert shown.endswith("2 reflections") == (columns == 120)
