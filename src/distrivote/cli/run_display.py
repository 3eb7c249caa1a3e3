"""How far a run is: a line on standard error, on a terminal only, and the counts behind it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from distrivote.cli.messages import clear_line, show_in_place

if TYPE_CHECKING:
    from distrivote.engines.base import Progress


class RunDisplay:
    """A line on standard error, on a terminal only, and the counts behind it."""

    def __init__(self, n_todo: int, n_questions: int, on: bool) -> None:
        self._n_todo, self._n_questions, self._on = n_todo, n_questions, on
        self._begun = self._shown = time.monotonic()
        self._n_made = self.n_tokens = self._n_reflections = self._n_known = self._n_right = 0
        self._questions: set[str] = set()
        self._n_sampled = 0

    def watch(self, progress: Progress) -> None:
        self._n_sampled = progress.n_tokens
        self._show()

    def add(self, question_id: str, n_tokens: int, n_reflections: int, correct: bool | None) -> None:
        """Count a trajectory that was stored."""
        self._n_made += 1
        self.n_tokens += n_tokens
        self._n_reflections += n_reflections
        self._questions.add(question_id)
        if correct is not None:
            self._n_known += 1
            self._n_right += correct
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if not self._on or now - self._shown < 0.2:
            return
        from distrivote.nouns import count

        self._shown = now
        seconds = now - self._begun
        parts = [
            f"question {len(self._questions)}/{self._n_questions}",
            f"{self._n_made:,}/{count(self._n_todo, 'trajectory')}",
            f"{max(self._n_sampled, self.n_tokens) / seconds:,.0f} tok/s",
        ]
        if 0 < self._n_made < self._n_todo:
            left = int(seconds / self._n_made * (self._n_todo - self._n_made))
            parts.append(f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left")
        if self._n_known:
            parts.append(f"{self._n_right / self._n_known:.1%} right")
        parts.append(count(self._n_reflections, "reflection"))
        show_in_place(*parts)

    def clear(self) -> None:
        if self._on:
            clear_line()

    def summary(self, stopped: bool) -> dict[str, Any]:
        seconds = time.monotonic() - self._begun
        return {
            "n_trajectories": self._n_made,
            "n_tokens": self.n_tokens,
            "n_reflections": self._n_reflections,
            "accuracy": self._n_right / self._n_known if self._n_known else None,
            "seconds": round(seconds, 3),
            "stopped": stopped,
        }
