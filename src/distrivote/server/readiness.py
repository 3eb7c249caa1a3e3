"""`GET /ready`: whether the upstream would answer, checked at most once every few seconds."""

from __future__ import annotations

import asyncio
import time

from distrivote.engines.abilities import Upstream
from distrivote.engines.base import Engine

_KEPT_SECONDS = 3.0


class Readiness:
    """Asks the upstream for its list of models, which samples nothing; an engine in this process is ready."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._why: str | None = None
        self._asked: float | None = None
        self._asking = asyncio.Lock()

    async def why_not(self) -> str | None:
        """Return why questions can't be answered now, None if they can."""
        if not isinstance(self._engine, Upstream):
            return None
        async with self._asking:
            if self._asked is None or time.monotonic() - self._asked > _KEPT_SECONDS:
                self._why = await self._engine.unready()
                self._asked = time.monotonic()
            return self._why
