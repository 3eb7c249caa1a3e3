"""The progress and the result of a run, and what is reported of each trajectory that was stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Stored(NamedTuple):
    """One trajectory that was given to a writer, perhaps in another process."""

    question_id: str
    sample: int
    n_tokens: int
    n_reflections: int
    correct: bool | None


class RunProgress(NamedTuple):
    """The progress of a run, for displays."""

    n_todo: int
    """Trajectories that were missing when the run was opened."""

    n_questions: int
    """Questions with missing trajectories."""

    n_added: int = 0
    n_begun: int = 0
    """Questions to which trajectories were added."""

    n_tokens: int = 0
    """The tokens of the trajectories that were added."""

    n_sampled: int = 0
    """Tokens sampled so far, by the engine's count, including unfinished trajectories."""

    n_reflections: int = 0
    n_known: int = 0
    """Added trajectories of questions whose right answer is known."""

    n_right: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run."""

    path: str
    n_todo: int
    """Trajectories that were missing; 0 if the run was complete."""

    n_added: int
    """Trajectories that this call added, without those that another process had stored before."""

    n_tokens: int = 0
    n_reflections: int = 0
    accuracy: float | None = None
    """The share of right ones among those added; None if no right answer is known."""

    notes: tuple[str, ...] = ()
    """Caveats about the run, a sentence each."""

    n_doubled: int = 0
    """Trajectories that it sampled although another process had already stored them."""

    n_elsewhere: int = 0
    """Missing trajectories that other processes added meanwhile."""

    n_ended: int | None = None
    """Trajectories of the whole run that were ended early; None if its controller ends none."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C during sampling: what had finished is stored, and the same call continues."""

    def __init__(self, result: RunResult) -> None:
        super().__init__()
        self.result = result
