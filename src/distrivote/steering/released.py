"""SelfStepConf as in the authors' released code: `SelfStepConf.as_published()`.

It follows commit e958cda of yxizhong/SSC (model/selfstepconf_processors.py). That is a logits processor,
which sees a position before it is sampled and uses the most likely token there, whatever is sampled then:

- A step ends where the most likely token ends one, even if it has only white space. It drops if
  C_m / tau < delta and C_m <= C_{m-1}.
- A drop sets a flag, and the logits of the position stay unchanged. At the next position the logits of the
  most likely token and of the first token of the reflection are exchanged, and the position is sampled like
  any other. So the reflection appears with the probability that the most likely token had. Boundaries and
  ends are not looked for there.
- Where the most likely token would end the text, the flag is set if the most likely tokens of the step hold
  no boxed answer, or if the step dropped and the answers so far are not settled (at least 2 of them, the most
  frequent with 0.95 of their confidence). The end is not refused: the flag matters only if another token is
  sampled. Flagged or not, the mean so far becomes C_{m-1}, and tau is unchanged.

The record holds what really appeared: a reflection that was not sampled is not in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from distrivote.splitting import DelimiterSplitter, EntropySplitter, Splitter, WindowSplitter
from distrivote.steering.controller import InsertionLog
from distrivote.trajectory import Interventions

_SETTLED = 0.95
_FEWEST_ANSWERS = 2


class ReleasedStream:
    """One trajectory. At each position the engine asks `exchanges`, calls `look`, samples, and pushes.

    >>> stream = ReleasedStream(0.8, 0.8, "wait", DelimiterSplitter(exact_token=True))
    >>> for likeliest, confidence in [("\\n\\n", 10.0), ("a", 6.0), ("\\n\\n", 9.0)]:
    ...     stream.look(likeliest, confidence)
    ...     stream.push(likeliest, confidence)
    >>> stream.exchanges, stream.record().step_confidences
    (True, (10.0, 7.5))
    """

    __slots__ = (
        "_alpha",
        "_answers",
        "_blank",
        "_closes",
        "_confidences",
        "_delta",
        "_ends",
        "_log",
        "_n_looked",
        "_n_tokens",
        "_previous",
        "_split",
        "_steps",
        "_tau",
        "_texts",
        "_values",
        "exchanges",
        "reflection",
    )

    def __init__(self, alpha: float, delta: float, reflection: str, split: Splitter) -> None:
        self.reflection = reflection
        self.exchanges = False
        """Whether the first token of the reflection is exchanged at the next position."""

        self._alpha = alpha
        self._delta = delta
        self._split = split
        self._steps = split.start()
        self._tau = 0.0
        self._previous = math.nan
        self._answers: dict[str, list[float]] = {}
        # Of the current step: the confidences, the most likely tokens, whether this position ends it, and
        # whether only white space was sampled in it.
        self._values: list[float] = []
        self._texts: list[str] = []
        self._closes = False
        self._blank = True
        self._log = InsertionLog()
        self._ends: list[int] = []
        self._confidences: list[float] = []
        self._n_looked = 0
        self._n_tokens = 0

    def look(self, likeliest: str | None, confidence: float, entropy: float = math.nan) -> None:
        """Add the model's distribution at the next position.

        Args:
            likeliest: The text of the most likely token; None if it would end the text.
            confidence: Of the position, NaN if unknown.
            entropy: In nats, for splitters that use it.
        """
        self._n_looked += 1
        self._values.append(confidence)
        if self.exchanges:
            self.exchanges = False
            self._texts.append(self.reflection)
        elif likeliest is None:
            self._closes = self.exchanges = self._doubts_end()
        else:
            self._texts.append(likeliest)
            if self._ends_step(likeliest, entropy):
                self._closes = True
                self.exchanges = self._dropped()

    def push(
        self,
        text: str,
        confidence: float,  # noqa: ARG002
        entropy: float = math.nan,  # noqa: ARG002
    ) -> None:
        """Add the token that was sampled at the position of the last `look`."""
        self._n_tokens += 1
        self._blank = self._blank and (not text or text.isspace())
        if self._closes:
            self._ends.append(self._n_tokens)
            self._confidences.append(_mean(self._values))
            self._values, self._texts, self._blank, self._closes = [], [], True, False

    def push_injected(self, text: str, confidence: float = math.nan) -> None:
        """Add the token of the reflection, which was sampled where it had been exchanged."""
        self._log.add(self._n_tokens)
        self.push(text, confidence)

    def at_end(self, answered: Callable[[], bool]) -> None:
        """Accept the end of the text."""

    def allows_end(self, answered: Callable[[], bool]) -> bool:  # noqa: ARG002
        return True

    def record(self) -> Interventions:
        ends, confidences = list(self._ends), list(self._confidences)
        unfinished = self._n_tokens > 0 and (not self._blank or not ends)
        if unfinished:
            # The position that ended the text is not one of its tokens.
            n_here = self._n_tokens - (ends[-1] if ends else 0)
            ends.append(self._n_tokens)
            confidences.append(_mean(self._values[:n_here]))
        elif ends:
            ends[-1] = self._n_tokens
        return Interventions(self._log.insertions(), tuple(ends), tuple(confidences), unfinished)

    def _ends_step(self, text: str, entropy: float) -> bool:
        split = self._split
        if isinstance(split, DelimiterSplitter):
            return text == split.delimiter if split.exact_token else split.delimiter in text
        if isinstance(split, WindowSplitter):
            return self._n_looked % split.n_tokens == 0
        if isinstance(split, EntropySplitter):
            return entropy > split.threshold and len(self._values) >= split.min_tokens
        return self._steps.push(text, entropy)

    def _dropped(self) -> bool:
        """Judge the step that ends here."""
        of_step = _mean(self._values)
        if math.isnan(of_step):
            return False
        dropped = self._drops(of_step)
        if not dropped:
            first = self._tau <= 0
            self._tau = of_step if first else self._alpha * self._tau + (1 - self._alpha) * of_step
        self._previous = of_step
        return dropped

    def _drops(self, of_step: float) -> bool:
        return self._tau > 0 and of_step / self._tau < self._delta and of_step <= self._previous

    def _doubts_end(self) -> bool:
        """Say whether the flag is set at a position where the text would most likely end."""
        so_far = _mean(self._values)
        dropped = self._drops(so_far)
        if not math.isnan(so_far):
            self._previous = so_far
        answer = _boxed("".join(self._texts))
        if not answer:
            return True
        self._answers.setdefault(answer, []).append(so_far)
        return dropped and not self._settled()

    def _settled(self) -> bool:
        if sum(map(len, self._answers.values())) < _FEWEST_ANSWERS:
            return False
        most = max(self._answers.values(), key=len)
        return sum(most) >= _SETTLED * sum(map(sum, self._answers.values()))


def _mean(values: list[float]) -> float:
    known = [value for value in values if value == value]
    return float(sum(known) / len(known)) if known else math.nan


def _boxed(text: str) -> str | None:
    r"""Return the content of the last "boxed" of a text, as the released code reads it.

    >>> _boxed(r"so \boxed{\frac{1}{2}}."), _boxed(r"$\boxed 7$"), _boxed("seven")
    ('\\frac{1}{2}', '7', None)
    """
    _, found, rest = text.rpartition("boxed")
    if not found:
        return None
    if not rest.startswith("{"):
        return rest.partition("$")[0].strip()
    depth = 0
    for at, character in enumerate(rest):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return rest[1:at].strip()
    return rest[1:].strip()
