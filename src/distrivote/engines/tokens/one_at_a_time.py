"""One call at a time, and none behind the last: for engines whose model is busy while it samples."""

from __future__ import annotations

import threading

from distrivote.errors import DistrivoteError


class OneAtATime:
    """Whether a call is under way, and whether the engine is closed.

    >>> calls = OneAtATime()
    >>> calls.begin()
    >>> calls.end()
    >>> calls.close(), calls.close()
    (True, False)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = False
        self._closed = False

    def begin(self) -> None:
        """Take a call's beginning; an error if another one is under way or the engine is closed."""
        with self._lock:
            if self._closed:
                raise DistrivoteError("the engine is closed: make a new one")
            self._refuse_if_busy()
            self._busy = True

    def end(self) -> None:
        """Take its end."""
        # Without the lock: a generator that is collected ends its call wherever that happens.
        self._busy = False

    def close(self) -> bool:
        """Let no call begin any more; false if that was so before."""
        with self._lock:
            if self._closed:
                return False
            self._refuse_if_busy()
            self._closed = True
            return True

    def _refuse_if_busy(self) -> None:
        if self._busy:
            raise DistrivoteError(
                "the engine is sampling already: let that call end, or close its iterator, before the next"
            )
