"""The interface between a rule that steers a generation and the engine that carries it out.

A controller is a rule with its parameters; `start()` returns the stream of one trajectory. The engine
reports every token to it, and it returns a text to inject, `End` to end the trajectory there, or None to
continue. A stream handles texts and numbers: no tokenizer, no logits, no answers. The engine tokenizes the
text as it would at that position, puts the tokens into the reply one position after the other, and reports
each of them.

- An engine that does its own sampling does exactly that. A token that is taken back never becomes part of
  the text. `ReleasedStream` requires more: the distribution before a token is sampled, and two probabilities
  exchanged in it.
- A logits processor sees a token when it is too late to take it back or to prevent the end of the text, so
  it can't run every controller: vLLM's plugin runs SelfStepConf without `guard`, and the online rules of
  DistriVoting and DeepConf, whose `End` it carries out by forcing the end-of-text token.
- An engine that works by continuation aborts the reply at the token for which a text was returned, appends
  the text to what it keeps, and has the server continue from there. It reports the text as one injected
  token without a confidence.

A confidence is a finite float, higher meaning surer, or NaN if none was measured. The end-of-text token is
reported by `at_end` and never pushed. At a token limit the engine stops without a call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from distrivote.answers.extract import Extractor, auto
from distrivote.nouns import count
from distrivote.splitting import Splitter
from distrivote.trajectory import Floats, Insertion, Interventions, Trajectory

if TYPE_CHECKING:
    from distrivote.steering.deepconf import DeepConfOnline
    from distrivote.steering.distrivoting import DistriVotingOnline
    from distrivote.steering.reflection import SelfStepConf


@dataclass(frozen=True, slots=True)
class Injection:
    """What an engine has to put into the reply next."""

    text: str

    take_back: int = 0
    """How many of the last pushed tokens are removed from the reply first, counting the one just pushed."""


@dataclass(frozen=True, slots=True)
class End:
    """The trajectory ends after the token just pushed, with the finish reason `ENDED`."""


ENDED = "confidence"
"""The finish reason of a trajectory that its controller ended; such a trajectory has no vote."""


class ControllerStream(Protocol):
    """Receives the tokens of one trajectory, one after the other; subclasses inherit the defaults.

    By default nothing happens at injected tokens and at the end, and the record is empty.
    """

    __slots__ = ()

    def push(self, text: str, confidence: float, entropy: float = math.nan) -> Injection | End | None:
        """Add a token that was sampled; None: continue."""

    def push_injected(self, text: str, confidence: float = math.nan) -> None:  # noqa: ARG002
        """Add a token of an injected text, with the confidence of the model's own distribution there."""
        return None

    def at_end(self, answered: Callable[[], bool]) -> Injection | None:  # noqa: ARG002
        """Handle the end of the text; None: stop. `answered` is called only if it matters."""
        return None

    def allows_end(self, answered: Callable[[], bool]) -> bool:  # noqa: ARG002
        """Say whether an end would be accepted if it were sampled next; changes no state."""
        return True

    def record(self) -> Interventions:
        """Return the record so far, as if the trajectory had ended."""
        return Interventions()


def told_ends(trajectories: Sequence[Trajectory]) -> str:
    """Return a sentence on how many trajectories were ended."""
    n_ended = sum(trajectory.finish_reason == ENDED for trajectory in trajectories)
    return f"{n_ended} of {count(len(trajectories), 'trajectory')} ended for low confidence"


def gives_answer(text: str) -> bool:
    """Say whether a text states an answer in any of the usual forms.

    >>> gives_answer("So it is \\boxed{4}."), gives_answer("")
    (True, False)
    """
    return auto(text) is not None


