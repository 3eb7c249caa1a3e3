"""From a question to a reply in OpenAI's words, whole or streamed; what chat and completions share.

A stream begins with progress: chunks like any other, with nothing in them and a `distrivote` object beside,
so that a client which knows nothing of it adds up empty texts. Then comes the text, cut into pieces, and
with its end the vote.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from typing import Any, NamedTuple, Protocol

from starlette.requests import Request
from starlette.responses import Response

from distrivote.errors import DistrivoteError
from distrivote.report.documents import solution_document, trajectory_documents
from distrivote.report.documents.fields import SolutionDocument, TrajectoryDocument
from distrivote.server.asking import TICK, Answered, Begun, Moved, Queued, ask
from distrivote.server.errors import failure_of, json_reply
from distrivote.server.gate import Gate, Lane
from distrivote.server.metrics import Metrics
from distrivote.server.questions import House, Question
from distrivote.server.streaming import ClientGone, EventStream, event, unless_gone
from distrivote.voting.abstaining import withheld_sentence

_PIECE = 256
"""Characters of a streamed piece of text."""

GONE = 499
"""What metrics count a request by whose client went away."""


class Service(NamedTuple):
    """What all requests share."""

    house: House
    gate: Gate
    lane: Lane
    metrics: Metrics


class Shape(Protocol):
    """How one endpoint dresses a text."""

    @property
    def endpoint(self) -> str: ...

    @property
    def prefix(self) -> str:
        """Of the ids."""

    @property
    def whole(self) -> str:
        """What kind of object a reply is."""

    @property
    def part(self) -> str:
        """What kind of object a chunk is."""

    def choice(self, text: str, finish_reason: str) -> dict[str, Any]: ...

    def piece(self, text: str | None, finish_reason: str | None, *, first: bool) -> dict[str, Any]: ...


async def reply(service: Service, request: Request, question: Question, shape: Shape) -> Response:
    """Answer a request with one document."""
    try:
        with service.gate.inside():
            answered = await unless_gone(request, _answered(service, question))
    except ClientGone:
        service.metrics.answered(shape.endpoint, GONE)
        return Response(status_code=GONE)
    except DistrivoteError as error:
        service.metrics.answered(shape.endpoint, failure_of(error).status)
        raise
    service.metrics.voted(answered)
    service.metrics.answered(shape.endpoint, 200)
    best = _best(answered)
    document = _head(question, shape, shape.whole) | {
        "choices": [shape.choice(best.text, best.finish_reason)],
        "usage": _usage(answered),
        "distrivote": answered_document(answered, _trajectories(answered, question)),
    }
    return json_reply(document)


async def _answered(service: Service, question: Question) -> Answered:
    asked = ask(service.house.engine, service.lane, question, question.poll(), watched=False)
    async with aclosing(asked) as happenings:
        async for happening in happenings:
            if isinstance(happening, Answered):
                return happening
    raise AssertionError("a question ends with an outcome or an error")


def stream(service: Service, question: Question, shape: Shape, include_usage: bool) -> EventStream:
    """Answer a request in chunks."""
    held = held_gate(service, shape.endpoint)
    return EventStream(_chunks(service, question, shape, include_usage), held)


def held_gate(service: Service, endpoint: str) -> ExitStack:
    """Enter the gate for as long as the stack is open; one who is sent away is counted too."""
    held = ExitStack()
    try:
        held.enter_context(service.gate.inside())
    except DistrivoteError as error:
        service.metrics.answered(endpoint, failure_of(error).status)
        raise
    return held


async def _chunks(
    service: Service, question: Question, shape: Shape, include_usage: bool
) -> AsyncGenerator[bytes]:
    head = _head(question, shape, shape.part)
    status = GONE
    try:
        async with aclosing(_progress(service, question)) as happenings:
            yield event(head | {"choices": [shape.piece("", None, first=True)]})
            nothing = [shape.piece(None, None, first=False)]
            async for happening in happenings:
                if not isinstance(happening, Answered):
                    yield event(head | {"choices": nothing, "distrivote": happening})
                    continue
                for choice, beside in _pieces(happening, question, shape):
                    yield event(head | {"choices": [choice]} | beside)
                if include_usage:
                    yield event(head | {"choices": [], "usage": _usage(happening)})
        status = 200
        yield b"data: [DONE]\n\n"
    except DistrivoteError as error:
        failure = failure_of(error)
        status = failure.status
        yield event(failure.body)
    except Exception as error:
        status = 500
        yield event(failure_of(error).body)
        raise
    finally:
        service.metrics.answered(shape.endpoint, status)


async def _progress(service: Service, question: Question) -> AsyncGenerator[dict[str, Any] | Answered]:
    """Yield what a client may want to show meanwhile, a few times a second, and the outcome."""
    n_done, shown = 0, 0.0
    async with aclosing(ask(service.house.engine, service.lane, question, question.poll())) as happenings:
        async for happening in happenings:
            if isinstance(happening, Answered):
                service.metrics.voted(happening)
                yield happening
            elif isinstance(happening, Queued):
                yield {"event": "queued", "n_before": happening.n_before}
            elif isinstance(happening, Begun):
                yield {"event": "started", "budget": question.budget, "method": question.method.name}
            elif isinstance(happening, Moved):
                yield {"event": "progress", "n_done": n_done, "budget": question.budget} | {
                    "n_tokens": happening.progress.n_tokens,
                    "n_reflections": happening.progress.n_reflections,
                }
            else:
                n_done += 1
                if time.monotonic() - shown >= TICK:
                    shown = time.monotonic()
                    yield {"event": "progress", "n_done": n_done, "budget": question.budget}


def _pieces(
    answered: Answered, question: Question, shape: Shape
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the choices of the chunks that hold the text, each with what stands beside it."""
    best = _best(answered)
    cuts = range(0, len(best.text), _PIECE)
    pieces: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (shape.piece(best.text[at : at + _PIECE], None, first=False), {}) for at in cuts
    ]
    vote = answered_document(answered, _trajectories(answered, question))
    last = shape.piece(None, best.finish_reason, first=False)
    return [*pieces, (last, {"distrivote": {"event": "vote", **vote}})]


def answered_document(
    answered: Answered, trajectories: list[TrajectoryDocument] | None = None
) -> SolutionDocument:
    """Return the `distrivote` object of a reply, which is also the last event of the page."""
    return solution_document(
        answered.solution, answered.seconds, n_tokens=answered.n_tokens, trajectories=trajectories
    )


def _trajectories(answered: Answered, question: Question) -> list[TrajectoryDocument] | None:
    if not question.return_trajectories:
        return None
    return trajectory_documents(answered.solution, question.steering)


class _Best(NamedTuple):
    text: str
    finish_reason: str


def _best(answered: Answered) -> _Best:
    solution = answered.solution
    reason = withheld_sentence(solution.tally, solution.min_probability)
    if reason is not None:
        return _Best(reason, "stop")
    best = solution.best
    assert best is not None  # there is an answer
    return _Best(best.text, "length" if best.finish_reason == "length" else "stop")


def _usage(answered: Answered) -> dict[str, int]:
    n_prompt = answered.solution.n_prompt_tokens
    return {
        "prompt_tokens": n_prompt,
        "completion_tokens": answered.n_tokens,
        "total_tokens": n_prompt + answered.n_tokens,
    }


def _head(question: Question, shape: Shape, kind: str) -> dict[str, Any]:
    return {
        "id": f"{shape.prefix}-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": question.model,
    }
