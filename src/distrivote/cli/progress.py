"""A line on standard error that says how far a long job is; nothing for short ones or in a pipe."""

from __future__ import annotations

import sys
import time

from distrivote.cli.messages import clear_line, show_in_place
from distrivote.nouns import count

_PATIENCE = 2.0
_EVERY = 0.2


class Progress:
    """Shows itself after two seconds, and only on a terminal."""

    def __init__(self) -> None:
        self.on = sys.stderr.isatty()
        self.next = time.monotonic() + _PATIENCE
        self.shown = False

    def show(self, done: float, n_rows: int) -> None:
        """Say that a part of the file (0 to 1) has been read and this many rows voted on."""
        now = time.monotonic()
        if self.on and now >= self.next:
            show_in_place(f"{done:4.0%} read", count(n_rows, "trajectory"))
            self.next, self.shown = now + _EVERY, True

    def clear(self) -> None:
        if self.shown:
            clear_line()
        self.shown = False
