"""Chunks of a streamed reply -> one trajectory.

What comes is read as it comes and kept small: for each token its text, its bytes, and a row of numbers. The
trajectory is the one that `responses` makes of the same reply in one piece, however it was cut into chunks.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import replace
from typing import Any

from distrivote.engines.openai.protocol import finish_of
from distrivote.engines.responses import (
    ReplyTokens,
    behind_thinking,
    chat_tokens,
    completion_tokens,
    trajectory_of_reply,
)
from distrivote.engines.tokens.spelling import cut
from distrivote.errors import InputError
from distrivote.trajectory import Trajectory


class StreamedReply:
    """One reply under way."""

    __slots__ = (
        "_bare",
        "_content",
        "_n_characters",
        "_n_tail",
        "_stop",
        "_tail",
        "_thinking",
        "_thought",
        "finish_reason",
        "read",
        "stopped",
    )

    def __init__(self, stop: tuple[str, ...] = ()) -> None:
        self.finish_reason: str | None = None
        self.stopped = False
        """Whether a stop string came that the server should have stopped at."""

        self.read = ReplyTokens([], [], [], [])
        self._thought = ReplyTokens([], [], [], [])
        self._bare: dict[int, list[str]] = {}  # texts without log-probabilities, by the tokens before them
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._n_characters = 0
        self._stop = stop
        self._n_tail = max(map(len, stop), default=1) - 1
        self._tail = ""

    @property
    def n_tokens(self) -> int:
        """How many tokens have come."""
        return len(self.read.pieces) + len(self._thought.pieces)

    @property
    def n_characters(self) -> int:
        """How long the text is that has come."""
        return self._n_characters

    @property
    def is_over(self) -> bool:
        return self.stopped or self.finish_reason is not None

    @property
    def has_text(self) -> bool:
        return bool(self._content or self._thinking)

    @property
    def has_thinking(self) -> bool:
        """Whether the server split thinking off."""
        return bool(self._thinking)

    def add(self, choice: dict[str, Any]) -> str:
        """Take one choice of a chunk, or of a reply that came whole, and return the text that it adds."""
        source = choice.get("delta") or choice.get("message") or choice
        thinking = source.get("reasoning_content") or source.get("reasoning") or ""
        content = source.get("content" if source is not choice else "text") or ""
        if not (isinstance(thinking, str) and isinstance(content, str)):
            raise InputError("its text is not a string")
        if thinking:
            self._thinking.append(thinking)
        if content:
            self._content.append(content)
        logprobs = choice.get("logprobs")
        if logprobs:
            self._add_tokens(logprobs)
        elif content:
            self._bare.setdefault(len(self.read.pieces), []).append(content)
        self.finish_reason = finish_of(choice) or self.finish_reason
        text: str = thinking + content
        self._n_characters += len(text)
        if self._stop and text:
            seen = self._tail + text
            self.stopped = self.stopped or any(stop in seen for stop in self._stop)
            self._tail = seen[len(seen) - self._n_tail :] if self._n_tail else ""
        return text

    def _add_tokens(self, logprobs: dict[str, Any]) -> None:
        entries = logprobs.get("content")
        if entries is not None:
            _extend(self.read, chat_tokens(entries, "a token"))
        elif logprobs.get("tokens") is not None:
            _extend(self.read, completion_tokens(logprobs, logprobs["tokens"], "a reply"))
        if logprobs.get("reasoning_content"):
            _extend(self._thought, chat_tokens(logprobs["reasoning_content"], "a reasoning token"))

    def trajectory(self, where: str, echo: str = "") -> Trajectory:
        """Return the reply so far; `echo` is a text that a server may repeat before it."""
        tokens = behind_thinking(self._thought, self.read) if self._thought.pieces else self.read
        return self._made_of(tokens, where, echo)

    def whole(self, where: str) -> Trajectory:
        """Return the reply at its end; what came without log-probabilities amid others are tokens without."""
        try:
            return self.trajectory(where)
        except InputError:
            if not self._bare or self._thought.pieces:
                raise
            return self._made_of(self._with_bare(), where)

    def bare(self) -> Trajectory:
        """Return the reply without its tokens, where these do not spell it."""
        return self._made_of(None, "")

    def _made_of(self, tokens: ReplyTokens | None, where: str, echo: str = "") -> Trajectory:
        content = "".join(self._content).removeprefix(echo)
        finish = "stop" if self.stopped else self.finish_reason
        made = trajectory_of_reply(content, "".join(self._thinking), tokens, finish, where)
        return cut_at_stop(made, self._stop)

    def _with_bare(self) -> ReplyTokens:
        found = ReplyTokens([], [], [], [])
        start = 0
        for end, texts in self._bare.items():
            _extend(found, _part(self.read, slice(start, end)))
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts] if self.read.encoded else []
            _extend(found, ReplyTokens(texts, encoded, [math.nan] * len(texts), [[] for _ in texts]))
            start = end
        _extend(found, _part(self.read, slice(start, None)))
        return found


def _part(tokens: ReplyTokens, at: slice) -> ReplyTokens:
    return ReplyTokens(tokens.pieces[at], tokens.encoded[at], tokens.logprobs[at], tokens.top[at])


def _extend(tokens: ReplyTokens, more: ReplyTokens) -> None:
    tokens.pieces.extend(more.pieces)
    tokens.encoded.extend(more.encoded)
    tokens.logprobs.extend(more.logprobs)
    # A third of the memory of lists, and nothing for the garbage collector to visit.
    tokens.top.extend(array("d", row) for row in more.top)  # type: ignore[misc]


def cut_at_stop(trajectory: Trajectory, stop: tuple[str, ...]) -> Trajectory:
    """Return a trajectory up to the first of the stop strings, for servers that do not know them."""
    ends = [at for text in stop if (at := trajectory.text.find(text)) >= 0]
    if not ends:
        return trajectory
    texts = cut(list(trajectory.tokens), min(ends))
    n = len(texts)
    return replace(
        trajectory,
        text=trajectory.text[: min(ends)],
        tokens=tuple(texts),
        top_logprobs=trajectory.top_logprobs[:n],
        logprobs=trajectory.logprobs[:n],
        finish_reason="stop",
        interventions=trajectory.interventions and trajectory.interventions.up_to(n),
    )