class Controller(Protocol):
    """A rule that steers trajectories; subclasses inherit the defaults.

    Everything that the rest of the library has to know about a rule is declared here, so that no code
    outside this package checks its type.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name that displays show."""
        return type(self).__name__

    @property
    def headline(self) -> str:
        """Its part of the line that lists the settings of a call."""
        return self.name

    @property
    def uses_entropy(self) -> bool:
        """Whether its streams use the entropy (nats) of the tokens."""
        return False

    @property
    def released(self) -> bool:
        """Whether it exchanges probabilities before a token is sampled, as `ReleasedStream` does.

        Only engines that do their own sampling can do that.
        """
        return False

    @property
    def optional(self) -> bool:
        """Whether an engine that does not support it samples without it; if not, that is an error."""
        return False

    def required(self) -> Controller:
        """Return the controller as required: an engine that does not support it raises an error."""
        return self

    @property
    def split(self) -> Splitter | None:
        """The splitter of the steps that it judges; None if it uses no steps."""
        return None

    @property
    def measure(self) -> str | None:
        """The measure by which it judges whole trajectories; None if it judges none."""
        return None

    @property
    def n_warmup(self) -> int:
        """How many trajectories have to finish before it steers the others; see `after`."""
        return 0

    @property
    def ends_trajectories(self) -> bool:
        """Whether it ends trajectories because of low confidence, so that only the surer ones vote."""
        return False

    def after(
        self,
        confidences: Iterable[float],  # noqa: ARG002
        records: Sequence[Interventions | None] = (),  # noqa: ARG002
        cut: float = math.nan,  # noqa: ARG002
    ) -> Controller:
        """Return the controller for the trajectories that follow a warm-up.

        Args:
            confidences: Those of the warm-up trajectories, by its own measure or else by that of the vote;
                NaN where unknown.
            records: What its streams recorded of them.
            cut: The confidence from which they are likely right, by their mixture; NaN if there is no cut.
        """
        return self

    def answering(self, find: Extractor) -> Controller:  # noqa: ARG002
        """Return the controller for questions with this extractor."""
        return self

    @property
    def has_answer(self) -> Callable[[str], bool]:
        """Says whether a text states an answer, as `answered` reports it to its streams."""
        return gives_answer

    def settings(self) -> dict[str, float | str]:
        """Return the settings that a page shows; empty if there are none."""
        return {}

    def line(self, record: Interventions) -> tuple[float, ...]:  # noqa: ARG002
        """Return the confidence below which it would have acted at each step, NaN if it could not.

        Empty if it does not compare steps.
        """
        return ()

    def ended_at(self, record: Interventions, confidences: Floats) -> int | None:  # noqa: ARG002
        """Return after how many tokens it would have ended a trajectory, None if it would not have.

        Args:
            record: Its steps.
            confidences: Those of its tokens, NaN where unknown.
        """
        return None

    def told(self, trajectories: Sequence[Trajectory]) -> str:
        """Say in a few words what it did, even if that is nothing."""
        records = [each.interventions for each in trajectories if each.interventions is not None]
        return count(sum(record.n_reflections for record in records), "insertion")

    def plugin_settings(self) -> SelfStepConf | DeepConfOnline | DistriVotingOnline | None:
        """Return the settings with which vLLM's plugin runs it, None if the plugin can't."""
        return None

    @property
    def reflecting(self) -> SelfStepConf | None:
        """The part of it that judges steps and injects reflections; None if it has none."""
        return None

    def ended(self, confidences: Sequence[float], record: Interventions) -> bool:  # noqa: ARG002
        """Say whether a trajectory that stopped was ended by it.

        Args:
            confidences: Those of its tokens.
            record: Its steps.
        """
        return False

    def start(self) -> ControllerStream:
        """Return the stream of a new trajectory."""


class InsertionLog:
    """The insertions of a stream, built from injected tokens."""

    __slots__ = ("_announced", "_lengths", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._lengths: list[int] = []
        self._announced = False

    def announce(self) -> None:
        """Let the next injected token begin a new insertion, even directly after another one."""
        self._announced = True

    def add(self, token: int) -> None:
        """Add the index of an injected token."""
        if self._announced or not self._starts or self._starts[-1] + self._lengths[-1] != token:
            self._starts.append(token)
            self._lengths.append(1)
            self._announced = False
        else:
            self._lengths[-1] += 1

    def insertions(self) -> tuple[Insertion, ...]:
        return tuple(map(Insertion, self._starts, self._lengths))
