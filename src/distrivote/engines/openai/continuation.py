"""A controller over a server that samples by itself: stop the reply, append the text, let it go on.

Every token that comes is reported to the controller. At the one that is answered with a text the stream is
cut; what came up to there, with the text behind it, is what the server is asked to continue. An injected text
is one token without log-probabilities. The limit of tokens is that of the whole trajectory.

Tokens are reported once their text has come, so that an end-of-text token, which has none, never is. No
socket is known here: whoever streams hands in chunks, and is told when to stop.
"""

from __future__ import annotations

import codecs
import copy
import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from distrivote.confidence.tokens import SENTINEL, token_entropy
from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.reply import StreamedReply, cut_at_stop
from distrivote.engines.tokens.spelling import Spelling, spelled
from distrivote.errors import InputError
from distrivote.steering import ENDED, Controller, End, Injection
from distrivote.trajectory import Floats, Trajectory


class SteeredReply:
    """One trajectory, in as many replies as it takes."""

    def __init__(self, controller: Controller, params: SamplingParams, k: int) -> None:
        self.finish_reason: str | None = None
        self.n_reflections = 0
        self.n_parts = 0
        """How many replies have been begun."""

        self._stream = controller.start()
        self._uses_entropy = controller.uses_entropy
        self._params = params
        self._k = k
        self._has_answer = controller.has_answer
        self._texts: list[str] = []
        self._logprobs: list[float] = []
        self._rows: list[array[float]] = []
        self._tail = ""
        self._n_tail = max(map(len, params.stop), default=0)
        self.begin()

    @property
    def n_tokens(self) -> int:
        return len(self._texts)

    @property
    def prefix(self) -> str:
        """What the next reply has to follow."""
        return "".join(self._texts)

    @property
    def n_left(self) -> int:
        """How many tokens there is room for."""
        return self._params.max_tokens - len(self._texts)

    def fork(self) -> SteeredReply:
        """Return a copy that goes on by itself, for when the next reply fails; `begin` it first."""
        other = copy.copy(self)
        other._stream = copy.deepcopy(self._stream)
        other._texts, other._logprobs, other._rows = self._texts[:], self._logprobs[:], self._rows[:]
        return other

    def begin(self, echo: str = "") -> None:
        """Begin the next reply; `echo` is a text that the server may repeat before it."""
        self.n_parts += 1
        self._echo = echo
        self._reply = StreamedReply()
        self._n_taken = 0
        self._unread = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def add(self, choice: dict[str, Any]) -> bool:
        """Take a choice of a chunk and say whether this reply is of no more use."""
        text = self._reply.add(choice)
        self._unread += text
        if text and self._reply.finish_reason is None:
            return self._take(len(self._reply.read.pieces))
        return False

    def end(self) -> None:
        """Take the end of the reply: either the trajectory is over, or the next reply is to be begun."""
        n_known = len(self._reply.read.pieces)
        if self._take(min(self._n_in_text(), n_known)):
            return
        reason = self._reply.finish_reason
        if reason in ("stop", None):
            injection = self._stream.at_end(lambda: self._has_answer(self.prefix))
            if injection is not None:
                self._inject(injection)
                return
        self.finish_reason = reason or "stop"

    def check(self) -> None:
        """Raise ReplyError if the tokens of the reply under way do not spell its text so far."""
        self._reply.trajectory("a reply", self._echo)

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all came of the reply under way, not even its end."""
        reply = self._reply
        return reply.finish_reason is None and not reply.has_text and not reply.n_tokens

    @property
    def lacks_tokens(self) -> bool:
        """Whether the reply under way has a text but came without log-probabilities."""
        return self._reply.has_text and not self._reply.n_tokens

    @property
    def has_thinking(self) -> bool:
        """Whether the server split thinking off in the reply under way."""
        return self._reply.has_thinking

    def _n_in_text(self) -> int:
        try:
            return self._reply.trajectory("a reply", self._echo).n_tokens
        except InputError:
            return self._reply.n_tokens

    def _take(self, end: int) -> bool:
        """Report the tokens up to there and say whether the reply has to be cut."""
        start = self._n_taken
        if end <= start:
            return False
        read = self._reply.read
        texts = self._texts_of(read.pieces[start:end], read.encoded[start:end])
        rows = read.top[start:end]
        entropies = [math.nan] * len(texts)
        if self._uses_entropy:
            entropies = token_entropy(_table(rows), self._k).values.tolist()
        for i, text in enumerate(texts):
            self._n_taken += 1
            self._append(text, read.logprobs[start + i], array("d", rows[i]))
            action = self._stream.push(text, row_confidence(rows[i], self._k), entropies[i])
            if isinstance(action, End):
                self.finish_reason = ENDED
                return True
            if self._acts_on(action):
                return True
        return False

    def _texts_of(self, pieces: Sequence[str], encoded: Sequence[bytes]) -> list[str]:
        """Return what each token adds to the text: by its bytes where they say it, else as the text came."""
        came, self._unread = self._unread, ""
        if encoded:
            decoded = [self._decoder.decode(part) for part in encoded]
            if "".join(decoded) == came or "\ufffd" not in "".join(decoded):
                return decoded
        if "".join(pieces) == came:
            return list(pieces)
        texts = spelled(came, "", Spelling(list(pieces), [])) if len(pieces) > 1 else [came]
        if texts is None or len(texts) != len(pieces):
            texts = [""] * (len(pieces) - 1) + [came]
        return texts

    def _append(self, text: str, logprob: float, row: array[float]) -> None:
        self._texts.append(text)
        self._logprobs.append(logprob)
        self._rows.append(row)
        if self._n_tail:
            self._tail += text

    def _acts_on(self, injection: Injection | None) -> bool:
        """Do what the controller says, or end at a stop string or the limit; say whether to cut."""
        if injection is not None and injection.take_back:
            kept = len(self._texts) - injection.take_back
            del self._texts[kept:], self._logprobs[kept:], self._rows[kept:]
            self._tail = "".join(self._texts[-self._n_tail :]) if self._n_tail else ""
        if not self._ends_here() and injection is not None:
            self._inject(injection)
        return injection is not None or self.finish_reason is not None

    def _inject(self, injection: Injection) -> None:
        if self.n_left > 0:
            self.n_reflections += 1
            self._append(injection.text, math.nan, array("d"))
            self._stream.push_injected(injection.text)
        self._ends_here()

    def _ends_here(self) -> bool:
        if self._n_tail:
            if any(stop in self._tail for stop in self._params.stop):
                self.finish_reason = "stop"
            self._tail = self._tail[-self._n_tail :]
        if self.finish_reason is None and self.n_left <= 0:
            self.finish_reason = "length"
        return self.finish_reason is not None

    def trajectory(self, where: str) -> Trajectory:
        """Return the trajectory as far as it has come."""
        whole = self._reply.finish_reason is not None and self.finish_reason != ENDED
        if self.n_parts == 1 and whole and not self.n_reflections:
            found = self._reply.trajectory(where)
        else:
            table = _table(self._rows)
            found = Trajectory(
                "".join(self._texts), tuple(self._texts), table, np.array(self._logprobs, dtype=np.float64)
            )
        record = self._stream.record().up_to(found.n_tokens)
        found = replace(found, finish_reason=self.finish_reason, interventions=record)
        return cut_at_stop(found, self._params.stop)


def row_confidence(row: Sequence[float], k: int) -> float:
    """Return what `token_confidence` says of one row; arrays of one row would take ten times as long.

    >>> row_confidence([-0.1, -5.0, -9.9], 3)
    5.0
    """
    usable = sorted(value for value in row if value > SENTINEL)[-k:]
    return -math.fsum(usable) / len(usable) if usable else math.nan


def _table(rows: Sequence[Sequence[float]]) -> Floats:
    """Return rows of log-probabilities as one array, padded with NaN."""
    width = max(map(len, rows), default=0)
    if all(a is b or len(a) == len(b) for a, b in pairwise(rows)):
        return np.array(rows, dtype=np.float64).reshape(len(rows), width)
    table = np.full((len(rows), width), np.nan)
    for place, row in zip(table, rows, strict=True):
        place[: len(row)] = row
    return table
