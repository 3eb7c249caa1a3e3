"""An engine that is opened on first use: a run that is complete needs none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from distrivote.engines.base import Engine
from distrivote.engines.choice import EngineChoice, open_engine
from distrivote.engines.llamacpp.files import BUILT_IN


class DeferredEngine:
    """The choice of an engine, and the engine once it is open."""

    def __init__(
        self,
        choice: EngineChoice,
        *,
        say: Callable[[str], None] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.choice = choice
        self._say, self._note = say, note
        self._engine: Engine | None = None

    @property
    def name(self) -> str:
        return self.choice.engine

    @property
    def model(self) -> str:
        """The model's name; if none was given for a server, the server is asked."""
        if self.choice.model is None and self.choice.engine != "embedded":
            return self.opened.model
        return self.choice.model or BUILT_IN

    @property
    def request_settings(self) -> dict[str, Any]:
        """What is added to every request to a server, as a run records it."""
        return self.choice.request_settings()

    @property
    def opened(self) -> Engine:
        """The engine, opened on first access."""
        if self._engine is None:
            self._engine = open_engine(self.choice, say=self._say, note=self._note)
        return self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
