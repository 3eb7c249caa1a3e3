"""Online DistriVoting for the requests of a batch that ask for it: which of them end at a step.

The rule is that of `steering.distrivoting`: a request ends where its score is below the line. Steps are rare,
so each is handled by itself, and other requests of the batch cost nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from distrivote.engines.vllm.args import Watched
from distrivote.steering import DistriVotingOnline
from distrivote.steering.course import Course, Line


class Judged(NamedTuple):
    """The state of one request."""

    floor: Line
    course: Course


class CourseSlots:
    """Such requests, by slot."""

    def __init__(self) -> None:
        self._judged: dict[int, Judged] = {}

    def __bool__(self) -> bool:
        return bool(self._judged)

    def begin(self, slot: int, controller: Watched) -> None:
        """Add a new request, unless it is of another kind."""
        self.put(
            slot, Judged(controller.floor, Course()) if isinstance(controller, DistriVotingOnline) else None
        )

    def put(self, slot: int, judged: Judged | None) -> None:
        """Add a request that comes back, None for one of another kind."""
        self.drop(slot)
        if judged is not None and judged.floor.tokens:
            self._judged[slot] = judged

    def drop(self, slot: int) -> None:
        self._judged.pop(slot, None)

    def copy_of(self, slot: int) -> Judged | None:
        """Return the request of a slot, None if it is of another kind."""
        return self._judged.get(slot)

    def step(self, slot: int, n_tokens: int, confidence: float) -> bool:
        """Process the end of a step, after so many tokens, and return whether the request ends there."""
        judged = self._judged.get(slot)
        if judged is None:
            return False
        course = judged.course.step(n_tokens, confidence)
        self._judged[slot] = judged._replace(course=course)
        return judged.floor.is_above(course)
