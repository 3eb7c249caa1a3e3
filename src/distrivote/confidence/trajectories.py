"""The measures of a trajectory's confidence, by name and with one interface.

    answer-step      mean token confidence of the step in which the answer ends (the last step if there
                     is no answer)
    mean             mean token confidence
    tail             mean token confidence of the last 2,048 tokens
    lowest-group     the lowest mean over 2,048 neighbouring tokens
    bottom-groups    the mean of the lowest tenth of those means, at least one
    logprob          geometric mean of the sampled tokens' probabilities, exp(mean log p)
    perplexity       the same: 1 / perplexity, so that higher means surer
    entropy          exp(-mean entropy)
    self-certainty   mean self-certainty
    length           1,000 / the number of tokens: shorter is surer. It needs no log-probabilities
    stated           what the reply itself says, 0 to 1; it has to be asked for (see `stated`)

tail, lowest-group and bottom-groups are DeepConf's; a trajectory shorter than a group is one group, and
another length is written `tail:512`. Tokens without a value are left out first, so that a tail or a group
counts only tokens with a value. entropy and self-certainty are those of the whole distribution if the
trajectory has them, otherwise those of the renormalised top k.

Every value is positive and higher means surer. A value that is not positive is not a measurement (one entry
has all the probability: the server truncated the distribution); it becomes NaN with a note. The positions of
steps and answers are arguments.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from distrivote.confidence.stated import STATED
from distrivote.confidence.steps import StepEnds, check_step_ends, step_of
from distrivote.confidence.tokens import (
    DEFAULT_K,
    TokenValues,
    token_confidence,
    token_confidences,
    token_entropy,
    token_logprob,
    token_self_certainty,
    token_whole,
)
from distrivote.defaults import MEASURE
from distrivote.errors import InputError
from distrivote.names import MEASURE as ROLE
from distrivote.names import Own, called, check_call, found, guarded_whole, misgiven, own_of, unknown
from distrivote.trajectory import Floats, Trajectory

SMALLEST, LARGEST = 1e-100, 1e100
"""The range of confidences other than 0: no measure of a model is outside of it, and no sum overflows."""

DEFAULT_MEASURE = MEASURE
LENGTH = "length"
N_GROUP_TOKENS = 2048
BOTTOM_SHARE = 0.1
NOTED_LOSS = 0.01
"""The share of tokens with lost entries above which a trajectory gets a note."""


class TrajectoryConfidence(NamedTuple):
    """How sure the model was of one trajectory."""

    value: float
    """Positive; NaN if there is nothing to measure."""

    k: int
    """How many of the most probable entries of a token were used; 0 if none are needed."""

    notes: tuple[str, ...] = ()
    """Caveats, a sentence each."""


def _no_whole(_: Trajectory) -> Floats | None:
    return None


@dataclass(frozen=True, slots=True)
class Measure:
    """One way to compute a trajectory's confidence: a value for each token, and how they are combined."""

    name: str

    token_values: Callable[[Trajectory, int], TokenValues]
    """(trajectory, k) -> a value per token."""

    reduce: Callable[[Floats], float]
    """The values of the tokens that count (at least one, no NaN) -> the confidence."""

    answer_step_only: bool = False
    """Whether only the tokens of the step in which the answer ends count."""

    uses_top_k: bool = True
    """Whether it uses the k most probable entries, so that k matters."""

    needs: str = "usable log-probabilities"
    """What a trajectory without a confidence lacks, in words."""

    advice: str = "ask the server for log-probabilities from before top-p and other truncation"
    """What to do about values that are not positive."""

    whole: Callable[[Trajectory], Floats | None] = _no_whole
    """The values of the tokens from the whole distribution, which are preferred; None if there are none."""

    def of(
        self,
        trajectory: Trajectory,
        *,
        k: int = DEFAULT_K,
        step_ends: StepEnds | None = None,
        answer_end: int | None = None,
        answer_start: int | None = None,
        tokens: TokenValues | None = None,
    ) -> TrajectoryConfidence:
        """Return the confidence of a trajectory.

        `step_ends` are exclusive token indices, which only answer-step needs; `answer_end` is the
        offset in the text just after the answer, None if there is none; a long answer has an `answer_start`
        too, and then its own tokens are its step. `tokens` are the values of its tokens, where they are
        known (see `values_of`).

        >>> trajectory = Trajectory("4!", ("4", "!"), np.log([[0.9, 0.1], [0.5, 0.2]]), np.zeros(2))
        >>> round(measure_named("mean").of(trajectory).value, 4)
        1.1776
        """
        if tokens is None:
            tokens = self._values_of(trajectory, k)
        values = tokens.values
        if self.answer_step_only:
            values = values[_answer_step(trajectory, step_ends, answer_end, answer_start)]
        values = values[~np.isnan(values)]
        notes = []
        n_lost = tokens.n_lost - _n_injected_without(tokens.values, trajectory) if tokens.n_lost else 0
        if n_lost > NOTED_LOSS * trajectory.n_tokens:
            notes.append(_loss_note(n_lost, tokens.k, trajectory.n_tokens))
        value = float(self.reduce(values)) if len(values) else np.nan
        if value <= 0:
            notes.append(
                f"its {self.name} confidence is {value:g}, which is not a measurement: {self.advice}"
            )
            value = np.nan
        return TrajectoryConfidence(value, tokens.k, tuple(notes))

    def values_of(self, trajectories: Sequence[Trajectory], k: int = DEFAULT_K) -> list[TokenValues]:
        """Return the values of the tokens of each trajectory."""
        if self.token_values is _confidence:
            return token_confidences([trajectory.top_logprobs for trajectory in trajectories], k)
        return [self._values_of(trajectory, k) for trajectory in trajectories]

    def _values_of(self, trajectory: Trajectory, k: int) -> TokenValues:
        whole = self.whole(trajectory)
        return self.token_values(trajectory, k) if whole is None else token_whole(whole)


