"""SelfStepConf: inject a reflection after a step whose confidence dropped.

The splitter says what a step is; its confidence is the mean over its tokens that have one. Injected tokens
belong to their step like any other, but a boundary that one of them completes is ignored. So the steps are
those of the whole text, without the boundaries in injected tokens. `threshold` decides what a drop is. The
variant in the authors' released code is in `released`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from distrivote.answers.extract import Extractor
from distrivote.defaults import ALPHA, DELTA, REFLECTION
from distrivote.errors import InputError
from distrivote.nouns import count
from distrivote.splitting import DelimiterSplitter, Splitter
from distrivote.steering.controller import (
    Controller,
    ControllerStream,
    Injection,
    InsertionLog,
    gives_answer,
)
from distrivote.steering.released import ReleasedStream
from distrivote.steering.threshold import Threshold, check_alpha_and_delta, lowest_ratio, thresholds
from distrivote.trajectory import Interventions, Trajectory


@dataclass(frozen=True, slots=True)
class SelfStepConf(Controller):
    """Inject a reflection where a step's confidence drops below a moving threshold.

    >>> stream = SelfStepConf().start()
    >>> stream.push("Sure.\\n\\n", 10.0)
    >>> stream.push("Hm.\\n\\n", 7.5)
    Injection(text='wait', take_back=0)
    """

    alpha: float = ALPHA
    """The weight of the old threshold when a step updates it."""

    delta: float = DELTA
    """A drop is a step below this share of the threshold; 0 never reflects."""

    reflection: str = REFLECTION

    split: Splitter = field(default_factory=DelimiterSplitter)

    guard: bool = False
    """Whether the end of the text is refused, at most once, if there is no answer or the unfinished step
    dropped. The step continues with the reflection."""

    released: bool = False
    """Whether to behave like the authors' released code: it uses the most likely token of each position,
    samples the exchanged position at the run's temperature, and can't refuse an end (see `released`). Only
    engines that do their own sampling support it."""

    optional: bool = field(default=False, compare=False, repr=False)
    """Whether an engine that does not support it samples without it; if not, that is an error."""

    has_answer: Callable[[str], bool] = field(default=gives_answer, compare=False, repr=False)
    """How the guard decides whether a text states an answer; it depends on the question, see `answering`."""

    def __post_init__(self) -> None:
        check_alpha_and_delta(self.alpha, self.delta)
        if not self.reflection.strip():
            raise InputError(
                f"the reflection text is {self.reflection!r}",
                hint='give at least one word, such as "wait"',
                argument="reflection",
            )
        if not hasattr(self.split, "start"):
            raise InputError(f"the splitter is {self.split!r}: give one, for example by splitting.splitter")
        if self.released and self.guard:
            raise InputError(
                "guard and released are both on, but the authors' released code can't refuse an end of the"
                " text: give one of them"
            )

    @classmethod
    def as_published(cls) -> SelfStepConf:
        """Return what the authors' released code does, for comparisons with the paper's numbers.

        >>> SelfStepConf.as_published().released
        True
        """
        return cls(split=DelimiterSplitter(exact_token=True), released=True)

    @property
    def headline(self) -> str:
        return "SelfStepConf on"

    @property
    def uses_entropy(self) -> bool:
        return self.split.uses_entropy

    def answering(self, find: Extractor) -> SelfStepConf:
        return replace(self, has_answer=partial(_finds, find))

    def required(self) -> SelfStepConf:
        return replace(self, optional=False)

    def settings(self) -> dict[str, float | str]:
        return {"alpha": self.alpha, "delta": self.delta, "reflection": self.reflection}

    def line(self, record: Interventions) -> tuple[float, ...]:
        taus = thresholds(record, self.alpha, self.delta)
        return (math.nan, *(self.delta * tau for tau in taus[:-1])) if taus else ()

    def told(self, trajectories: Sequence[Trajectory]) -> str:
        records = [each.interventions for each in trajectories if each.interventions is not None]
        reflections = count(sum(record.n_reflections for record in records), "reflection")
        ratios = [lowest_ratio(record, self.alpha, self.delta) for record in records]
        known = [ratio for ratio in ratios if ratio == ratio]
        if not known:
            return f"{reflections}; no trajectory has two steps to compare"
        lowest = f"lowest step at {min(known):.2f} of the threshold"
        return f"{reflections}, {lowest} (reflects below {self.delta:g})"

    def plugin_settings(self) -> SelfStepConf:
        return self

    @property
    def reflecting(self) -> SelfStepConf:
        return self

    def start(self) -> ControllerStream:
        if self.released:
            return ReleasedStream(self.alpha, self.delta, self.reflection, self.split)
        return StepStream(self)


def _finds(find: Extractor, text: str) -> bool:
    return find(text) is not None


class StepStream:
    """One trajectory, step by step."""

    __slots__ = (
        "_blank",
        "_confidences",
        "_ends",
        "_ends_step",
        "_guard",
        "_injection",
        "_log",
        "_n_known",
        "_n_tokens",
        "_threshold",
        "_total",
    )

    def __init__(self, controller: SelfStepConf) -> None:
        self._ends_step = controller.split.start().push
        self._threshold = Threshold(controller.alpha, controller.delta)
        self._injection = Injection(controller.reflection)
        self._guard = controller.guard
        self._log = InsertionLog()
        self._ends: list[int] = []
        self._confidences: list[float] = []
        self._n_tokens = 0
        # Of the current step: the sum and the number of known confidences, and whether it has no text yet.
        self._total = 0.0
        self._n_known = 0
        self._blank = True

    @property
    def n_steps(self) -> int:
        """How many steps have ended."""
        return len(self._ends)

    @property
    def last_step(self) -> tuple[int, float]:
        """Where the last one ended, and its confidence."""
        return self._ends[-1], self._confidences[-1]

    def push(self, text: str, confidence: float, entropy: float = math.nan) -> Injection | None:
        self._n_tokens += 1
        if confidence == confidence:  # not NaN, without the cost of a call
            self._total += confidence
            self._n_known += 1
        if self._blank and text and not text.isspace():
            self._blank = False
        if not self._ends_step(text, entropy):
            return None
        of_step = self._mean()
        self._ends.append(self._n_tokens)
        self._confidences.append(of_step)
        self._total, self._n_known, self._blank = 0.0, 0, True
        return self._inject() if self._threshold.take(of_step) else None

    def push_injected(self, text: str, confidence: float = math.nan) -> None:
        self._log.add(self._n_tokens)
        self._n_tokens += 1
        if not math.isnan(confidence):
            self._total += confidence
            self._n_known += 1
        if text and not text.isspace():
            self._blank = False
        self._ends_step(text)

    def at_end(self, answered: Callable[[], bool]) -> Injection | None:
        if self.allows_end(answered):
            return None
        self._guard = False
        return self._inject()

    def allows_end(self, answered: Callable[[], bool]) -> bool:
        if not self._guard:
            return True
        dropped = not self._blank and self._threshold.drops(self._mean())
        return not dropped and answered()

    def record(self) -> Interventions:
        ends, confidences = list(self._ends), list(self._confidences)
        unfinished = self._n_tokens > 0 and (not self._blank or not ends)
        if unfinished:
            ends.append(self._n_tokens)
            confidences.append(self._mean())
        elif ends:
            ends[-1] = self._n_tokens
        return Interventions(self._log.insertions(), tuple(ends), tuple(confidences), unfinished)

    def _mean(self) -> float:
        return float(self._total / self._n_known) if self._n_known else math.nan

    def _inject(self) -> Injection:
        self._log.announce()
        return self._injection
