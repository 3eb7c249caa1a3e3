"""What some engines can do besides sampling, each a protocol of its own.

A caller asks by `isinstance`, and does without where an engine lacks the ability.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol, runtime_checkable

from distrivote.engines.base import Engine, SamplingParams, Watch
from distrivote.problem import Message
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


@runtime_checkable
class AsyncEngine(Protocol):
    """An engine that can also sample in the event loop of its caller, without a thread of its own."""

    def asample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> AsyncGenerator[Trajectory]:
        """Yield n trajectories as they finish; `aclose()` cancels the rest. Calls may overlap."""
        ...


@runtime_checkable
class ChoosyEngine(Protocol):
    """An engine that does not support every controller, and can check one."""

    def can_steer(self, controller: Controller) -> bool:
        """Return whether the engine supports a controller; may take a few requests."""
        ...


@runtime_checkable
class EmbeddingEngine(Protocol):
    """An engine that can make embeddings of texts."""

    def embed(self, texts: Sequence[str], model: str | None = None) -> list[list[float]]:
        """Return a vector for each text, by the named model or else by the one that is sampled from."""
        ...


class NextTokens(NamedTuple):
    """The tokens that a model would begin its reply with."""

    entries: tuple[tuple[str, float], ...]
    """The text and the log-probability of each, the most probable ones."""

    n_tokens: int
    """How many tokens it took, with those of the prompt; 0 if unknown."""


@runtime_checkable
class NextTokenEngine(Protocol):
    """An engine that can tell the most probable first tokens of a reply."""

    def next_tokens(self, prompts: Sequence[Sequence[Message]]) -> Generator[tuple[int, NextTokens]]:
        """Yield the number of each prompt and its tokens, in any order."""
        ...


@runtime_checkable
class Upstream(Protocol):
    """An engine in front of a server, which may have other models and to which requests can be forwarded."""

    @property
    def model(self) -> str: ...

    def for_model(self, model: str) -> Engine:
        """Return the engine for another model of the server, which is closed with this one."""
        ...

    async def models(self) -> list[str]:
        """Return the names of the server's models; none if it does not list them."""
        ...

    async def unready(self) -> str | None:
        """Return why the server would not answer now, None if it would."""
        ...

    def forward(self, path: str, content: bytes) -> AbstractAsyncContextManager[ForwardedReply]:
        """Forward a request unchanged to a path after /v1/."""
        ...


class ForwardedReply(Protocol):
    """The reply to a forwarded request."""

    @property
    def status(self) -> int: ...

    @property
    def content_type(self) -> str: ...

    @property
    def n_tokens(self) -> int:
        """From the reply's usage; 0 before it has arrived, or if the reply has none."""
        ...

    @property
    def n_prompt_tokens(self) -> int: ...

    def parts(self) -> AsyncIterator[bytes]:
        """Yield its bytes as they arrive."""
        ...


def carried_out(engine: Engine, controller: Controller | None) -> Controller | None:
    """Return the controller that will steer: None if it is optional and the engine does not support it."""
    if controller is None or not controller.optional or not isinstance(engine, ChoosyEngine):
        return controller
    return controller if engine.can_steer(controller) else None
