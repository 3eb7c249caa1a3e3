"""An engine that plays made-up trajectories through a controller, as one that samples does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distrivote import Trajectory
from distrivote.engines.base import BaseEngine, Job, Watch
from distrivote.steering import ENDED, Controller, End


class Steered(BaseEngine):
    """Plays trajectories of four steps through the controller, as an engine that samples does.

    The even ones are sure and say 4, the odd ones unsure and say 5.
    """

    name = model = "steered"

    def __init__(self) -> None:
        self.n_tokens = 0

    def sample_job(
        self,
        job: Job,
        controller: Controller | None,
        watch: Watch | None,  # noqa: ARG002
    ) -> Iterator[Trajectory]:
        for index in job.indices:
            yield self._trajectory(index, controller)

    def _trajectory(self, index: int, controller: Controller | None) -> Trajectory:
        level, answer = (9.0 + index % 4 / 10, "4") if index % 2 == 0 else (5.0 + index % 4 / 10, "5")
        texts = ["so\n\n", "it\n\n", "is\n\n", f"\\boxed{{{answer}}}"]
        stream = None if controller is None else controller.start()
        tokens: list[str] = []
        reason = "stop"
        for text in texts:
            tokens.append(text)
            if stream is not None and isinstance(stream.push(text, level), End):
                reason = ENDED
                break
        self.n_tokens += len(tokens)
        return Trajectory(
            "".join(tokens),
            tuple(tokens),
            np.full((len(tokens), 20), -level),
            np.zeros(len(tokens)),
            reason,
            index,
            None if stream is None else stream.record(),
        )
