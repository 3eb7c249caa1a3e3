"""How this process uses the memory that it frees, for commands that vote on many rows.

A vote makes and frees arrays of a megabyte, again and again. By default glibc returns them to the system each
time, and the system clears every page that it hands out anew: a tenth of the processor time of a vote on 10
million rows, and threads wait for each other there.
"""

from __future__ import annotations

import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Names of mallopt's parameters in malloc.h."""

_SETTINGS = {_MMAP_THRESHOLD: 1 << 25, _TRIM_THRESHOLD: 1 << 28, _TOP_PAD: 1 << 24}
"""Arrays below 32 MB are taken from memory that was freed; up to 256 MB of it are kept."""


def keep_freed() -> None:
    """Keep freed memory for the next arrays, where the C library is glibc; the peak stays the same."""
    if sys.platform != "linux":
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries do not have it
    if mallopt is not None:
        for parameter, value in _SETTINGS.items():
            mallopt(parameter, value)
