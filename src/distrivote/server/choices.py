"""Replies with `choices`: what chat completions and completions have in common."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from typing import Any, ClassVar

from distrivote.server.asking import Answered
from distrivote.server.errors import Failure
from distrivote.server.questions import Question
from distrivote.server.replies import Best, answered_document, best_of
from distrivote.server.streaming import event


class ChoicesShape:
    """A reply with one choice, or chunks of it."""

    prefix: ClassVar[str]
    """The prefix of the ids."""

    kind: ClassVar[str]
    """The `object` field of a reply."""

    chunk_kind: ClassVar[str]
    """The `object` field of a chunk."""

    def __init__(self, question: Question, *, include_usage: bool = False) -> None:
        self._question, self._include_usage = question, include_usage
        self._id, self._created = f"{self.prefix}-{secrets.token_hex(12)}", int(time.time())

    def choice(self, best: Best) -> dict[str, Any]:
        raise NotImplementedError

    def piece(self, text: str | None, finish_reason: str | None, *, first: bool = False) -> dict[str, Any]:
        raise NotImplementedError

    def extras(self, best: Best) -> list[dict[str, Any]]:  # noqa: ARG002
        """Return the choices of the chunks that hold anything but text."""
        return []

    def whole(self, answered: Answered) -> dict[str, Any]:
        return self._head(self.kind) | {
            "choices": [self.choice(best_of(answered))],
            "usage": _usage(answered),
            "distrivote": answered_document(answered, self._question),
        }

    def opening(self) -> Iterator[bytes]:
        yield self._chunk(self.piece("", None, first=True))

    def progress(self, update: dict[str, Any]) -> bytes:
        return self._chunk(self.piece(None, None), distrivote=update)

    def outcome(self, answered: Answered) -> Iterator[bytes]:
        best = best_of(answered)
        for text in best.pieces:
            yield self._chunk(self.piece(text, None))
        for extra in self.extras(best):
            yield self._chunk(extra)
        vote = {"event": "vote", **answered_document(answered, self._question)}
        yield self._chunk(self.piece(None, best.finish_reason), distrivote=vote)
        if self._include_usage:
            yield event(self._head(self.chunk_kind) | {"choices": [], "usage": _usage(answered)})
        yield b"data: [DONE]\n\n"

    def failure(self, failure: Failure) -> bytes:
        return event(failure.body)

    def _chunk(self, choice: dict[str, Any], **beside: Any) -> bytes:
        return event(self._head(self.chunk_kind) | {"choices": [choice]} | beside)

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._question.model}


def _usage(answered: Answered) -> dict[str, int]:
    n_prompt = answered.solution.n_prompt_tokens
    return {
        "prompt_tokens": n_prompt,
        "completion_tokens": answered.n_tokens,
        "total_tokens": n_prompt + answered.n_tokens,
    }
