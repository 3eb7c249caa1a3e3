"""`POST /api/ask`: the page's question, answered by events that show the vote as it develops.

docs/server-events.md has the JSON of every event.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, aclosing
from typing import Any

from starlette.requests import Request

from distrivote.engines.base import Partial, Progress
from distrivote.errors import DistrivoteError
from distrivote.poll import Poll
from distrivote.report.documents import tally_document, trajectory_document
from distrivote.report.documents.fields import TallyDocument, TrajectoryDocument
from distrivote.server.asking import Begun, Moved, Queued, ask
from distrivote.server.errors import failure_of
from distrivote.server.questions import Question, question_of_page
from distrivote.server.record import GONE, RequestRecord, record_of
from distrivote.server.replies import Service, answered_document
from distrivote.server.schemas import AskRequest
from distrivote.server.streaming import EventStream, event
from distrivote.server.words import PAGE
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory

_BETWEEN_TALLIES = 0.25
"""Seconds."""


def answer_page(service: Service, request: Request, body: AskRequest) -> EventStream:
    """Answer the page's question with events."""
    record = record_of(request)
    record.model = service.backend.engine.model
    question = question_of_page(body, service.backend)
    held = ExitStack()
    held.enter_context(service.limit.slot())
    return EventStream(_events(service, question, record), held)


async def _events(service: Service, question: Question, record: RequestRecord) -> AsyncGenerator[bytes]:
    record.status = GONE
    try:
        async with aclosing(_updates(service, question, record)) as events:
            async for name, data in events:
                yield event(data, name)
        record.status = 200
    except DistrivoteError as error:
        failure = failure_of(error, PAGE)
        record.status = failure.status
        yield event(failure.body, "error")
    except Exception as error:
        record.status = 500
        yield event(failure_of(error, PAGE).body, "error")
        raise


async def _updates(
    service: Service, question: Question, record: RequestRecord
) -> AsyncGenerator[tuple[str, Mapping[str, Any]]]:
    poll = question.poll(eager=True)
    shown = _Shown()
    async with aclosing(ask(service.queue, question, poll, record)) as updates:
        async for update in updates:
            if isinstance(update, Queued):
                yield "queued", {"n_before": update.n_before}
            elif isinstance(update, Begun):
                yield "started", _started(service, question, poll)
            elif isinstance(update, Moved):
                yield "progress", _progress(update, question)
                if (more := shown.more_of(update.progress)) is not None:
                    yield "partial", more
                # After a burst no trajectory may arrive for minutes: a pending tally is sent now.
                if shown.is_behind:
                    yield "tally", await asyncio.to_thread(shown.tally, poll)
            elif isinstance(update, Trajectory):
                told = await asyncio.to_thread(_trajectory, update, poll)
                yield "trajectory", told
                shown.add(told)
                if shown.is_behind and shown.is_due:
                    yield "tally", await asyncio.to_thread(shown.tally, poll)
            else:
                service.metrics.voted(update)
                yield "final", answered_document(update, question)


class _Shown:
    """What has been sent to the page."""

    def __init__(self) -> None:
        self._n_told = self._n_tallied = 0
        self._has_answer = False
        self._tallied = 0.0
        self._partial = Partial(-1, "")

    @property
    def is_behind(self) -> bool:
        """Whether the page has trajectories that are not in the last tally."""
        return self._has_answer and self._n_tallied < self._n_told

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._tallied >= _BETWEEN_TALLIES

    def add(self, told: TrajectoryDocument) -> None:
        self._n_told += 1
        self._has_answer = self._has_answer or told["answer"] is not None

    def tally(self, poll: Poll) -> TallyDocument:
        """Return the vote on the trajectories that were sent to the page; nothing is withheld yet."""
        solution = poll.so_far(self._n_told)
        document = tally_document(
            solution.tally, solution.ballot, [each.index for each in solution.trajectories]
        )
        self._n_tallied, self._tallied = self._n_told, time.monotonic()
        return document

    def more_of(self, progress: Progress) -> dict[str, Any] | None:
        """Return the new text of the trajectory that is shown during sampling, None if there is none."""
        partial = None if progress.partial is None else progress.partial()
        if partial is None or partial == self._partial or not partial.text:
            return None
        before, self._partial = self._partial, partial
        is_more = before.index == partial.index and partial.text.startswith(before.text)
        text = partial.text[len(before.text) :] if is_more else partial.text
        return {"index": partial.index, "text": text, "is_more": is_more}


def _trajectory(trajectory: Trajectory, poll: Poll) -> TrajectoryDocument:
    """Return a trajectory as the page shows it."""
    reading = poll.reading(trajectory.index)
    return trajectory_document(trajectory, reading.vote, reading.confidence, poll.steering)


def _started(service: Service, question: Question, poll: Poll) -> dict[str, Any]:
    engine, params = service.backend.engine, question.params
    return {
        "id": f"ask-{secrets.token_hex(6)}",
        "question": question.problem.question,
        "model": engine.model,
        "engine": engine.name,
        "budget": question.budget,
        "method": question.method.name,
        "template": question.problem.template,
        "answer_kind": None if poll.is_kind_open else poll.kind.name,
        "messages": [message.fields() for message in question.problem.messages()],
        "ssc": steering_json(question.steering, question.split),
        "stop_when": None if question.stop_when is None else question.stop_when.name,
        "temperature": params.temperature,
        "top_p": params.top_p,
        "max_tokens": params.max_tokens,
        "seed": params.seed,
    }


def steering_json(controller: Controller | None, split: str) -> dict[str, Any] | None:
    """Return the settings of a controller that are shown, None if there are none."""
    settings = {} if controller is None else controller.settings()
    return settings | {"split": split} if settings else None


def _progress(moved: Moved, question: Question) -> dict[str, Any]:
    return {
        "n_done": moved.n_done,
        "budget": question.budget,
        "n_tokens": moved.progress.n_tokens,
        "n_live": moved.progress.n_live,
        "n_reflections": moved.progress.n_reflections,
        "seconds": round(moved.seconds, 3),
    }
