"""Online DistriVoting: a trajectory that falls clearly below the likely right ones is ended early.

The first trajectories of a question, the warm-up, run to their end. The mixture of their confidences cuts
them in two, as DistriVoting does for the vote. Their courses give a line (`course`): a later trajectory whose
score is below it at the end of a step is worth less for its remaining tokens than a new one, and ends there.
Its slot is used by the next trajectory. Votes are not decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from distrivote.answers.extract import Extractor
from distrivote.defaults import N_WARMUP, ONLINE_STRICTNESS
from distrivote.errors import InputError
from distrivote.splitting import Splitter
from distrivote.steering.controller import Controller, ControllerStream, End, Injection, told_ends
from distrivote.steering.course import Course, Line, line_of
from distrivote.steering.deepconf import SENT, DeepConfOnline
from distrivote.steering.reflection import SelfStepConf, StepStream
from distrivote.trajectory import Floats, Interventions, Trajectory

NO_REFLECTION = SelfStepConf(delta=0.0)


@dataclass(frozen=True, slots=True)
class DistriVotingOnline(Controller):
    """End trajectories that fall below the likely right side of a warm-up.

    Without a floor, as in the warm-up, it ends none.

    >>> records = [Interventions((), (20, 40), (level, level)) for level in (9.0, 9.2, 5.0, 5.2)]
    >>> rule = DistriVotingOnline().after([9.0, 9.2, 5.0, 5.2], records, cut=9.0)
    >>> rule.floor.is_above(Course().step(20, 5.5)), rule.floor.is_above(Course().step(20, 8.5))
    (True, False)
    """

    strictness: float = ONLINE_STRICTNESS
    """A trajectory ends where its chance of the likely right side, for each token that it still needs, is
    below this multiple of a new one's; 0 ends none."""

    n_warmup: int = N_WARMUP
    """The number of trajectories that run to their end."""

    steps: SelfStepConf = NO_REFLECTION
    """What a step is. It also reflects where a step drops, unless its delta is 0, and a trajectory that
    reflects does not end at that step."""

    floor: Line = field(default=Line(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.strictness < math.inf:
            raise InputError(f"strictness is {self.strictness}", hint="give a number from 0 up, such as 1")
        if self.n_warmup < 1:
            raise InputError(f"n_warmup is {self.n_warmup}", hint="give 1 or more, such as 16")
        if self.steps.released:
            raise InputError(
                "DistriVoting online can't look at steps as SelfStepConf as published does",
                hint="use SelfStepConf()",
            )

    @property
    def name(self) -> str:
        return "DistriVoting online"

    @property
    def ends_trajectories(self) -> bool:
        return True

    @property
    def uses_entropy(self) -> bool:
        return self.steps.uses_entropy

    @property
    def split(self) -> Splitter:
        return self.steps.split

    @property
    def has_answer(self) -> Callable[[str], bool]:
        return self.steps.has_answer

    def answering(self, find: Extractor) -> Self:
        return replace(self, steps=self.steps.answering(find))

    def after(
        self,
        confidences: Iterable[float],
        records: Sequence[Interventions | None] = (),
        cut: float = math.nan,
    ) -> Self:
        """Return the rule after a warm-up; without a cut or steps it stays as it is."""
        known = [
            (Course.of(record), confidence >= cut)
            for confidence, record in zip(confidences, records, strict=False)
            if record is not None and record.step_ends
        ]
        if not known or math.isnan(cut) or not self.strictness:
            return self
        courses, is_upper = zip(*known, strict=True)
        return replace(self, floor=line_of(courses, is_upper, self.strictness))

    def by_window(self, window: int) -> DeepConfOnline:
        """Return a rule with one threshold, for engines that compare the mean of a window with a number.

        The threshold is the lowest place of the line; None, which ends nothing, if there is no line.
        """
        lowest = min((score for score in self.floor.scores if score > 0), default=None)
        return DeepConfOnline(window=window, n_warmup=self.n_warmup, threshold=lowest)

    def ended_at(self, record: Interventions, confidences: Floats) -> int | None:  # noqa: ARG002
        # At its end it is not judged any more: nothing would be saved.
        course = Course.of(record)
        places = np.array(course.tokens[1:-1])
        below = np.flatnonzero(course.scores(places) < self.floor.lowest(places))
        return int(places[below[0]]) if len(below) else None

    def plugin_settings(self) -> DistriVotingOnline:
        return self

    @property
    def reflecting(self) -> SelfStepConf:
        return self.steps

    def ended(self, confidences: Sequence[float], record: Interventions) -> bool:  # noqa: ARG002
        if record.unfinished or not record.step_ends:
            return False
        course = Course.of(record)
        place = np.array([course.n_tokens])
        # The engine that ended it may have had more digits.
        return bool(course.scores(place) < self.floor.lowest(place) * (1 + SENT))

    def told(self, trajectories: Sequence[Trajectory]) -> str:
        ended = told_ends(trajectories)
        return f"{ended}; {self.steps.told(trajectories)}" if self.steps.delta else ended

    def start(self) -> ControllerStream:
        return _Stream(self)


class _Stream(ControllerStream):
    __slots__ = ("_course", "_floor", "_steps")

    def __init__(self, controller: DistriVotingOnline) -> None:
        self._steps = StepStream(controller.steps)
        self._floor = controller.floor
        self._course = Course()

    def push(self, text: str, confidence: float, entropy: float = math.nan) -> Injection | End | None:
        n_before = self._steps.n_steps
        action = self._steps.push(text, confidence, entropy)
        if self._steps.n_steps == n_before:
            return action
        self._course = self._course.step(*self._steps.last_step)
        if action is not None:
            return action
        return End() if self._floor.is_above(self._course) else None

    def push_injected(self, text: str, confidence: float = math.nan) -> None:
        self._steps.push_injected(text, confidence)

    def at_end(self, answered: Callable[[], bool]) -> Injection | None:
        return self._steps.at_end(answered)

    def allows_end(self, answered: Callable[[], bool]) -> bool:
        return self._steps.allows_end(answered)

    def record(self) -> Interventions:
        return self._steps.record()
