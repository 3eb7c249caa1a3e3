"""Spans of OpenTelemetry, one per request, if its API is installed; without it nothing is imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.types import Scope

if TYPE_CHECKING:
    from distrivote.server.record import RequestRecord


def _is_installed() -> bool:
    # Other packages install modules under the name opentelemetry, so the name alone proves nothing.
    return find_spec("opentelemetry") is not None and find_spec("opentelemetry.trace") is not None


class Tracing:
    """Creates spans with the process's configured tracer."""

    def __init__(self) -> None:
        self._tracer: Any = None
        if _is_installed():
            from opentelemetry import trace

            self._tracer = trace.get_tracer("distrivote.server")

    @contextmanager
    def span(self, scope: Scope, record: RequestRecord) -> Iterator[None]:
        """Trace a request that is counted; it continues the trace that its headers name."""
        if self._tracer is None or not record.endpoint:
            yield
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, StatusCode

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        span = self._tracer.start_span(
            f"{scope['method']} {scope['path']}", context=extract(headers), kind=SpanKind.SERVER
        )
        try:
            yield
        except BaseException:
            record.status = record.status or 500
            raise
        finally:
            for name, value in _attributes(record).items():
                span.set_attribute(name, value)
            if record.status >= 500:
                span.set_status(StatusCode.ERROR)
            span.end()


def _attributes(record: RequestRecord) -> dict[str, str | int | bool]:
    """Return the attributes of a span: by the conventions for HTTP and generative models, and our own."""
    found: dict[str, str | int | bool] = {
        "gen_ai.operation.name": record.endpoint,
        "gen_ai.usage.output_tokens": record.n_tokens,
        "gen_ai.usage.input_tokens": record.n_prompt_tokens,
        "http.response.status_code": record.status,
        "distrivote.voted": record.voted,
    }
    if record.model:
        found["gen_ai.request.model"] = record.model
    if record.method and record.budget is not None:
        found |= {"distrivote.method": record.method, "distrivote.budget": record.budget}
    return found
