"""From a question to a reply in OpenAI's format, as one document or streamed; shared by OpenAI's endpoints.

A stream begins with progress, in events of a type that the endpoint has anyway and with a `distrivote` object
in them, so that other clients can ignore it. Then comes the text, in pieces, and at
its end the vote. How an endpoint writes all that is its `Shape`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, aclosing
from typing import Any, NamedTuple, Protocol

from starlette.requests import Request
from starlette.responses import Response

from distrivote.answers.extract import thinking_of
from distrivote.answers.structured.tools import Call, calls_from, without_calls
from distrivote.errors import DistrivoteError
from distrivote.report.documents import solution_document, trajectory_documents
from distrivote.report.documents.fields import SolutionDocument
from distrivote.server.asking import TICK, Answered, Begun, Moved, Queued, ask
from distrivote.server.errors import Failure, failure_of, json_reply
from distrivote.server.limits import EngineQueue, RequestLimit
from distrivote.server.metrics import Metrics
from distrivote.server.models import Models
from distrivote.server.questions import Backend, Question
from distrivote.server.record import GONE, RequestRecord, record_of
from distrivote.server.streaming import ClientGone, EventStream, unless_gone
from distrivote.trajectory import CUT_OFF
from distrivote.voting.abstaining import withheld_sentence

PIECE = 256
"""Characters of a streamed piece of text."""

TOOL = "tool"
"""The kind of answer whose replies are tool calls."""


class Service(NamedTuple):
    """What all requests share."""

    backend: Backend
    models: Models
    limit: RequestLimit
    queue: EngineQueue
    metrics: Metrics

    def backend_for(self, model: str) -> Backend:
        """Return the backend with the engine of a model."""
        return self.backend._replace(engine=self.models.engine(model))


class Best(NamedTuple):
    """The parts of a vote that the reply shows."""

    text: str
    """The text without thinking and tool calls."""

    finish_reason: str
    reasoning: str = ""
    calls: tuple[Call, ...] = ()

    @property
    def pieces(self) -> list[str]:
        """The text in the pieces that are streamed."""
        return pieces_of(self.text)


class Shape(Protocol):
    """How one endpoint writes the reply to one request."""

    def whole(self, answered: Answered) -> dict[str, Any]:
        """Return the reply as one document."""

    def opening(self) -> Iterator[bytes]:
        """Yield the first events of a stream."""

    def progress(self, update: dict[str, Any]) -> bytes:
        """Return a progress event."""

    def outcome(self, answered: Answered) -> Iterator[bytes]:
        """Yield the events with the text and the vote, up to the end of the stream."""

    def failure(self, failure: Failure) -> bytes:
        """Return the event for an error that ends the stream."""


async def reply(
    service: Service, request: Request, question: Question, shape: Shape, *, streams: bool
) -> Response:
    """Answer a request with a vote: one document, or a stream of events."""
    record = record_of(request)
    if streams:
        held = ExitStack()
        held.enter_context(service.limit.slot())
        return EventStream(_events(service, question, shape, record), held)
    try:
        with service.limit.slot():
            answered = await unless_gone(request, _answered(service, question, record))
    except ClientGone:
        record.status = GONE
        return Response(status_code=GONE)
    service.metrics.voted(answered)
    return json_reply(shape.whole(answered))


async def _answered(service: Service, question: Question, record: RequestRecord) -> Answered:
    asked = ask(service.queue, question, question.poll(), record, watched=False)
    async with aclosing(asked) as updates:
        async for update in updates:
            if isinstance(update, Answered):
                return update
    raise AssertionError("a question ends with an outcome or an error")


async def _events(
    service: Service, question: Question, shape: Shape, record: RequestRecord
) -> AsyncGenerator[bytes]:
    record.status = GONE
    try:
        async with aclosing(_progress(service, question, record)) as updates:
            for each in shape.opening():
                yield each
            async for update in updates:
                if not isinstance(update, Answered):
                    yield shape.progress(update)
                    continue
                for each in shape.outcome(update):
                    yield each
        record.status = 200
    except DistrivoteError as error:
        failure = failure_of(error)
        record.status = failure.status
        yield shape.failure(failure)
    except Exception as error:
        record.status = 500
        yield shape.failure(failure_of(error))
        raise


async def _progress(
    service: Service, question: Question, record: RequestRecord
) -> AsyncGenerator[dict[str, Any] | Answered]:
    """Yield updates for display, a few times a second, and finally the outcome."""
    n_done, shown = 0, 0.0
    async with aclosing(ask(service.queue, question, question.poll(), record)) as updates:
        async for update in updates:
            if isinstance(update, Answered):
                service.metrics.voted(update)
                yield update
            elif isinstance(update, Queued):
                yield {"event": "queued", "n_before": update.n_before}
            elif isinstance(update, Begun):
                yield {"event": "started", "budget": question.budget, "method": question.method.name}
            elif isinstance(update, Moved):
                yield {"event": "progress", "n_done": n_done, "budget": question.budget} | {
                    "n_tokens": update.progress.n_tokens,
                    "n_reflections": update.progress.n_reflections,
                }
            else:
                n_done += 1
                if time.monotonic() - shown >= TICK:
                    shown = time.monotonic()
                    yield {"event": "progress", "n_done": n_done, "budget": question.budget}


def answered_document(answered: Answered, question: Question) -> SolutionDocument:
    """Return the `distrivote` object of a reply, which is also the last event of the page."""
    trajectories = None
    if question.return_trajectories:
        trajectories = trajectory_documents(answered.solution, question.steering)
    return solution_document(
        answered.solution, answered.seconds, n_tokens=answered.n_tokens, trajectories=trajectories
    )


def pieces_of(text: str) -> list[str]:
    """Return a text in the pieces that are streamed."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def best_of(answered: Answered) -> Best:
    """Return what the reply shows of a vote: the best reply, or why the answer is withheld."""
    solution = answered.solution
    reason = withheld_sentence(solution.tally, solution.min_probability)
    if reason is not None:
        return Best(reason, "stop")
    best = solution.best
    assert best is not None  # a question without any trajectory is an error
    finish = CUT_OFF if best.finish_reason == CUT_OFF else "stop"
    reasoning = thinking_of(best.text)
    if solution.kind.name == TOOL and solution.answer is not None:
        calls = calls_from(str(solution.answer))
        return Best(without_calls(solution.reply), "tool_calls", reasoning, calls)
    return Best(solution.reply, finish, reasoning)
