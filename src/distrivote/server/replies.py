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

from distrivote.answers.extract import thinking_of
from distrivote.answers.structured.tools import Call, calls_from, without_calls
from distrivote.errors import DistrivoteError
from distrivote.report.documents import solution_document, trajectory_documents
from distrivote.report.documents.fields import SolutionDocument, TrajectoryDocument
from distrivote.server.asking import TICK, Answered, Begun, Moved, Queued, ask
from distrivote.server.errors import failure_of, json_reply
from distrivote.server.limits import EngineQueue, RequestLimit
from distrivote.server.metrics import Metrics
from distrivote.server.questions import Backend, Question
from distrivote.server.streaming import ClientGone, EventStream, event, unless_gone
from distrivote.trajectory import CUT_OFF
from distrivote.voting.abstaining import withheld_sentence

_PIECE = 256
"""Characters of a streamed piece of text."""

TOOL = "tool"
"""The kind of answer whose replies are tool calls."""

GONE = 499
"""What metrics count a request by whose client went away."""


class Service(NamedTuple):
    """What all requests share."""

    backend: Backend
    limit: RequestLimit
    queue: EngineQueue
    metrics: Metrics


class Best(NamedTuple):
    """What is shown of a vote."""

    text: str
    """Without thinking and tool calls."""

    finish_reason: str
    reasoning: str = ""
    calls: tuple[Call, ...] = ()


class Shape(Protocol):
    """How one endpoint presents a reply."""

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

    def choice(self, best: Best) -> dict[str, Any]: ...

    def extras(self, best: Best) -> list[dict[str, Any]]:
        """Return the choices of chunks that hold what is not text."""

    def piece(self, text: str | None, finish_reason: str | None, *, first: bool) -> dict[str, Any]: ...


async def reply(service: Service, request: Request, question: Question, shape: Shape) -> Response:
    """Answer a request with one document."""
    try:
        with service.limit.slot():
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
        "choices": [shape.choice(best)],
        "usage": _usage(answered),
        "distrivote": answered_document(answered, _trajectories(answered, question)),
    }
    return json_reply(document)


async def _answered(service: Service, question: Question) -> Answered:
    asked = ask(service.backend.engine, service.queue, question, question.poll(), watched=False)
    async with aclosing(asked) as updates:
        async for update in updates:
            if isinstance(update, Answered):
                return update
    raise AssertionError("a question ends with an outcome or an error")


def stream(service: Service, question: Question, shape: Shape, include_usage: bool) -> EventStream:
    """Answer a request in chunks."""
    held = held_slot(service, shape.endpoint)
    return EventStream(_chunks(service, question, shape, include_usage), held)


def held_slot(service: Service, endpoint: str) -> ExitStack:
    """Return a stack that holds a request slot while it is open; a refusal is counted in the metrics."""
    held = ExitStack()
    try:
        held.enter_context(service.limit.slot())
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
        async with aclosing(_progress(service, question)) as updates:
            yield event(head | {"choices": [shape.piece("", None, first=True)]})
            nothing = [shape.piece(None, None, first=False)]
            async for update in updates:
                if not isinstance(update, Answered):
                    yield event(head | {"choices": nothing, "distrivote": update})
                    continue
                for choice, beside in _pieces(update, question, shape):
                    yield event(head | {"choices": [choice]} | beside)
                if include_usage:
                    yield event(head | {"choices": [], "usage": _usage(update)})
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
    async with aclosing(ask(service.backend.engine, service.queue, question, question.poll())) as updates:
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


def _pieces(
    answered: Answered, question: Question, shape: Shape
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the choices of the chunks that hold the text, each with what stands beside it."""
    best = _best(answered)
    cuts = range(0, len(best.text), _PIECE)
    pieces: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (shape.piece(best.text[at : at + _PIECE], None, first=False), {}) for at in cuts
    ]
    pieces += [(choice, {}) for choice in shape.extras(best)]
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


def _best(answered: Answered) -> Best:
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