def measure_named(name: str) -> Measure:
    """Return the measure with this name; `tail:512` and the like set the number of tokens.

    >>> measure_named("tail:512").name
    'tail:512'
    """
    kind, colon, size = name.partition(":")
    if kind in _GROUPED and not (colon and not (size.isdecimal() and int(size))):
        n_tokens = int(size) if colon else N_GROUP_TOKENS
        return Measure(name, _confidence, partial(_GROUPED[kind], n_tokens=n_tokens))
    if name in _PLAIN:
        return _PLAIN[name]
    known = (*MEASURES, LENGTH, STATED)
    own = found(ROLE, name, known)
    if own is None:
        raise unknown(ROLE, name, known)
    return _own_measure(own)


OwnMeasure: TypeAlias = Callable[[Trajectory], float]
"""A function of one's own: positive, higher meaning surer; NaN or None for no confidence."""


def measure_of(measure: str | Measure | OwnMeasure) -> Measure:
    """Return the measure that is meant: by name, as an object, or made from a function.

    >>> measure_of(lambda trajectory: len(trajectory.text)).of(Trajectory("four")).value
    4.0
    """
    if isinstance(measure, str):
        return measure_named(measure)
    if isinstance(measure, Measure):
        return guarded_whole(ROLE, measure.name, measure)
    return _own_measure(own_of(ROLE, measure))


def _own_measure(own: Own) -> Measure:
    if isinstance(own.value, Measure):
        return measure_of(replace(own.value, name=own.name))
    check_call(ROLE, own, 1)

    def value_of(trajectory: Trajectory, _k: int) -> TokenValues:
        value: Any = called(ROLE, own.name, own.value, trajectory)
        try:
            return token_whole(np.array([np.nan if value is None else float(value)]))
        except (TypeError, ValueError):
            raise misgiven(ROLE, own, f"returned {str(value)[:60]}") from None

    return Measure(
        own.name,
        value_of,
        _mean,
        uses_top_k=False,
        needs=f"a value of {own.name}",
        advice="return a positive number, higher meaning surer, or NaN",
    )


def _confidence(trajectory: Trajectory, k: int) -> TokenValues:
    return token_confidence(trajectory.top_logprobs, k)


def _entropy(trajectory: Trajectory, k: int) -> TokenValues:
    return token_entropy(trajectory.top_logprobs, k)


def _self_certainty(trajectory: Trajectory, k: int) -> TokenValues:
    return token_self_certainty(trajectory.top_logprobs, k)


def _entropies(trajectory: Trajectory) -> Floats | None:
    return trajectory.entropies


def _self_certainties(trajectory: Trajectory) -> Floats | None:
    return trajectory.self_certainties


def _logprob(trajectory: Trajectory, _k: int) -> TokenValues:
    return token_logprob(trajectory.logprobs)


def _lengths(trajectory: Trajectory, _k: int) -> TokenValues:
    return token_whole(np.ones(trajectory.n_tokens))


