"""Returns stored trajectories as if a model had sampled them: for tests, demos and benchmarks.

It needs no model and takes no time. Trajectory i is the i-th that it was given; asking for more than there
are is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from distrivote.engines.base import BaseEngine, Job, Progress, Watch
from distrivote.errors import InputError
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


class ReplayEngine(BaseEngine):
    """An engine that returns given trajectories."""

    name = "replay"
    concurrent = True

    def __init__(self, trajectories: Sequence[Trajectory], model: str = "replay") -> None:
        self.model = model
        self._trajectories = tuple(trajectories)

    def sample_job(
        self,
        job: Job,
        controller: Controller | None,  # noqa: ARG002
        watch: Watch | None,
    ) -> Iterator[Trajectory]:
        """Yield the trajectories with the job's indices, in order."""
        n_tokens = n_reflections = 0
        for index in job.indices:
            if index >= len(self._trajectories):
                raise InputError(
                    f"trajectory {index} was requested, but only {len(self._trajectories)} are stored:"
                    " ask for fewer"
                )
            trajectory = replace(self._trajectories[index], index=index)
            record = trajectory.interventions
            n_tokens += trajectory.n_tokens
            n_reflections += record.n_reflections if record is not None else 0
            if watch is not None:
                watch(Progress(n_tokens, 0, n_reflections))
            yield trajectory
