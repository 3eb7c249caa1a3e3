"""The progress of one question on a terminal: trajectories, tokens, and the answers so far."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING

from distrivote.cli.progress import ProgressDisplay, time_left
from distrivote.engines.base import Progress
from distrivote.nouns import count
from distrivote.report.text import shortened

if TYPE_CHECKING:
    from distrivote.poll import Poll

_ANSWERS = 4
_LONGEST = 20


class AskDisplay(ProgressDisplay):
    """Counts trajectories, tokens and votes from the start; shown only on a terminal."""

    def __init__(self, poll: Poll) -> None:
        super().__init__(patience=0.0)
        self._poll, self._budget = poll, poll.budget
        self._n_done = 0
        self._kind = poll.kind.name
        self._labels: dict[Hashable, str] = {}
        self._votes: Counter[Hashable] = Counter()
        self._progress = Progress(0, 0, 0)
        self._begun = time.monotonic()
        self._show()

    @property
    def seconds(self) -> float:
        """How long the sampling has taken."""
        return time.monotonic() - self._begun

    def watch(self, progress: Progress) -> None:
        """Show the engine's progress."""
        self._progress = progress
        self._show()

    def add(self, answer: str | None) -> None:
        """Count the answer of a trajectory that has finished, None if it has none."""
        self._n_done += 1
        key = self._poll.same.key
        if self._poll.kind.name != self._kind:  # the kind of answer is now known, and differs
            self._kind = self._poll.kind.name
            self._labels.clear()
            self._votes.clear()
        if answer is not None:
            form = answer if key is None else key(answer)
            self._labels.setdefault(form, self._poll.kind.line(answer))
            self._votes[form] += 1
        self._show()

    def _show(self) -> None:
        seconds, n_tokens = self.seconds, self._progress.n_tokens
        parts = [f"{self._n_done}/{self._budget}", count(n_tokens, "token")]
        if seconds > 0.5:
            parts.append(f"{n_tokens / seconds:,.0f} tok/s")
        parts += time_left(seconds, self._n_done, self._budget)
        parts.append(count(self._progress.n_reflections, "reflection"))
        shares = [
            f"{shortened(self._labels[form], _LONGEST)} {n_votes / self._votes.total():.0%}"
            for form, n_votes in self._votes.most_common(_ANSWERS)
        ]
        below = "so far   " + " · ".join(shares) if shares else ""
        self.tell(self._n_done / self._budget, "sampling", *parts, below=below)
