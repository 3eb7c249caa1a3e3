"""What is shown of a run: its counts, its pace and how long the rest takes."""

from __future__ import annotations

import pytest

from distrivote.cli import progress, run_display
from distrivote.cli.run_display import RunDisplay
from distrivote.generation.run import RunProgress


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, str]]:
    """What a display is told, with a clock that goes on by two seconds with every look at it."""
    clock = iter(range(0, 100, 2))
    monkeypatch.setattr(run_display.time, "monotonic", lambda: float(next(clock)))
    lines: list[tuple[float, str]] = []

    def tell(_self: object, share: float, *parts: str) -> None:
        lines.append((share, " · ".join(parts)))

    monkeypatch.setattr(progress.ProgressDisplay, "tell", tell)
    return lines


def test_tokens_of_trajectories_under_way_count_in_the_rate(told: list[tuple[float, str]]) -> None:
    display = RunDisplay()
    display.watch(RunProgress(8, 2))
    display.watch(RunProgress(8, 2, n_sampled=500))
    display.watch(RunProgress(8, 2, 1, 1, n_tokens=300, n_sampled=500))
    assert told[0] == (0.0, "sampling · 0/8 · question 0/2 · 0 reflections")
    assert "0/8 · question 0/2 · 125 tok/s" in told[1][1]
    assert told[2][0] == 1 / 8
    assert "1/8 · question 1/2 · 83 tok/s · 0:42 left" in told[2][1]


def test_the_rate_is_that_of_what_is_stored_where_the_engine_does_not_say_it(
    told: list[tuple[float, str]],
) -> None:
    display = RunDisplay()
    display.watch(RunProgress(8, 2))
    display.watch(RunProgress(8, 2, 1, 1, n_tokens=300, n_reflections=2, n_known=1, n_right=1))
    assert told[-1][1].endswith("75 tok/s · 0:28 left · 100.0% right · 2 reflections")


def test_nothing_is_divided_by_zero_before_the_first_word() -> None:
    assert RunDisplay().seconds == 0.0
