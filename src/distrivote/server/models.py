"""The models of the server: the default one, and all others that an upstream has.

Every model is served by its name and as METHOD@BUDGET/MODEL. The upstream's list is cached for a minute.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import NamedTuple

from distrivote.defaults import METHOD
from distrivote.engines.abilities import Upstream
from distrivote.engines.base import Engine
from distrivote.server.errors import UnknownModelError

_NAMED = re.compile(r"(?P<method>[^/@]+)@(?P<budget>\d{1,9})/(?P<model>.+)", re.DOTALL | re.ASCII)

BUDGETS = (8, 16, 32, 128)
"""Budgets that appear in the list of models."""

USUAL = 16
"""The only budget that is listed for models other than the default."""

_KEPT_SECONDS = 60.0
_SHORTEST_SECONDS = 2.0
"""Age of the cached list after which an unknown name makes the server ask the upstream again."""

_MOST_NAMED = 8


class NamedModel(NamedTuple):
    """A model's name, with the method and the budget before it."""

    method: str | None
    budget: int | None
    model: str


def parse_model(name: str, known: list[str], *, lists_all: bool = True) -> NamedModel:
    """Parse a model name: MODEL or METHOD@BUDGET/MODEL.

    Args:
        name: The name.
        known: The models that there are.
        lists_all: Whether there are no others; if not, any name is accepted.

    >>> parse_model("dis-gmm@16/Qwen/Qwen3-8B", ["Qwen/Qwen3-8B"])
    NamedModel(method='dis-gmm', budget=16, model='Qwen/Qwen3-8B')
    """
    if name in known:
        return NamedModel(None, None, name)
    match = _NAMED.fullmatch(name)
    if match is not None and (match["model"] in known or not lists_all):
        return NamedModel(match["method"], int(match["budget"]), match["model"])
    if not lists_all:
        return NamedModel(None, None, name)
    listed = ", ".join(repr(each) for each in known[:_MOST_NAMED])
    more = f" and {len(known) - _MOST_NAMED} more (GET /v1/models)" if len(known) > _MOST_NAMED else ""
    raise UnknownModelError(
        f"there is no model {name[:200]!r} here: ask for {listed}{more}, or for METHOD@BUDGET/MODEL as in"
        f" 'dis-gmm@16/{known[0]}'"
    )


class Models:
    """The models of an engine and of its upstream."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._others: list[str] | None = None
        self._lists = False
        self._asked = 0.0
        self._asking = asyncio.Lock()

    @property
    def default(self) -> str:
        """The default model."""
        return self._engine.model

    async def names(self, max_age: float = _KEPT_SECONDS) -> list[str]:
        """Return the names of all models, the default one first."""
        return [self.default, *await self._listed(max_age)]

    async def _listed(self, max_age: float) -> list[str]:
        """Return the other models of the upstream; empty without an upstream, or if it does not list them."""
        if not isinstance(self._engine, Upstream):
            return []
        async with self._asking:
            if self._others is None or time.monotonic() - self._asked > max_age:
                found = await self._engine.models()
                self._others = [name for name in dict.fromkeys(found) if name != self.default]
                self._lists = bool(found)
                self._asked = time.monotonic()
            return self._others

    async def named(self, name: str) -> NamedModel:
        """Return which model a request means; UnknownModelError if there is no such model."""
        try:
            return parse_model(name, [self.default])
        except UnknownModelError:
            if not isinstance(self._engine, Upstream):
                raise
        try:
            return parse_model(name, await self.names(), lists_all=self._lists)
        except UnknownModelError:
            return parse_model(name, await self.names(_SHORTEST_SECONDS), lists_all=self._lists)

    def knows(self, model: str) -> bool:
        """Return whether a model is the default one or was listed."""
        return model == self.default or model in (self._others or ())

    def engine(self, model: str) -> Engine:
        """Return the engine that samples from a model."""
        if isinstance(self._engine, Upstream) and model != self.default:
            return self._engine.for_model(model)
        return self._engine

    async def listed_names(self, method: str, max_budget: int) -> list[str]:
        """Return the names for the list of models: each plain, and with methods and budgets as prefixes."""
        default, *others = await self.names()
        votes = [f"{method}@{n}" for n in BUDGETS if n <= max_budget]
        usual = [f"{each}@{USUAL}" for each in dict.fromkeys((method, METHOD)) if max_budget >= USUAL]
        found = [default, *(f"{vote}/{default}" for vote in dict.fromkeys((*votes, *usual)))]
        return found + [name for other in others for name in (other, *(f"{vote}/{other}" for vote in usual))]
