"""`POST /api/ask`: the page's question, as events that show how the answer comes about.

docs/server-events.md has the JSON of every event.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import numpy as np

from distrivote.answers.equivalence import classify
from distrivote.errors import DistrivoteError
from distrivote.flow import ballot_for
from distrivote.server.asking import Begun, Moved, Outcome, Queued, ask
from distrivote.server.errors import failure_of
from distrivote.server.questions import Question, question_of_page
from distrivote.server.replies import GONE, Service, held_gate
from distrivote.server.schemas import AskRequest
from distrivote.server.shapes import trajectory_json, vote_json
from distrivote.server.streaming import EventStream, event
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory
from distrivote.voting.ballot import Ballot
from distrivote.voting.vote import vote

_BETWEEN_TALLIES = 0.25
"""Seconds."""


def answer_page(service: Service, body: AskRequest) -> EventStream:
    """Answer the page's question with events."""
    question = question_of_page(body, service.house)
    held = held_gate(service, "ask")
    return EventStream(_events(service, question), held)


async def _events(service: Service, question: Question) -> AsyncGenerator[bytes]:
    status = GONE
    try:
        async with aclosing(_happenings(service, question)) as events:
            async for name, data in events:
                yield event(data, name)
        status = 200
    except DistrivoteError as error:
        failure = failure_of(error)
        status = failure.status
        yield event(failure.body, "error")
    except Exception as error:
        status = 500
        yield event(failure_of(error).body, "error")
        raise
    finally:
        service.metrics.answered("ask", status)


async def _happenings(service: Service, question: Question) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
    pool = _Pool(question)
    tallied = 0.0
    async with aclosing(ask(service.house.engine, service.lane, question)) as happenings:
        async for happening in happenings:
            if isinstance(happening, Queued):
                yield "queued", {"n_before": happening.n_before}
            elif isinstance(happening, Begun):
                yield "started", _started(service, question)
            elif isinstance(happening, Moved):
                yield "progress", _progress(happening, question)
            elif isinstance(happening, Trajectory):
                yield "trajectory", await asyncio.to_thread(pool.add, happening)
                if time.monotonic() - tallied >= _BETWEEN_TALLIES and pool.has_answer:
                    yield "tally", await asyncio.to_thread(pool.tally)
                    tallied = time.monotonic()
            else:
                service.metrics.voted(happening)
                yield "final", _final(happening, question)


class _Pool:
    """The trajectories so far, measured one by one as they come."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._indices: list[int] = []
        self._answers: list[str | None] = []
        self._confidences: list[float] = []

    @property
    def has_answer(self) -> bool:
        return any(answer is not None for answer in self._answers)

    def add(self, trajectory: Trajectory) -> dict[str, Any]:
        """Measure a trajectory, and return it as the page shows it."""
        question = self._question
        ballot = ballot_for(question.problem, [trajectory], question.controller, measure=question.measure)
        answer = str(ballot.labels[0]) if ballot.labels else None
        confidence = float(ballot.confidences[0])
        self._indices.append(trajectory.index)
        self._answers.append(answer)
        self._confidences.append(confidence)
        return trajectory_json(trajectory, answer, confidence, question.controller)

    def tally(self) -> dict[str, Any]:
        """Vote on the trajectories so far."""
        order = np.argsort(self._indices).tolist()
        answers = classify([self._answers[at] for at in order], self._question.same).answers
        ballot = Ballot.of(answers, [self._confidences[at] for at in order])
        question = self._question
        tally = vote(ballot, method=question.pipeline, calibration=question.calibration)
        return vote_json(tally, ballot, [self._indices[at] for at in order])


def _started(service: Service, question: Question) -> dict[str, Any]:
    engine, params = service.house.engine, question.params
    return {
        "id": f"ask-{secrets.token_hex(6)}",
        "question": question.problem.question,
        "model": engine.model,
        "engine": engine.name,
        "budget": question.budget,
        "method": question.pipeline.name,
        "template": question.problem.template,
        "ssc": steering_json(question.controller, question.split),
        "stop_when": None if question.stop_when is None else question.stop_when.name,
        "temperature": params.temperature,
        "top_p": params.top_p,
        "max_tokens": params.max_tokens,
        "seed": params.seed,
    }


def steering_json(controller: Controller | None, split: str) -> dict[str, Any] | None:
    """Return the settings of a controller, None if it has none to show."""
    settings = {} if controller is None else controller.settings()
    return settings | {"split": split} if settings else None


def _progress(moved: Moved, question: Question) -> dict[str, Any]:
    return {
        "n_done": moved.n_done,
        "budget": question.budget,
        **moved.progress._asdict(),
        "seconds": round(moved.seconds, 3),
    }


def _final(outcome: Outcome, question: Question) -> dict[str, Any]:
    solution = outcome.solution
    indices = [trajectory.index for trajectory in solution.trajectories]
    tally = vote_json(solution.tally, solution.ballot, indices)
    return {
        "answer": tally["answer"] if outcome.withheld is None else None,
        "share": tally["share"],
        "probability": tally["probability"],
        "abstained": outcome.withheld is not None,
        "majority": tally["majority"],
        "best": None if solution.best is None else solution.best.index,
        "tally": tally,
        "n_trajectories": len(indices),
        "budget": question.budget,
        "n_tokens": outcome.n_tokens,
        "n_tokens_saved": outcome.n_tokens_saved,
        "n_reflections": outcome.n_reflections,
        "seconds": round(outcome.seconds, 3),
        "stopped": outcome.stopped,
        "notes": [] if outcome.withheld is None else [outcome.withheld],
    }
