"""What kind of numbers confidences are, and which of them a vote accepts.

Every confidence is 0, or 1e-100 to 1e100 in absolute value, or NaN: missing. Votes that use only ranks accept
any of them. Votes that sum confidences need positive ones; exp makes log-probabilities positive. `auto` and
the probability weigh confidences too, but accept any: the scale is chosen from all confidences of one call or
file, never from one pool.

    POSITIVE   all are above 0: they are used unchanged
    LOGPROB    none is above 0: they are log-probabilities, and their exp is used
    STANDARD   otherwise: exp(STEP * z), z being a confidence in standard deviations from its pool's mean
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np

from distrivote.confidence.trajectories import LARGEST, SMALLEST
from distrivote.errors import InputError, UnknownNameError
from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray

STEP = 0.1
"""One standard deviation, in the logarithm: about the spread of models' confidences, and two Gaussians still
fit the result."""

LOWEST = -230.0
"""exp of less is below the smallest confidence. Mean log-probabilities of tokens are far above it."""

_FLAT = 1e-12
"""A standard deviation below this is rounding error: all values are equal."""


class Scale(StrEnum):
    """How confidences become the positive numbers that are weighed."""

    POSITIVE = "positive"
    LOGPROB = "logprob"
    STANDARD = "standard"


NOTES = {
    Scale.POSITIVE: "",
    Scale.LOGPROB: "no confidence is above 0, so they are taken for log-probabilities: exp of them counts",
    Scale.STANDARD: (
        "confidences are neither all positive nor log-probabilities per token, so each is taken in standard"
        " deviations of its question"
    ),
}
"""The note about a vote with such confidences."""


def check_confidences(
    confidences: FloatArray,
    place: Callable[[int], str] = "confidence {}".format,
    positive_for: str | None = None,
) -> None:
    """Raise InputError for the first value that is too large or small, or not positive if that is needed.

    Args:
        confidences: Flat; NaN is missing.
        place: Returns where a value came from.
        positive_for: The method that needs positive ones, if there is one.
    """
    low, high = _range(confidences)
    if low >= SMALLEST and high <= LARGEST:
        return
    bad = ~(np.isnan(confidences) | permitted(confidences, positive_for is not None))
    if bad.any():
        index = int(bad.argmax())
        raise not_permitted(place(index), float(confidences[index]), positive_for)


_LOGPROB = '`confidence_scale="logprob"`'


def permitted(values: Any, positive: bool) -> Any:
    """Return whether a number, or each of an array, may be a confidence; NaN, which is missing, may not."""
    if positive:
        return (values >= SMALLEST) & (values <= LARGEST)
    return (values == 0) | ((abs(values) >= SMALLEST) & (abs(values) <= LARGEST))


def not_permitted(place: str, value: float, positive_for: str | None) -> InputError:
    """Return the error for a confidence that is not permitted; `place` says where it came from."""
    if value > 0 or value < -LARGEST or positive_for is None:
        hint = (
            "confidences are finite, 1e-100 to 1e100 in size, higher meaning surer; a missing one is NaN or"
            " blank"
        )
        return InputError(f"{place} is {value:g}", hint=hint)
    return InputError(
        f"{place} is {value:g}, and {positive_for} needs positive ones",
        hint=f"for log-probabilities say {_LOGPROB}; auto and votes by rank (sc, bon, borda, mob) take any"
        " numbers",
        argument="confidence_scale",
    )


def exp_of(logprobs: FloatArray, place: Callable[[int], str] = "confidence {}".format) -> FloatArray:
    """Return exp of log-probabilities; raise InputError for the first invalid value. NaN stays NaN."""
    low, high = _range(logprobs)
    if high > 0 or low < LOWEST:
        index = int(((logprobs > 0) | (logprobs < LOWEST)).argmax())
        value = logprobs[index]
        wrong, hint = "but log-probabilities are 0 or below", f"leave out {_LOGPROB}"
        if value <= 0:
            wrong = "whose exp is below 1e-100"
            hint = f"with {_LOGPROB}, give the mean of a token, not the sum"
        raise InputError(f"{place(index)} is {value:g}, {wrong}", hint=hint, argument="confidence_scale")
    logs: FloatArray = np.exp(logprobs)
    return logs


def sigmoid_of(logits: FloatArray, place: Callable[[int], str] = "confidence {}".format) -> FloatArray:
    """Return the probabilities of logits; raise InputError for the first whose is too small. NaN stays NaN.

    >>> sigmoid_of(np.array([0.0, -2.0])).round(4).tolist()
    [0.5, 0.1192]
    """
    low, _ = _range(logits)
    if low < LOWEST:
        index = int((logits < LOWEST).argmax())
        raise InputError(
            f"{place(index)} is {logits[index]:g}, and the probability of such a logit is below 1e-100",
            hint="use auto or a vote by rank (bon, borda, mob), which take any numbers",
            argument="confidence_scale",
        )
    odds = np.exp(-np.abs(logits))
    probabilities: FloatArray = np.where(logits >= 0, 1.0, odds) / (1.0 + odds)
    return probabilities


Convert: TypeAlias = Callable[[FloatArray, Callable[[int], str]], FloatArray]
_CONVERTERS: dict[str, Convert] = {"logprob": exp_of, "logit": sigmoid_of}


def converter(name: str | None) -> Convert | None:
    """Return how confidences of a named scale become positive ones: `logprob` by exp, `logit` by sigmoid."""
    if name is not None and name not in _CONVERTERS:
        raise UnknownNameError("scale of confidences", name, _CONVERTERS, argument="confidence_scale")
    return None if name is None else _CONVERTERS[name]


def made_positive(
    classes: IntArray, values: FloatArray, offsets: IntArray, convert: Convert | None = None
) -> tuple[FloatArray, str]:
    """Return the values of pools as positive ones that vote alike by rank, and a note if they were not.

    Pool i is [offsets[i]:offsets[i + 1]]; `convert` is what the user says about the scale.
    """
    if convert is not None:
        return convert(values, "score {}".format), ""
    scale = scale_of(classes, values)
    return on_scale(scale, classes, values, offsets), NOTES[scale]


@dataclass(slots=True)
class Seen:
    """The range of the confidences so far, of answers only."""

    low: float = math.nan
    high: float = math.nan

    def add(self, classes: IntArray, confidences: FloatArray) -> None:
        low, high = _range(confidences)
        if low <= 0:  # trajectories without an answer do not count
            low, high = _range(confidences[classes >= 0])
        self.low, self.high = float(np.fmin(self.low, low)), float(np.fmax(self.high, high))

    @property
    def scale(self) -> Scale:
        if not self.low <= 0:
            return Scale.POSITIVE
        return Scale.LOGPROB if self.high <= 0 and self.low >= LOWEST else Scale.STANDARD


def scale_of(classes: IntArray, confidences: FloatArray) -> Scale:
    """Return the scale for the confidences of one call."""
    seen = Seen()
    seen.add(classes, confidences)
    return seen.scale


def on_scale(scale: Scale, classes: IntArray, confidences: FloatArray, offsets: IntArray) -> FloatArray:
    """Return the positive numbers that are weighed: the confidences themselves if these are positive.

    Pool i is [offsets[i]:offsets[i + 1]]. Values of trajectories without an answer are undefined.
    """
    if scale is Scale.POSITIVE:
        return confidences
    there = (classes >= 0) & ~np.isnan(confidences)
    values = np.where(there, confidences, 0.0)
    if scale is Scale.STANDARD:
        which = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        peaks = np.zeros(len(offsets) - 1)
        np.maximum.at(peaks, which, np.abs(values[offsets[0] : offsets[-1]]))
        values[offsets[0] : offsets[-1]] /= np.where(peaks > 0, peaks, 1.0)[which]
        values = STEP * standardised(values, there, offsets)
    return np.where(there, np.exp(values), np.nan)


def standardised(values: FloatArray, there: BoolArray, offsets: IntArray) -> FloatArray:
    """Return the values in standard deviations from their pool's mean; 0 for missing ones."""
    n_pools = len(offsets) - 1
    inside = slice(int(offsets[0]), int(offsets[-1]))
    which, some = np.repeat(np.arange(n_pools), np.diff(offsets)), there[inside]
    kept = np.where(some, values[inside], 0.0)
    n = np.maximum(np.bincount(which, some, n_pools), 1.0)
    centred = np.where(some, kept - (np.bincount(which, kept, n_pools) / n)[which], 0.0)
    sds = np.sqrt(np.bincount(which, centred**2, n_pools) / n)
    result = np.zeros(len(values))
    result[inside] = centred / np.where(sds > _FLAT, sds, np.inf)[which]
    return result


def _range(values: FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest value, NaN if there is none."""
    return float(np.fmin.reduce(values, initial=np.nan)), float(np.fmax.reduce(values, initial=np.nan))
