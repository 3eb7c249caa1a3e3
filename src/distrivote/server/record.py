"""One record per request: what it asked for, what it cost and how it ended; never its content.

`Records` is the outermost layer of the application. It makes the record, which the rest of the server fills,
and at the end writes the log line, counts the request in the metrics and closes its span.
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from distrivote.server.metrics import Metrics
from distrivote.server.tracing import Tracing

LOG = logging.getLogger("distrivote.server")

GONE = 499
"""The status of a request whose client disconnected."""

_KEY = "distrivote.record"
_UNSAFE = re.compile(r"[^!-~]|[\"=]")
_LONGEST_NAME = 120


@dataclass(slots=True)
class RequestRecord:
    """The facts of a request, complete at its end."""

    endpoint: str
    """Its endpoint in the metrics; empty: not counted."""

    model: str = ""
    """The model's name if there is such a model, else "unlisted": a client may send any text."""

    method: str | None = None
    budget: int | None = None
    voted: bool = False
    forwarded: bool = False
    n_tokens: int = 0
    """Tokens sampled for it, including those of failed and cancelled requests."""

    n_prompt_tokens: int = 0
    """Prompt tokens of all trajectories."""

    status: int = 0
    """The status of the reply, or of the error that ended its stream."""

    begun: float = field(default_factory=time.monotonic)

    @property
    def outcome(self) -> str:
        """Its outcome, by which its tokens are counted: voted, forwarded, cancelled or failed."""
        if self.status == GONE:
            return "cancelled"
        if self.forwarded:
            return "forwarded"
        return "voted" if self.voted else "failed"

    def fields(self, seconds: float) -> dict[str, str]:
        """Return the fields of the log line."""
        known = {"status": str(self.status)}
        if self.model:
            known["model"] = _UNSAFE.sub("?", self.model[:_LONGEST_NAME])
        if self.method:
            known |= {"method": self.method, "budget": str(self.budget)}
        if self.model:
            known |= {"voted": str(self.voted).lower(), "tokens": str(self.n_tokens)}
        return known | {"seconds": f"{seconds:.3f}"}


def record_of(request: Request) -> RequestRecord:
    """Return the record of a request."""
    record = request.scope[_KEY]
    assert isinstance(record, RequestRecord)
    return record


class Records:
    """Logs, counts and traces every request."""

    def __init__(self, app: ASGIApp, metrics: Metrics, endpoints: dict[str, str]) -> None:
        """Wrap an application; `endpoints` are the counted paths with their names in the metrics."""
        self._app, self._metrics, self._endpoints = app, metrics, endpoints
        self._tracing = Tracing()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_counted = scope["method"] == "POST"
        record = RequestRecord(self._endpoints.get(scope["path"], "") if is_counted else "")
        scope[_KEY] = record

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = record.status or message["status"]
            await send(message)

        try:
            with self._tracing.span(scope, record):
                await self._app(scope, receive, noted)
        except Exception:
            record.status = 500
            raise
        finally:
            record.status = record.status or GONE
            seconds = time.monotonic() - record.begun
            if record.endpoint:
                self._metrics.ended(record)
            level = logging.INFO if record.endpoint else logging.DEBUG
            if LOG.isEnabledFor(level):
                words = " ".join(f"{name}={value}" for name, value in record.fields(seconds).items())
                path = _UNSAFE.sub("?", scope["path"][:_LONGEST_NAME])
                LOG.log(level, "%s %s %s", scope["method"], path, words)
