"""The progress of a run on a terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from distrivote.cli.progress import ProgressDisplay, time_left
from distrivote.nouns import count

if TYPE_CHECKING:
    from distrivote.generation.run import RunProgress


class RunDisplay(ProgressDisplay):
    """Counts from the first progress report of a run, which comes once its engine is open."""

    def __init__(self) -> None:
        super().__init__(patience=0.0)
        self._begun: float | None = None

    @property
    def seconds(self) -> float:
        """How long the sampling has taken."""
        return 0.0 if self._begun is None else time.monotonic() - self._begun

    def watch(self, progress: RunProgress) -> None:
        """Show the progress."""
        if self._begun is None:
            self._begun = time.monotonic()
        seconds, n_tokens = self.seconds, max(progress.n_sampled, progress.n_tokens)
        parts = [
            f"{progress.n_added:,}/{progress.n_todo:,}",
            f"question {progress.n_begun:,}/{progress.n_questions:,}",
        ]
        if seconds > 0 and n_tokens:
            parts.append(f"{n_tokens / seconds:,.0f} tok/s")
        parts += time_left(seconds, progress.n_added, progress.n_todo)
        if progress.n_known:
            parts.append(f"{progress.n_right / progress.n_known:.1%} right")
        parts.append(count(progress.n_reflections, "reflection"))
        self.tell(progress.n_added / progress.n_todo, "sampling", *parts)
