"""A controller over a server that does its own sampling: stop the reply, append the text, continue it.

Every received token is reported to the controller. If the controller returns a text, the stream is
cut there, and the server is asked to continue the reply so far with the text appended. An injected text
is one token without log-probabilities. The limit of tokens is that of the whole trajectory.

Tokens are reported once their text has arrived, so that an end-of-text token, which has none, never is. No
socket is used here: the caller passes in chunks and is told when to stop.
"""

from __future__ import annotations

import codecs
import copy
import math
from collections.abc import Sequence
from dataclasses import replace

from distrivote.confidence.tokens import SENTINEL, token_entropy
from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.reply import StreamedReply, cut_at_stop
from distrivote.engines.reply_tokens import LogprobRows
from distrivote.engines.tokens.spelling import Spelling, spelled
from distrivote.engines.wire import Choice
from distrivote.errors import InputError
from distrivote.steering import ENDED, Controller, End, Injection
from distrivote.trajectory import Trajectory


class SteeredReply:
    """One trajectory, in as many replies as it takes."""

    def __init__(self, controller: Controller, params: SamplingParams, k: int) -> None:
        self.finish_reason: str | None = None
        self.n_reflections = 0
        self.n_parts = 0
        """How many replies have been started."""

        self._stream = controller.start()
        self._uses_entropy = controller.uses_entropy
        self._params = params
        self._k = k
        self._has_answer = controller.has_answer
        self._texts: list[str] = []
        self._rows = LogprobRows()  # of the tokens before the current reply
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

    def so_far(self) -> str:
        """Return the text so far."""
        return self.prefix

    @property
    def n_left(self) -> int:
        """How many more tokens the limit allows."""
        return self._params.max_tokens - len(self._texts)

    def fork(self) -> SteeredReply:
        """Return an independent copy, for a retry if the next reply fails; call `begin` on it first."""
        other = copy.copy(self)
        other._stream = copy.deepcopy(self._stream)
        other._texts, other._rows = self._texts[:], self._rows.copy()
        return other

    def begin(self, echo: str = "") -> None:
        """Begin the next reply; `echo` is a text that the server may repeat before it."""
        self.n_parts += 1
        self._echo = echo
        self._reply = StreamedReply()
        self._n_taken = 0
        self._unread = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def add(self, choice: Choice) -> bool:
        """Process a choice of a chunk and return whether this reply can be closed."""
        reply = self._reply
        text = reply.add(choice)
        self._unread += text
        if text and reply.finish_reason is None:
            return self._take(len(reply.read))
        return False

    def end(self) -> None:
        """Process the end of the reply: either the trajectory is finished, or the next reply has to begin."""
        if self._take(min(self._n_in_text(), len(self._reply.read))):
            return
        self._keep()
        reason = self._reply.finish_reason
        if reason in ("stop", None):
            injection = self._stream.at_end(lambda: self._has_answer(self.prefix))
            if injection is not None:
                self._inject(injection)
                return
        self.finish_reason = reason or "stop"

    def check(self) -> None:
        """Raise ReplyError if the tokens of the current reply do not spell its text so far."""
        self._reply.trajectory("a reply", self._echo)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the current reply was received, not even its end."""
        reply = self._reply
        return reply.finish_reason is None and not reply.has_text and not reply.n_tokens

    @property
    def lacks_tokens(self) -> bool:
        """Whether the current reply has a text but no log-probabilities."""
        return self._reply.has_text and not self._reply.n_tokens

    @property
    def has_thinking(self) -> bool:
        """Whether the server split thinking off in the current reply."""
        return self._reply.has_thinking

    @property
    def n_read(self) -> int:
        """How many tokens of the current reply have arrived."""
        return self._reply.n_tokens

    @property
    def n_shown(self) -> int:
        """How many of them are part of its text."""
        return self._n_in_text()

    @property
    def is_at_limit(self) -> bool:
        """Whether the current reply ended at its limit of tokens."""
        return self._reply.finish_reason == "length"

    @property
    def flaw(self) -> str | None:
        """What is wrong with the current reply although it could be read."""
        return self._reply.flaw

    def _n_in_text(self) -> int:
        try:
            return self._reply.trajectory("a reply", self._echo).n_tokens
        except InputError:
            return self._reply.n_tokens

    def _take(self, end: int) -> bool:
        """Report the tokens up to there and return whether the reply has to be cut."""
        start = self._n_taken
        if end <= start:
            return False
        read = self._reply.read
        texts = self._texts_of(start, end)
        rows = read.rows_from(start)
        entropies = [math.nan] * len(texts)
        if self._uses_entropy:
            part = LogprobRows()
            part.add_rows(read, start, end)
            entropies = token_entropy(part.table(len(texts)), self._k).values.tolist()
        push = self._stream.push
        for text, row, entropy in zip(texts, rows, entropies, strict=False):
            self._n_taken += 1
            self._texts.append(text)
            if self._n_tail:
                self._tail += text
            action = push(text, row_confidence(row, self._k), entropy)
            if action is None and not self._n_tail and len(self._texts) < self._params.max_tokens:
                continue
            if isinstance(action, End):
                self.finish_reason = ENDED
                self._keep()
                return True
            if self._acts_on(action):
                return True
        return False

    def _keep(self) -> None:
        """Copy the log-probabilities of the reported tokens; the reply is no longer needed."""
        self._rows.add_rows(self._reply.read, 0, self._n_taken)

    def _texts_of(self, start: int, end: int) -> list[str]:
        """Return what each token adds to the text: from its bytes if known, else from the text received."""
        came, self._unread = self._unread, ""
        read = self._reply.read
        pieces = read.pieces[start:end]
        if read.has_bytes:
            encoded = read.encoded[start:end]
            decoded = [self._decoder.decode(part) for part in encoded] if encoded else pieces
            joined = "".join(decoded)
            if joined == came or "\ufffd" not in joined:
                return decoded
        if "".join(pieces) == came:
            return pieces
        texts = spelled(came, "", Spelling(pieces, [])) if len(pieces) > 1 else [came]
        if texts is None or len(texts) != len(pieces):
            texts = [""] * (len(pieces) - 1) + [came]
        return texts

    def _acts_on(self, injection: Injection | None) -> bool:
        """Carry out the controller's action, or end at a stop string or the limit; return whether to cut."""
        if injection is not None and injection.take_back:
            self._rows.cut_to(len(self._rows) - max(injection.take_back - self._n_taken, 0))
            self._n_taken = max(self._n_taken - injection.take_back, 0)
            del self._texts[len(self._texts) - injection.take_back :]
            self._tail = "".join(self._texts[-self._n_tail :]) if self._n_tail else ""
        is_over = self._ends_here()
        if is_over or injection is not None:
            self._keep()
        if injection is not None and not is_over:
            self._inject(injection)
        return injection is not None or is_over

    def _inject(self, injection: Injection) -> None:
        if self.n_left > 0:
            self.n_reflections += 1
            self._texts.append(injection.text)
            self._rows.add_row(math.nan, ())
            if self._n_tail:
                self._tail += injection.text
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
        """Return the trajectory so far."""
        whole = self._reply.finish_reason is not None and self.finish_reason != ENDED
        if self.n_parts == 1 and whole and not self.n_reflections:
            found = self._reply.trajectory(where)
        else:
            n = len(self._texts)
            top, logprobs = self._rows.table(n), self._rows.own(n)
            found = Trajectory("".join(self._texts), tuple(self._texts), top, logprobs)
        record = self._stream.record().up_to(found.n_tokens)
        found = replace(found, finish_reason=self.finish_reason, interventions=record)
        return cut_at_stop(found, self._params.stop)


def row_confidence(row: Sequence[float], k: int) -> float:
    """Return `token_confidence` of one row; arrays of one row would take ten times as long.

    >>> row_confidence([-0.1, -5.0, -9.9], 3)
    5.0
    """
    if len(row) == k and min(row) > SENTINEL and (total := math.fsum(row)) < math.inf:
        return -total / k
    usable = sorted(value for value in row if value > SENTINEL)[-k:]
    return -math.fsum(usable) / len(usable) if usable else math.nan
