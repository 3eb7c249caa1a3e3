"""How many threads to decode with, measured while decoding.

llama.cpp's threads wait for each other by spinning. On an idle machine more threads are faster; when
another program occupies one of the processors, all threads wait for the one that does not run, and decoding
gets ten times slower. So both numbers are tried regularly and the faster one is used.
"""

from __future__ import annotations

_PROBES = 2
"""Steps for which each number of threads is tried; the fastest step counts."""

_STRETCH = 48
"""Steps between two trials."""


class ThreadTuner:
    """Chooses between all threads and half of them, by the time that steps take."""

    def __init__(self, n_threads: int) -> None:
        self._choices = sorted({n_threads, max(1, n_threads // 2)}, reverse=True)
        self._times: list[list[float]] = [[] for _ in self._choices]
        self._best = 0
        self._n_left = 0

    @property
    def n_threads(self) -> int:
        """How many threads the next step should use."""
        if len(self._choices) == 1 or self._n_left:
            return self._choices[self._best]
        trial = next(i for i, times in enumerate(self._times) if len(times) < _PROBES)
        return self._choices[trial]

    def observe(self, seconds: float) -> None:
        """Record the time of a step that used `n_threads` threads."""
        if len(self._choices) == 1:
            return
        if self._n_left:
            self._n_left -= 1
            if not self._n_left:
                self._times = [[] for _ in self._choices]
            return
        next(times for times in self._times if len(times) < _PROBES).append(seconds)
        if all(len(times) == _PROBES for times in self._times):
            best_times = [min(times) for times in self._times]
            self._best = best_times.index(min(best_times))
            self._n_left = _STRETCH
