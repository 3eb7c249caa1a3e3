"""Plays stored trajectories back, as if a model had sampled them: for tests, demos and benchmarks.

It needs no model and no time. Trajectory i is the i-th of those that it was given; asking for more than
there are is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from distrivote.engines.base import Job, Progress, Sampled, SamplingParams, in_turn
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


class ReplayEngine:
    """An engine over trajectories that are there already."""

    name = "replay"
    concurrent = True

    def __init__(self, trajectories: Sequence[Trajectory], model: str = "replay") -> None:
        self.model = model
        self._trajectories = tuple(trajectories)

    def sample(
        self,
        messages: Sequence[Message],  # noqa: ARG002
        n: int,
        params: SamplingParams,  # noqa: ARG002
        controller: Controller | None = None,  # noqa: ARG002
        *,
        indices: Sequence[int] | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> Generator[Trajectory]:
        """Yield the trajectories of these indices, one after the other."""
        n_tokens = n_reflections = 0
        for index in range(n) if indices is None else indices:
            if index >= len(self._trajectories):
                raise InputError(
                    f"trajectory {index} was asked for, and {len(self._trajectories)} are stored:"
                    " ask for fewer"
                )
            trajectory = replace(self._trajectories[index], index=index)
            record = trajectory.interventions
            n_tokens += trajectory.n_tokens
            n_reflections += record.n_reflections if record is not None else 0
            if watch is not None:
                watch(Progress(n_tokens, 0, n_reflections))
            yield trajectory

    def sample_all(
        self,
        jobs: Sequence[Job],
        controller: Controller | None = None,
        *,
        watch: Callable[[Progress], None] | None = None,
    ) -> Generator[Sampled]:
        return in_turn(self, jobs, controller, watch=watch)

    def close(self) -> None:
        pass
