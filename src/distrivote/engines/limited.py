"""An engine that stops at a number of tokens, over all of its calls.

What has finished before is delivered; then a SpentError ends the call, and every later one. Tokens of
trajectories under way count too, as far as the engine counts them while it samples.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, closing
from typing import Any

from distrivote.engines.base import (
    AsyncEngine,
    ChoosyEngine,
    Engine,
    Job,
    Progress,
    Sampled,
    SamplingParams,
    Watch,
)
from distrivote.errors import SpentError
from distrivote.nouns import count
from distrivote.problem import Message
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


def limited(engine: Engine, max_tokens: int) -> LimitedEngine:
    """Return an engine that samples about so many tokens at most; closing it closes the other."""
    kind = LimitedAsyncEngine if isinstance(engine, AsyncEngine) else LimitedEngine
    return kind(engine, max_tokens)


class LimitedEngine:
    """Counts what another engine samples, and ends at a limit."""

    def __init__(self, engine: Engine, max_tokens: int) -> None:
        self._engine, self._max_tokens = engine, max_tokens
        self._n_before = 0
        self._calls: list[_Call] = []

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def model(self) -> str:
        return self._engine.model

    @property
    def concurrent(self) -> bool:
        return self._engine.concurrent

    @property
    def n_spent(self) -> int:
        """How many tokens have been sampled."""
        return self._n_before + sum(call.n_tokens for call in self._calls)

    def check(self) -> None:
        """Raise SpentError if the limit is reached."""
        if self.n_spent >= self._max_tokens:
            raise SpentError(
                f"the limit of {count(self._max_tokens, 'token')} is reached",
                hint="raise `max_cost`",
                argument="max_cost",
            )

    def can_steer(self, controller: Controller) -> bool:
        return not isinstance(self._engine, ChoosyEngine) or self._engine.can_steer(controller)

    def sample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> Generator[Trajectory]:
        """Yield n trajectories as they finish, or fewer and a SpentError."""
        with _Call(self, watch) as call:
            samples = self._engine.sample(messages, n, params, controller, indices=indices, watch=call.watch)
            with closing(samples):
                for trajectory in samples:
                    yield call.counted(trajectory, trajectory)
                    self.check()

    def sample_all(
        self, jobs: Sequence[Job], controller: Controller | None = None, *, watch: Watch | None = None
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish, or fewer and a SpentError."""
        with (
            _Call(self, watch) as call,
            closing(self._engine.sample_all(jobs, controller, watch=call.watch)) as samples,
        ):
            for sampled in samples:
                yield call.counted(sampled, sampled.trajectory)
                self.check()

    def close(self) -> None:
        self._engine.close()

    def begin(self, call: _Call) -> None:
        self.check()
        self._calls.append(call)

    def end(self, call: _Call) -> None:
        self._calls.remove(call)
        self._n_before += call.n_tokens


class LimitedAsyncEngine(LimitedEngine):
    """The same for an engine that can sample in the event loop of its caller."""

    async def asample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> AsyncGenerator[Trajectory]:
        """Yield n trajectories as they finish, or fewer and a SpentError."""
        assert isinstance(self._engine, AsyncEngine)
        with _Call(self, watch) as call:
            samples = self._engine.asample(messages, n, params, controller, indices=indices, watch=call.watch)
            async with aclosing(samples):
                async for trajectory in samples:
                    yield call.counted(trajectory, trajectory)
                    self.check()


class _Call:
    """One call, and what it has sampled so far."""

    def __init__(self, engine: LimitedEngine, watch: Callable[[Progress], None] | None) -> None:
        self._engine, self._watch = engine, watch
        self._n_seen = self._n_finished = 0

    @property
    def n_tokens(self) -> int:
        # Servers without log-probabilities tell how many there were at the end of each reply.
        return max(self._n_seen, self._n_finished)

    def watch(self, progress: Progress) -> None:
        self._n_seen = progress.n_tokens
        self._engine.check()
        if self._watch is not None:
            self._watch(progress)

    def counted(self, item: Any, trajectory: Trajectory) -> Any:
        self._n_finished += trajectory.n_tokens
        return item

    def __enter__(self) -> _Call:
        self._engine.begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.end(self)
