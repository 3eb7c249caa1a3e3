"""An engine that counts what it samples, and is interrupted after so many trajectories if told to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distrivote import Trajectory
from distrivote.engines.base import BaseEngine, Job, Progress, Watch
from distrivote.steering import Controller


class CountedEngine(BaseEngine):
    """Says what depends on the question, the number and the controller alone: what `reply` makes of them."""

    name, concurrent = "embedded", True

    def __init__(self, n_before_interrupt: int | None = None) -> None:
        self.n_made, self._most = 0, n_before_interrupt
        self.n_closed = 0

    def reply(self, rng: np.random.Generator, controller: Controller | None) -> tuple[int, float]:
        """Return an answer and its confidence."""
        raise NotImplementedError

    def sample_job(
        self, job: Job, controller: Controller | None, watch: Watch | None
    ) -> Iterator[Trajectory]:
        for index in job.indices:
            if self.n_made == self._most:
                raise KeyboardInterrupt
            rng = np.random.default_rng([job.params.seed, index, len(job.messages[-1].content)])
            answer, confidence = self.reply(rng, controller)
            tokens = ("Let me see.\n\n", f"It is \\boxed{{{answer}}}.")
            self.n_made += 1
            if watch is not None:
                watch(Progress(2 * self.n_made, 1, 0))
            top = np.full((2, 20), -confidence)
            yield Trajectory("".join(tokens), tokens, top, np.full(2, -0.1), "stop", index=index)

    def close(self) -> None:
        self.n_closed += 1
