"""Chunks of a streamed reply -> one trajectory.

Chunks are parsed on arrival and stored compactly: for each token its text, its bytes, and a row of numbers.
The trajectory is the one that `responses` makes of the same complete reply, whatever the chunks.
"""

from __future__ import annotations

import math
from dataclasses import replace

from distrivote.engines.reply_tokens import ReplyTokens
from distrivote.engines.responses import ReplyError, after_thinking, trajectory_of_reply
from distrivote.engines.tokens.spelling import cut
from distrivote.engines.tool_calls import ToolCalls
from distrivote.engines.wire import Choice, Logprobs, OddChoice
from distrivote.errors import InputError
from distrivote.trajectory import Trajectory

_NO_REASONS = ("", "null")
_LONGEST_STOP = 64
"""In characters; a server may have stop strings of its own."""


def finish_of(choice: Choice) -> str | None:
    """Return why a choice of a reply ended, None if it continues, which some servers write "" or "null"."""
    return None if choice.finish_reason in _NO_REASONS else choice.finish_reason


class StreamedReply:
    """One reply in progress."""

    __slots__ = (
        "_bare",
        "_calls",
        "_content",
        "_flaw",
        "_n_characters",
        "_n_tail",
        "_number",
        "_number_flaw",
        "_number_wanted",
        "_refusal",
        "_stop",
        "_tail",
        "_thinking",
        "_thought",
        "finish_reason",
        "read",
        "stopped",
    )

    def __init__(self, stop: tuple[str, ...] = (), number: int = 0) -> None:
        """Begin a reply with its number among those to one request."""
        self.finish_reason: str | None = None
        self.stopped = False
        """Whether the text contains a stop string at which the server should have stopped."""

        self.read = ReplyTokens()
        self._thought = ReplyTokens()
        self._flaw: str | None = None
        self._number: int | None = None  # the one that it has
        self._number_wanted = number
        self._number_flaw: str | None = None
        self._refusal: list[str] = []
        self._bare: dict[int, list[str]] = {}  # texts without log-probabilities, by the tokens before them
        self._calls = ToolCalls()
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._n_characters = 0
        self._stop = stop
        self._n_tail = max(map(len, stop), default=1) - 1
        self._tail = ""

    @property
    def n_tokens(self) -> int:
        """How many tokens have arrived."""
        return len(self.read) + len(self._thought)

    @property
    def n_characters(self) -> int:
        """The length of the text so far."""
        return self._n_characters

    def so_far(self) -> str:
        """Return the text so far; thinking that was split off comes first."""
        return "\n\n".join("".join(part) for part in (self._thinking, self._content) if part)

    @property
    def is_over(self) -> bool:
        return self.stopped or self.finish_reason is not None

    @property
    def has_text(self) -> bool:
        return bool(self._content or self._thinking or self._refusal or self._calls)

    @property
    def flaw(self) -> str | None:
        """What is wrong with it although it could be read."""
        if self._refusal and not self._content:
            return "a refusal instead of a reply"
        return self._flaw or self._number_flaw

    @property
    def has_gaps(self) -> bool:
        """Whether a part of its text has no log-probabilities."""
        return bool(self._bare)

    @property
    def has_thinking(self) -> bool:
        """Whether the server split thinking off."""
        return bool(self._thinking)

    def add(self, choice: Choice) -> str:
        """Process one choice of a chunk, or of a complete reply, and return the text that it adds."""
        if (choice.index != self._number or choice.index is None) and not self._is_mine(choice):
            return ""
        source = choice.delta or choice.message
        if source is None:
            thinking, content = "", choice.text or ""
        else:
            thinking, content = source.reasoning_content or source.reasoning or "", source.content or ""
            if source.refusal:
                self._refusal.append(source.refusal)
            if source.tool_calls:
                self._calls.add(source.tool_calls)
        if thinking:
            self._thinking.append(thinking)
        if content:
            self._content.append(content)
        if choice.logprobs is not None:
            self._add_tokens(choice.logprobs)
        elif content:
            self._bare.setdefault(len(self.read), []).append(content)
        if choice.reasoning_logprobs is not None and choice.reasoning_logprobs.content:
            self._thought.add_entries(choice.reasoning_logprobs.content)
        if isinstance(choice, OddChoice):
            self._flaw = self._flaw or choice.flaw or None
        if choice.finish_reason is not None:
            self.finish_reason = finish_of(choice) or self.finish_reason
        text = thinking + content
        self._n_characters += len(text)
        if self._stop and text:
            seen = self._tail + text
            self.stopped = self.stopped or any(stop in seen for stop in self._stop)
            self._tail = seen[len(seen) - self._n_tail :] if self._n_tail else ""
        return text

    def _is_mine(self, choice: Choice) -> bool:
        """Return whether a choice with a new number is of this reply; every number but its own is a flaw."""
        if isinstance(choice, OddChoice) and choice.number:
            self._number_flaw = self._number_flaw or f"its choice has the number {choice.number}"
        if choice.index is None:
            return True
        is_first = self._number is None
        if is_first:
            self._number = choice.index
        if not is_first or choice.index != self._number_wanted:
            self._number_flaw = self._number_flaw or f"its choice has the number {choice.index}"
        return is_first

    def _add_tokens(self, logprobs: Logprobs) -> None:
        if logprobs.content is not None:
            self.read.add_entries(logprobs.content)
        elif logprobs.tokens is not None:
            self.read.add_lists(logprobs, "a reply")
        if logprobs.reasoning_content:
            self._thought.add_entries(logprobs.reasoning_content)

    def trajectory(self, where: str, echo: str = "") -> Trajectory:
        """Return the reply so far; `echo` is a text that a server may repeat before it."""
        if self._flaw is not None:
            raise ReplyError(where, self._flaw, hint="look at the log of the server")
        tokens = after_thinking(self._thought, self.read) if len(self._thought) else self.read
        return self._made_of(tokens, where, echo)

    def whole(self, where: str) -> Trajectory:
        """Return the finished reply; parts without log-probabilities become tokens without any."""
        try:
            return self.trajectory(where)
        except InputError:
            if not self._bare or len(self._thought) or self._flaw is not None:
                raise
            return self._made_of(self._with_bare(), where)

    def unsaid(self, made: Trajectory) -> str | None:
        """Return what is wrong if the tokens of the finished reply go on behind its text.

        A stop string, an end token, a call of a tool and thinking that a server leaves out are not in the
        text. At the limit there is no stop string, and none is longer than `_LONGEST_STOP`.
        """
        if (
            self._stop
            or self._calls
            or len(self._thought)
            or not (made.tokens and "".join(self._content).strip())
        ):
            return None
        rest = "".join(self.read.pieces[made.n_tokens :]).strip()
        is_stop = made.finish_reason != "length" and len(rest) <= _LONGEST_STOP
        return None if is_stop or not rest[:1].isalnum() else "its tokens go on behind its text"

    def bare(self) -> Trajectory:
        """Return the reply without its tokens, for when they do not spell it."""
        return self._made_of(None, "")

    def _made_of(self, tokens: ReplyTokens | None, where: str, echo: str = "") -> Trajectory:
        content = "".join(self._content).removeprefix(echo) or "".join(self._refusal)
        finish = "stop" if self.stopped else self.finish_reason
        made = trajectory_of_reply(content, "".join(self._thinking), tokens, finish, where)
        return self._calls.at_the_end_of(cut_at_stop(made, self._stop))

    def _with_bare(self) -> ReplyTokens:
        found = ReplyTokens()
        start = 0
        for end, texts in self._bare.items():
            found.extend(self.read, start, end)
            for text in texts:
                found.add(text, math.nan, ())
            start = end
        found.extend(self.read, start)
        return found


def cut_at_stop(trajectory: Trajectory, stop: tuple[str, ...]) -> Trajectory:
    """Return a trajectory up to the first stop string, for servers that do not support them."""
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
