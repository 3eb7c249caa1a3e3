"""The progress of a long command: a line on standard error that is erased at the end; nothing in a pipe.

    sampling ━━━━━━━━━━ 12/32 · 1,530 tokens · 318 tok/s · 0:03 left

Rich draws it, and is loaded for it only when there is something to show.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from distrivote.cli.console import open_console

if TYPE_CHECKING:
    from typing import Self

    from distrivote.cli.progress_line import ProgressLine

_PATIENCE = 2.0
_EVERY = 0.1


class ProgressDisplay:
    """Shown after two seconds by default, and only on a terminal."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._on = sys.stderr.isatty()
        self._next = time.monotonic() + patience
        self._line: ProgressLine | None = None

    def tell(self, share: float, what: str, *parts: str, below: str = "") -> None:
        """Update the share that is done, 0 to 1, the activity, and more parts in order of importance.

        The line is drawn ten times a second at most; parts on the right that do not fit are left out.
        """
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + _EVERY
        if self._line is None:
            from distrivote.cli.progress_line import ProgressLine

            self._line = ProgressLine(open_console(sys.stderr))
            self._line.start()
        self._line.draw(share, what, parts, below)

    def close(self) -> None:
        """Erase what was shown."""
        if self._line is not None:
            self._line.stop()
        self._line = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def time_left(seconds: float, done: float, total: float) -> tuple[str, ...]:
    """Return the remaining time at the current rate, as in 0:03 left; empty while the rate is unknown.

    >>> time_left(60, 1, 4), time_left(7200, 1, 3), time_left(5, 0, 4)
    (('3:00 left',), ('4:00:00 left',), ())
    """
    if not 0 < done < total:
        return ()
    left = int(seconds / done * (total - done))
    hours, minutes = divmod(left // 60, 60)
    shown = f"{hours}:{minutes:02d}" if hours else str(minutes)
    return (f"{shown}:{left % 60:02d} left",)
