"""Trajectories of one job that are requested together, and how far they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from distrivote.engines.base import Job, Partial
from distrivote.engines.openai.client import Server
from distrivote.engines.openai.continuation import SteeredReply
from distrivote.engines.openai.flaws import Flaw
from distrivote.engines.openai.loops import Place
from distrivote.trajectory import Trajectory


class Begun(NamedTuple):
    """A trajectory of several replies, up to the start of the next one."""

    server: Server
    reply: SteeredReply
    n_prompt: int | None


class Item:
    """Trajectories of one job that are requested together."""

    __slots__ = (
        *("begun", "first", "flawed", "indices", "job", "n_again", "n_reflections", "n_tokens", "number"),
        *("place", "text"),
    )

    def __init__(self, number: int, job: Job, indices: Sequence[int], n_again: int = 0) -> None:
        self.number = number
        """Which of the jobs it is."""

        self.job = job
        self.indices = list(indices)
        """Those that are still missing."""

        self.begun: Begun | None = None
        """The finished parts of a continued trajectory, so that a fault costs only the last part."""

        self.n_again = n_again
        """How often it was retried because a reply had a flaw."""

        self.flawed: dict[int, Finished] = {}
        """Replies with a flaw, which may be retried."""

        self.n_tokens = 0
        self.n_reflections = 0
        self.first = self.indices[0]
        self.text: Callable[[], str] | None = None
        """Returns the current state of its first trajectory."""

        self.place: Place | None = None
        """Its slot among the trajectories in progress, while it is sampled."""

    def partial(self) -> Partial | None:
        """Return the current state of its first trajectory, None if it is finished or not started."""
        if self.text is None or self.first not in self.indices:
            return None
        return Partial(self.first, self.text())

    def drop(self) -> bool:
        """Drop the missing trajectories if its job is over, and return whether it is."""
        if not self.job.over():
            return False
        self.indices = []
        self.n_tokens = self.n_reflections = 0
        return True

    def one_by_one(self) -> list[Item]:
        """Return what is missing as items of one trajectory each."""
        return [Item(self.number, self.job, [index], self.n_again) for index in self.indices]


class Finished(NamedTuple):
    """A finished reply."""

    trajectory: Trajectory
    flaw: Flaw | None
