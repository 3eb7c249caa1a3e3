"""An answer to one question, and everything that it is based on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from distrivote.answers.extract import reply_start
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.values import MATH
from distrivote.answers.structured.fields import Composed
from distrivote.defaults import MIN_PROBABILITY
from distrivote.problem import Problem
from distrivote.reading import Reading
from distrivote.trajectory import CUT_OFF, Trajectory
from distrivote.voting.abstaining import withheld
from distrivote.voting.ballot import Answer, Ballot, Tally


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer, and everything that it is based on."""

    problem: Problem
    tally: Tally
    ballot: Ballot
    trajectories: tuple[Trajectory, ...]
    """In the order of their numbers, as they are in the ballot."""

    readings: tuple[Reading, ...]
    """The reading of each trajectory."""

    n_asked: int
    """The budget. There are fewer trajectories if sampling was stopped early."""

    is_settled: bool = False
    """Whether a stopping rule ended the sampling before the budget was spent."""

    stopped: str | None = None
    """Why there are fewer trajectories than the budget, in a sentence: the rule, or the engine's failure."""

    min_probability: float = MIN_PROBABILITY
    """An answer that is less probable than this is withheld."""

    kind: Kind = MATH
    """What counted as an answer."""

    composed: Composed | None = None
    """The result of the votes on single fields, if the kind of answer has them."""

    @property
    def answer(self) -> Answer | None:
        """The answer to believe; None if no trajectory gave one."""
        return self.tally.answer if self.composed is None else self.composed.text

    @property
    def reply(self) -> str:
        """The reply to show, without its thinking: that of the best trajectory, or the object that was
        composed. It exists even if there was no vote; "" if no trajectory has finished."""
        if self.composed is not None and not self.composed.is_whole:
            return self.composed.text
        best = self.best
        return "" if best is None else best.text[reply_start(best.text) :].strip()

    @property
    def withheld(self) -> str | None:
        """Why the answer is withheld, without stating the answer; None if it is not withheld."""
        return withheld(self.tally, self.min_probability)

    @property
    def n_tokens(self) -> int:
        return sum(trajectory.n_tokens for trajectory in self.trajectories)

    @property
    def n_prompt_tokens(self) -> int:
        """The tokens of the prompt, once for all trajectories; 0 if the engine does not report them."""
        counted = (trajectory.n_prompt_tokens for trajectory in self.trajectories)
        return next((n for n in counted if n is not None), 0)

    @property
    def n_reflections(self) -> int:
        """How often a controller injected a text."""
        records = [trajectory.interventions for trajectory in self.trajectories]
        return sum(record.n_reflections for record in records if record is not None)

    @property
    def n_saved(self) -> int:
        """How many trajectories of the budget were not sampled because of a stopping rule."""
        return self.n_asked - len(self.trajectories) if self.is_settled else 0

    @property
    def n_tokens_saved(self) -> int:
        """An estimate: the saved trajectories times the mean length of the others.

        The tokens of trajectories that were in progress when they were cancelled are not subtracted.
        """
        return round(self.n_tokens / len(self.trajectories) * self.n_saved) if self.trajectories else 0

    @property
    def best(self) -> Trajectory | None:
        """The most confident trajectory that gave the answer; without an answer, the most confident of all.

        A trajectory that was not cut off has priority over one that was. None if no trajectory has finished.
        """
        if self.tally.best is not None:
            return self.trajectories[self.tally.best]
        places = range(len(self.trajectories))
        return self.trajectories[max(places, key=self._worth)] if places else None

    def _worth(self, place: int) -> tuple[bool, float, int]:
        confidence = self.readings[place].confidence
        is_cut = self.trajectories[place].finish_reason == CUT_OFF
        return not is_cut, -math.inf if math.isnan(confidence) else confidence, -place
