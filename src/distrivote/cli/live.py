"""What moves while trajectories are sampled: a bar, tokens per second, time left, the answers so far."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from distrivote.answers.forms import normal_form
from distrivote.engines.base import Progress
from distrivote.nouns import count
from distrivote.report.text import shortened
from distrivote.trajectory import Trajectory

_BAR, _SHORT_BAR = 28, 10
_ANSWERS = 4


class Sampling:
    """A display on standard error that is there while sampling runs, and only on a terminal."""

    def __init__(self, console: Console, budget: int, find: Callable[[str], str | None]) -> None:
        self._budget = budget
        self._bar = _BAR if console.width >= 100 else _SHORT_BAR
        self._find = find
        self._n_done = 0
        self._labels: dict[Hashable, str] = {}
        self._votes: Counter[Hashable] = Counter()
        self._progress = Progress(0, 0, 0)
        self._begun = time.monotonic()
        self._live = Live(console=console, refresh_per_second=8, transient=True, get_renderable=self.render)
        self._on = console.is_terminal

    def __enter__(self) -> Sampling:
        if self._on:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._on:
            self._live.stop()

    @property
    def n_tokens(self) -> int:
        return self._progress.n_tokens

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def watch(self, progress: Progress) -> None:
        self._progress = progress

    def add(self, trajectory: Trajectory) -> None:
        self._n_done += 1
        answer = self._find(trajectory.text)
        if answer is not None:
            form = normal_form(answer)
            self._labels.setdefault(form, answer)
            self._votes[form] += 1

    def render(self) -> Text:
        n, seconds = self._n_done, self.seconds
        full = round(self._bar * n / self._budget)
        line = Text("sampling ", no_wrap=True, overflow="ellipsis")
        line.append("━" * full, style="#56B4E9")
        line.append("━" * (self._bar - full), style="dim")
        parts = [f" {n}/{self._budget}", count(self.n_tokens, "token")]
        if seconds > 0.5:
            parts.append(f"{self.n_tokens / seconds:,.0f} tok/s")
        if 0 < n < self._budget:
            left = seconds / n * (self._budget - n)
            parts.append(f"{int(left) // 60}:{int(left) % 60:02d} left")
        parts.append(count(self._progress.n_reflections, "reflection"))
        line.append(" · ".join(parts))
        shares = [
            f"{shortened(self._labels[form], 20)} {n_votes / self._votes.total():.0%}"
            for form, n_votes in self._votes.most_common(_ANSWERS)
        ]
        if shares:
            line.append("\nso far   " + " · ".join(shares), style="dim")
        return line
