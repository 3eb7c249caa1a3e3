"""A bar on standard error that says how far an evaluation is; nothing for short ones or in a pipe."""

from __future__ import annotations

import time

from distrivote.cli.messages import show_in_place, width
from distrivote.cli.progress import Progress

_WIDTH = 28
_EVERY = 0.2


class ProgressBar(Progress):
    """Shows itself after two seconds, and only on a terminal."""

    def tell(self, part: float, what: str) -> None:
        """Say which part is done, 0 to 1, and what is being done."""
        now = time.monotonic()
        if self.on and now >= self.next:
            from distrivote.report.text import shortened

            filled = round(_WIDTH * min(max(part, 0.0), 1.0))
            bar = "━" * filled + "─" * (_WIDTH - filled)
            room = max(1, width() - 1 - len(f" {bar} {part:4.0%}"))
            show_in_place(f"{shortened(what, room)} {bar} {part:4.0%}")
            self.next, self.shown = now + _EVERY, True
