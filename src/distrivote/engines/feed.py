"""Jobs for an engine that is sampling already: added by any thread, taken when the engine has room."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from distrivote.engines.base import Job


class Taken(NamedTuple):
    """A job that an engine has taken."""

    number: int
    """Jobs are numbered in the order in which they were added."""

    job: Job


class Feed:
    """A queue of jobs between callers and one engine.

    >>> feed = Feed(())
    >>> feed.close()
    >>> feed.take(wait=True) is None
    True
    """

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self._waiting = deque(jobs)
        self._n_taken = 0
        self._is_closed = False
        self._changed = threading.Condition()

    @classmethod
    def of(cls, jobs: Iterable[Job]) -> Feed:
        """Return a feed with these jobs and no others."""
        feed = cls(jobs)
        feed.close()
        return feed

    def put(self, job: Job) -> int:
        """Add a job and return its number."""
        with self._changed:
            self._waiting.append(job)
            self._changed.notify()
            return self._n_taken + len(self._waiting) - 1

    def close(self) -> None:
        """Close the feed: no more jobs can be added, and the engine ends when it has sampled the rest."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def take(self, *, wait: bool) -> Taken | None:
        """Return the next job; None if the queue is empty or, with `wait`, once it is empty and closed."""
        with self._changed:
            while wait and not self._waiting and not self._is_closed:
                self._changed.wait()
            if not self._waiting:
                return None
            self._n_taken += 1
            return Taken(self._n_taken - 1, self._waiting.popleft())

    def __iter__(self) -> Iterator[Taken]:
        """Return the jobs as they are added, until the feed is closed."""
        while (taken := self.take(wait=True)) is not None:
            yield taken