def _stated(trajectory: Trajectory, _k: int) -> TokenValues:
    return token_whole(np.array([] if trajectory.stated is None else [trajectory.stated]))


def _shortness(values: Floats) -> float:
    return 1000 / len(values)


def _mean(values: Floats) -> float:
    return float(values.sum() / len(values))  # half the time of values.mean(), and the same


def _positive_mean(values: Floats) -> float:
    # 0 is a valid value here (a uniform distribution everywhere); the floor keeps it positive.
    return max(_mean(values), float(np.finfo(np.float64).eps))


def _mean_probability(values: Floats) -> float:
    return max(float(np.exp(min(_mean(values), 0.0))), SMALLEST)


def _certainty_of_entropies(values: Floats) -> float:
    return float(np.exp(-_mean(values)))


def _tail(values: Floats, n_tokens: int) -> float:
    return _mean(values[-n_tokens:])


def _lowest_group(values: Floats, n_tokens: int) -> float:
    return float(_group_means(values, n_tokens).min())


def _bottom_groups(values: Floats, n_tokens: int) -> float:
    means = _group_means(values, n_tokens)
    n_bottom = max(1, int(len(means) * BOTTOM_SHARE))
    return _mean(np.partition(means, n_bottom - 1)[:n_bottom])


def _group_means(values: Floats, n_tokens: int) -> Floats:
    """Return the mean of every n_tokens consecutive values, or of all if there are fewer."""
    n_tokens = min(n_tokens, len(values))
    sums = np.concatenate(([0.0], np.cumsum(values)))
    # Rounding can move differences of cumulative sums out of the range of the values.
    return np.clip((sums[n_tokens:] - sums[:-n_tokens]) / n_tokens, values.min(), values.max())


def _answer_step(
    trajectory: Trajectory, step_ends: StepEnds | None, answer_end: int | None, answer_start: int | None
) -> slice:
    """Return the tokens of the step in which the answer ends, or of the last step; a long answer's own."""
    n = len(trajectory.tokens)
    if step_ends is None:
        raise InputError("the answer-step measure needs the steps: give step_ends")
    check_step_ends(step_ends, n)
    if n == 0:
        return slice(0, 0)
    if answer_end is None:
        return step_of(n - 1, step_ends)
    ends = list(accumulate(map(len, trajectory.tokens)))
    token = bisect_left(ends, answer_end)
    if answer_start is not None:
        return slice(bisect_right(ends, answer_start), min(token, n - 1) + 1)
    return step_of(min(token, n - 1), step_ends)


def _n_injected_without(values: Floats, trajectory: Trajectory) -> int:
    """Count injected tokens without a value: an engine that works by continuation has none for them."""
    record = trajectory.interventions
    if record is None:
        return 0
    spans = [values[each.start : each.start + each.n_tokens] for each in record.insertions]
    return sum(int(np.count_nonzero(np.isnan(span))) for span in spans)


def _loss_note(n_lost: int, k: int, n_tokens: int) -> str:
    what = f"some of their {k} log-probabilities" if k else "their log-probability"
    return (
        f"{n_lost} of its {n_tokens} tokens lack {what} (NaN, -inf or a sentinel such as -9999"
        " came instead), so its confidence is that of the rest"
    )


_GROUPED: dict[str, Callable[..., float]] = {
    "tail": _tail,
    "lowest-group": _lowest_group,
    "bottom-groups": _bottom_groups,
}
_PLAIN: dict[str, Measure] = {
    "answer-step": Measure("answer-step", _confidence, _mean, answer_step_only=True),
    "mean": Measure("mean", _confidence, _mean),
    "logprob": Measure("logprob", _logprob, _mean_probability, uses_top_k=False),
    "perplexity": Measure("perplexity", _logprob, _mean_probability, uses_top_k=False),
    LENGTH: Measure(LENGTH, _lengths, _shortness, uses_top_k=False),
    STATED: Measure(STATED, _stated, _mean, uses_top_k=False, needs="a stated confidence"),
    "entropy": Measure("entropy", _entropy, _certainty_of_entropies, whole=_entropies),
    "self-certainty": Measure("self-certainty", _self_certainty, _positive_mean, whole=_self_certainties),
}

MEASURES = ("answer-step", "mean", *_GROUPED, "logprob", "perplexity", "entropy", "self-certainty")
"""Every measure of log-probabilities that `measure_named` knows."""
