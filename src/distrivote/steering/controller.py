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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from distrivote.answers.extract import Extractor, auto
from distrivote.nouns import count
from distrivote.splitting import Splitter
from distrivote.trajectory import Insertion, Interventions, Trajectory

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
    """A rule that steers trajectories; one that derives from it has the defaults.

    Everything that the rest of the library has to know about a rule is said here, so that its type is
    asked nowhere outside this package.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """What it is called where its work is shown."""
        return type(self).__name__

    @property
    def headline(self) -> str:
        """What a line says about it that lists the settings of a call."""
        return self.name

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

    @property
    def split(self) -> Splitter | None:
        """Where the steps end that it judges; None if it knows no steps."""
        return None

    @property
    def measure(self) -> str | None:
        """The measure that it judges whole trajectories by; None if it judges none."""
        return None

    @property
    def n_warmup(self) -> int:
        """How many trajectories have to finish before it can steer the others; see `after`."""
        return 0

    @property
    def ends_trajectories(self) -> bool:
        """Whether it ends trajectories for their confidence, so that those which vote are the surer ones."""
        return False

    def after(self, confidences: Iterable[float]) -> Controller:  # noqa: ARG002
        """Return it for the trajectories after a warm-up whose trajectories have these confidences.

        They are by its own measure, NaN where unknown.
        """
        return self

    def answering(self, find: Extractor) -> Controller:  # noqa: ARG002
        """Return it for questions whose answers are found in this way."""
        return self

    @property
    def has_answer(self) -> Callable[[str], bool]:
        """Says whether a text gives an answer: what its streams learn from `answered`."""
        return gives_answer

    def settings(self) -> dict[str, float | str]:
        """Return the settings that a page shows beside its work; empty if there is nothing to show."""
        return {}

    def line(self, record: Interventions) -> tuple[float, ...]:  # noqa: ARG002
        """Return the confidence below which it would have acted at each step, NaN where it could not.

        Empty if it holds steps against nothing.
        """
        return ()

    def told(self, trajectories: Sequence[Trajectory]) -> str:
        """Say in a few words what it did, also where it had nothing to do."""
        records = [each.interventions for each in trajectories if each.interventions is not None]
        return count(sum(record.n_reflections for record in records), "insertion")

    def plugin_settings(self) -> SelfStepConf | None:
        """Return what vLLM's plugin has to be told to carry it out, None if the plugin can't."""
        return None

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
