"""An engine that stops at a number of tokens, over all of its calls.

What has finished before is delivered; then a SpentError ends the call, and every later one. Tokens of
unfinished trajectories count too, as far as the engine counts them while it samples, and so do those of
replies that are forwarded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from typing import Any

from distrivote.engines.abilities import AsyncEngine, ChoosyEngine, EmbeddingEngine, Upstream
from distrivote.engines.base import Engine, Job, Progress, Sampled, SamplingParams, Watch
from distrivote.errors import EngineError, SpentError
from distrivote.nouns import count
from distrivote.problem import Message
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


def limited(engine: Engine, max_tokens: int) -> LimitedEngine:
    """Return an engine that samples at most about this number of tokens; it closes the wrapped one."""
    return _limited(engine, Spending(max_tokens))


def _limited(engine: Engine, spending: Spending) -> LimitedEngine:
    if isinstance(engine, Upstream):
        return LimitedUpstream(engine, spending)
    return (LimitedAsyncEngine if isinstance(engine, AsyncEngine) else LimitedEngine)(engine, spending)


class Spending:
    """The tokens of all calls of an engine, and of its siblings for other models."""

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._n_before = 0
        self._calls: list[_Call] = []

    @property
    def n_tokens(self) -> int:
        return self._n_before + sum(call.n_tokens for call in self._calls)

    def check(self) -> None:
        """Raise SpentError if the limit is reached."""
        if self.n_tokens >= self._max_tokens:
            raise SpentError(
                f"the limit of {count(self._max_tokens, 'token')} is reached",
                hint="raise `max_cost`",
                argument="max_cost",
            )

    def add(self, n_tokens: int) -> None:
        self._n_before += n_tokens

    def begin(self, call: _Call) -> None:
        self.check()
        self._calls.append(call)

    def end(self, call: _Call) -> None:
        self._calls.remove(call)
        self.add(call.n_tokens)


class LimitedEngine:
    """Counts what another engine samples, and ends at a limit."""

    def __init__(self, engine: Engine, spending: Spending) -> None:
        self._engine, self._spending = engine, spending

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
        return self._spending.n_tokens

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
        with _Call(self._spending, watch) as call:
            samples = self._engine.sample(messages, n, params, controller, indices=indices, watch=call.watch)
            with closing(samples):
                for trajectory in samples:
                    yield call.counted(trajectory, trajectory)
                    self._spending.check()

    def sample_all(
        self, jobs: Sequence[Job], controller: Controller | None = None, *, watch: Watch | None = None
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish, or fewer and a SpentError."""
        with (
            _Call(self._spending, watch) as call,
            closing(self._engine.sample_all(jobs, controller, watch=call.watch)) as samples,
        ):
            for sampled in samples:
                yield call.counted(sampled, sampled.trajectory)
                self._spending.check()

    def close(self) -> None:
        self._engine.close()


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
        with _Call(self._spending, watch) as call:
            samples = self._engine.asample(messages, n, params, controller, indices=indices, watch=call.watch)
            async with aclosing(samples):
                async for trajectory in samples:
                    yield call.counted(trajectory, trajectory)
                    self._spending.check()


class LimitedUpstream(LimitedAsyncEngine):
    """The same for an engine with an upstream: what is forwarded counts as well."""

    @property
    def _upstream(self) -> Upstream:
        assert isinstance(self._engine, Upstream)
        return self._engine

    def for_model(self, model: str) -> LimitedEngine:
        return _limited(self._upstream.for_model(model), self._spending)

    def embed(self, texts: Sequence[str], model: str | None = None) -> list[list[float]]:
        """Return a vector for each text, or raise a SpentError; only tokens that are sampled count."""
        self._spending.check()
        if not isinstance(self._engine, EmbeddingEngine):
            raise EngineError("this engine makes no embeddings")
        return self._engine.embed(texts, model)

    async def models(self) -> list[str]:
        return await self._upstream.models()

    async def unready(self) -> str | None:
        return await self._upstream.unready()

    @asynccontextmanager
    async def forward(self, path: str, content: bytes) -> AsyncIterator[Any]:
        """Forward a request unchanged, or raise a SpentError."""
        self._spending.check()
        async with self._upstream.forward(path, content) as reply:
            try:
                yield reply
            finally:
                self._spending.add(reply.n_tokens)


class _Call:
    """One call, and what it has sampled so far."""

    def __init__(self, spending: Spending, watch: Callable[[Progress], None] | None) -> None:
        self._spending, self._watch = spending, watch
        self._n_seen = self._n_finished = 0

    @property
    def n_tokens(self) -> int:
        # Servers without log-probabilities tell how many there were at the end of each reply.
        return max(self._n_seen, self._n_finished)

    def watch(self, progress: Progress) -> None:
        self._n_seen = progress.n_tokens
        self._spending.check()
        if self._watch is not None:
            self._watch(progress)

    def counted(self, item: Any, trajectory: Trajectory) -> Any:
        self._n_finished += trajectory.n_tokens
        return item

    def __enter__(self) -> _Call:
        self._spending.begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._spending.end(self)
