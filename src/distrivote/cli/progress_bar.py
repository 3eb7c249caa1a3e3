"""A bar on standard error that says how far an evaluation is; nothing for short ones or in a pipe."""

from __future__ import annotations

import sys
import time

from distrivote.cli.progress import Progress

_WIDTH = 28
_EVERY = 0.2


class ProgressBar(Progress):
    """Shows itself after two seconds, and only on a terminal."""

    def tell(self, part: float, what: str) -> None:
        """Say which part is done, 0 to 1, and what is being done."""
        now = time.monotonic()
        if self.on and now >= self.next:
            filled = round(_WIDTH * min(max(part, 0.0), 1.0))
            bar = "━" * filled + "─" * (_WIDTH - filled)
            sys.stderr.write(f"\r{what} {bar} {part:4.0%}\x1b[K")
            sys.stderr.flush()
            self.next, self.shown = now + _EVERY, True
