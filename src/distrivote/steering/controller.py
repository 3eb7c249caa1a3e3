"""The seam between a rule that steers a generation and the engine that carries it out.

A controller is a rule with its parameters; `start()` gives the stream of one trajectory. The engine
reports every token to it, and it answers with a text to inject, with `End` to end the trajectory there, or
with None to let things be. A stream knows texts and numbers: no tokenizer, no logits, no answers. The
engine cuts the text into tokens as it would stand at that place, puts them into the reply one position
after the other, and reports each of them.

- An engine that owns sampling does just that. A token that is taken back never becomes part of the text.
  `ReleasedStream` wants more of it: to be told what the model says before a token is sampled, and to have
  two probabilities exchanged there.
- A logits processor sees a token when it is too late to take it back or to hold up the end of the text,
  so it can't carry out every controller: vLLM's plugin does SelfStepConf without `guard`, and no other.
- An engine that works by continuation aborts the reply at the token that was answered with a text,
  appends the text to what it keeps, and lets the server go on from there. It reports the text as one
  injected token without a confidence.

A confidence is a finite float, higher meaning surer, or NaN where none was measured. The end-of-text
token is reported by `at_end` and never pushed. At a token limit the engine stops without asking.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from distrivote.answers.extract import auto
from distrivote.trajectory import Insertion, Interventions

if TYPE_CHECKING:
    from distrivote.steering.reflection import SelfStepConf


@dataclass(frozen=True, slots=True)
class Injection:
    """What an engine is to put into the reply next."""

    text: str

    take_back: int = 0
    """So many of the tokens last pushed leave the reply before it, the one just pushed among them."""


@dataclass(frozen=True, slots=True)
class End:
    """The trajectory ends behind the token just pushed, with the finish reason `ENDED`."""


ENDED = "confidence"
"""The finish reason of a trajectory that its controller ended; such a trajectory has no vote."""


class ControllerStream(Protocol):
    """The tokens of one trajectory, one after the other."""

    def push(self, text: str, confidence: float, entropy: float = math.nan) -> Injection | End | None:
        """Take a token that was really sampled; None: go on."""

    def push_injected(self, text: str, confidence: float = math.nan) -> None:
        """Take a token of an injected text, with the confidence of the model's own distribution there."""

    def at_end(self, answered: Callable[[], bool]) -> Injection | None:
        """Take the end of the text; None: stop. `answered` is called if it matters."""

    def allows_end(self, answered: Callable[[], bool]) -> bool:
        """Say whether an end would stand if it were sampled next; this changes nothing."""

    def record(self) -> Interventions:
        """Return the record so far, as if the trajectory were over."""


def gives_answer(text: str) -> bool:
    """Say whether a text gives an answer in any of the usual ways.

    >>> gives_answer("So it is \\boxed{4}."), gives_answer("")
    (True, False)
    """
    return auto(text) is not None


class Controller(Protocol):
    """A rule that steers trajectories; one that derives from it has the defaults."""

    @property
    def uses_entropy(self) -> bool:
        """Whether its streams look at the entropy (nats) of the tokens."""
        return False

    @property
    def released(self) -> bool:
        """Whether it exchanges probabilities before a token is sampled, as `ReleasedStream` does.

        Only engines that own sampling can do that.
        """
        return False

    def plugin_settings(self) -> SelfStepConf | None:
        """Return what vLLM's plugin has to be told to carry it out, None if the plugin can't."""
        return None

    @property
    def has_answer(self) -> Callable[[str], bool]:
        """Says whether a text gives an answer: what its streams learn from `answered`."""
        return gives_answer

    def start(self) -> ControllerStream:
        """Return the stream of a new trajectory."""


class InsertionLog:
    """The insertions of a stream, put together from injected tokens."""

    __slots__ = ("_announced", "_lengths", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._lengths: list[int] = []
        self._announced = False

    def announce(self) -> None:
        """Let the next injected token begin an insertion, even right behind another one."""
        self._announced = True

    def add(self, token: int) -> None:
        """Take the index of an injected token."""
        if self._announced or not self._starts or self._starts[-1] + self._lengths[-1] != token:
            self._starts.append(token)
            self._lengths.append(1)
            self._announced = False
        else:
            self._lengths[-1] += 1

    def insertions(self) -> tuple[Insertion, ...]:
        return tuple(map(Insertion, self._starts, self._lengths))
