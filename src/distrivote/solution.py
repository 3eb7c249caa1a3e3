"""An answer to one question, and everything that it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from distrivote.defaults import MIN_PROBABILITY
from distrivote.problem import Problem
from distrivote.reading import Reading
from distrivote.trajectory import Trajectory
from distrivote.voting.abstaining import withheld
from distrivote.voting.ballot import Answer, Ballot, Tally


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer, and everything that it rests on."""

    problem: Problem
    tally: Tally
    ballot: Ballot
    trajectories: tuple[Trajectory, ...]
    """In the order of their numbers, as they are in the ballot."""

    readings: tuple[Reading, ...]
    """What each of them says."""

    n_asked: int
    """The budget. There are fewer trajectories where sampling was stopped before."""

    is_settled: bool = False
    """Whether a stopping rule ended the sampling before the budget was spent."""

    stopped: str | None = None
    """Why there are fewer trajectories than the budget, in a sentence: the rule, or the engine's failure."""

    min_probability: float = MIN_PROBABILITY
    """An answer that is less probable than this is withheld."""

    @property
    def answer(self) -> Answer | None:
        """The answer to believe; None if no trajectory gave one."""
        return self.tally.answer

    @property
    def withheld(self) -> str | None:
        """Why the answer is not to be given, without saying it; None if it is."""
        return withheld(self.tally, self.min_probability)

    @property
    def n_tokens(self) -> int:
        return sum(trajectory.n_tokens for trajectory in self.trajectories)

    @property
    def n_prompt_tokens(self) -> int:
        """Those of the prompt, once for all trajectories; 0 if the engine does not say."""
        counted = (trajectory.n_prompt_tokens for trajectory in self.trajectories)
        return next((n for n in counted if n is not None), 0)

    @property
    def n_reflections(self) -> int:
        """How often a controller injected a text."""
        records = [trajectory.interventions for trajectory in self.trajectories]
        return sum(record.n_reflections for record in records if record is not None)

    @property
    def n_saved(self) -> int:
        """How many trajectories of the budget a stopping rule has saved."""
        return self.n_asked - len(self.trajectories) if self.is_settled else 0

    @property
    def n_tokens_saved(self) -> int:
        """An estimate: those trajectories, as long as the others are on average.

        What those that were under way had cost when they were dropped is not taken off.
        """
        return round(self.n_tokens / len(self.trajectories) * self.n_saved) if self.trajectories else 0

    @property
    def best(self) -> Trajectory | None:
        """The most confident trajectory that gave the answer."""
        return None if self.tally.best is None else self.trajectories[self.tally.best]
