"""A real server on loopback for tests: uvicorn in a thread, an engine that plays trajectories back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import uvicorn

from distrivote import Trajectory
from distrivote.engines.base import Engine, Job, Progress, Sampled, SamplingParams, in_turn
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import EngineError
from distrivote.problem import Message
from distrivote.server.app import create_app
from distrivote.server.settings import Settings
from distrivote.steering import Controller


def reply(answer: str | None, confidence: float, text: str = "Let me see.") -> Trajectory:
    """Return a trajectory of two steps whose last has this confidence."""
    last = "I do not know what\n\nto say." if answer is None else f"It is \\boxed{{{answer}}}."
    tokens = (f"{text}\n\n", last)
    top = np.full((2, 20), -5.0)
    top[1] = -confidence
    return Trajectory("".join(tokens), tokens, top, np.array([-0.5, -0.5]), "stop", n_prompt_tokens=9)


POOL = [reply("12", 10.0 + i / 10) for i in range(8)] + [reply("35", 7.0 + i / 10) for i in range(10)]
POOL += [reply(None, 3.0)] * 2


class SlowEngine:
    """Samples one trajectory after the other, slowly, one call at a time; it may fail on the way."""

    name = "slow"
    model = "slow"

    def __init__(
        self, pool: Sequence[Trajectory], *, fails_after: int | None = None, mixes: bool = True
    ) -> None:
        self.concurrent = mixes
        self._replay = ReplayEngine(pool, "slow")
        self._fails_after = fails_after
        self.pause = 0.0
        self.n_live = 0
        self.n_overlaps = 0
        self.ended = threading.Event()
        """Set when a call is over, however it ended."""

    def sample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> Generator[Trajectory]:
        self.n_overlaps += self.n_live > 0
        self.n_live += 1
        try:
            samples = self._replay.sample(messages, n, params, controller, indices=indices, watch=watch)
            for done, trajectory in enumerate(samples):
                if done == self._fails_after:
                    raise EngineError("the model is gone: start it again", retryable=True)
                began = time.monotonic()
                while time.monotonic() - began < self.pause:
                    time.sleep(0.01)
                    if watch is not None:
                        watch(Progress(2 * done, 1, 0))
                yield trajectory
        finally:
            self.n_live -= 1
            self.ended.set()

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


@contextmanager
def serving(engine: Engine, settings: Settings | None = None, method: str = "dis-gmm") -> Iterator[str]:
    """Serve an engine while the block runs; gives the address."""
    config = uvicorn.Config(
        create_app(engine, method, settings or Settings(budget=20)),
        port=0,
        log_level="error",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
