"""Budget forcing, as in s1 (Muennighoff et al., 2025): a minimum and a maximum length of thinking.

It counts tokens and looks for the end of thinking among the sampled ones. It uses neither steps nor
confidences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from distrivote.errors import InputError
from distrivote.steering.controller import Controller, ControllerStream, Injection, InsertionLog
from distrivote.trajectory import Interventions


@dataclass(frozen=True, slots=True)
class BudgetForcing(Controller):
    """Replace an early end of thinking by a word that continues it, and end thinking that is too long.

    A trajectory begins with thinking, and injected tokens count as thinking. The end of the text during
    thinking counts as an end of thinking.

    >>> stream = BudgetForcing(min_tokens=100).start()
    >>> stream.push("4.", 9.0)
    >>> stream.push("</think>", 12.0)
    Injection(text='Wait', take_back=1)
    """

    min_tokens: int = 0
    """An end before this number of tokens is replaced."""

    max_tokens: int | None = None
    """Thinking is ended after this number of tokens; None: never."""

    n_waits: int = 1
    """How many ends are replaced at most; the next one is accepted."""

    text: str = "Wait"

    end_of_thinking: str = "</think>"
    """The text with which the model ends its thinking, and which is injected to end it.

    It may be spread over several tokens: all of them are taken back, with any other text in them.
    """

    def __post_init__(self) -> None:
        longest = math.inf if self.max_tokens is None else self.max_tokens
        if not 0 <= self.min_tokens <= longest or longest < 1 or self.n_waits < 0:
            raise InputError(
                f"thinking of {self.min_tokens} to {self.max_tokens} tokens with {self.n_waits} waits is not"
                " possible: give a maximum of at least 1, a minimum from 0 up to it, and at least 0 waits"
            )
        if not self.end_of_thinking.strip():
            raise InputError(
                f'the end of thinking is {self.end_of_thinking!r}: give its text, such as "</think>"'
            )
        if not self.text.strip() or self.end_of_thinking in self.text:
            raise InputError(
                f"the text that continues the thinking is {self.text!r}: give at least one word, and"
                f" no {self.end_of_thinking!r}"
            )

    def start(self) -> ControllerStream:
        return _Stream(self)


class _Stream:
    __slots__ = ("_end", "_log", "_max_tokens", "_min_tokens", "_n_tokens", "_n_waits", "_tail",
                 "_text", "_thinking")  # fmt: skip

    def __init__(self, controller: BudgetForcing) -> None:
        self._min_tokens = controller.min_tokens
        self._max_tokens = math.inf if controller.max_tokens is None else controller.max_tokens
        self._n_waits = controller.n_waits
        self._text = controller.text
        self._end = controller.end_of_thinking
        self._log = InsertionLog()
        self._n_tokens = 0
        self._thinking = True
        self._tail: list[str] = []  # the last sampled tokens, in which the end may have begun

    def push(
        self,
        text: str,
        confidence: float,  # noqa: ARG002
        entropy: float = math.nan,  # noqa: ARG002
    ) -> Injection | None:
        self._n_tokens += 1
        if not self._thinking:
            return None
        n_end_tokens = self._look_for_end(text)
        if n_end_tokens:
            n_before = self._n_tokens - n_end_tokens
            if self._lets_end(n_before):
                self._thinking = False
                return None
            self._n_tokens = n_before
            return self._wait(n_end_tokens)
        if self._n_tokens >= self._max_tokens and not self._tail:
            self._thinking = False
            return Injection(self._end)
        return None

    def push_injected(self, text: str, confidence: float = math.nan) -> None:  # noqa: ARG002
        self._log.add(self._n_tokens)
        self._n_tokens += 1
        self._tail = []

    def at_end(self, answered: Callable[[], bool]) -> Injection | None:
        return None if self.allows_end(answered) else self._wait(0)

    def allows_end(self, answered: Callable[[], bool]) -> bool:  # noqa: ARG002
        # Once thinking has ended this stays true: it was long enough, or no waits were left.
        return self._lets_end(self._n_tokens)

    def record(self) -> Interventions:
        return Interventions(self._log.insertions())

    def _lets_end(self, n_tokens: int) -> bool:
        return n_tokens >= self._min_tokens or self._n_waits == 0

    def _wait(self, take_back: int) -> Injection:
        self._n_waits -= 1
        self._log.announce()
        return Injection(self._text, take_back)

    def _look_for_end(self, text: str) -> int:
        """Return how many of the last tokens hold the end of thinking, 0 if it is not complete."""
        end = self._end
        if not self._tail and end[0] not in text:
            return 0
        self._tail.append(text)
        tail = "".join(self._tail)
        at = tail.find(end)
        if at >= 0:
            n_tokens = _n_holding(self._tail, len(tail) - at)
            self._tail = []
            return n_tokens
        begun = max(n for n in range(len(end)) if tail.endswith(end[:n]))
        self._tail = self._tail[len(self._tail) - _n_holding(self._tail, begun) :]
        return 0


def _n_holding(tokens: Sequence[str], n_characters: int) -> int:
    """Return how many of the last tokens hold the last `n_characters` characters."""
    n_tokens = 0
    while n_characters > 0:
        n_tokens += 1
        n_characters -= len(tokens[-n_tokens])
    return n_tokens
