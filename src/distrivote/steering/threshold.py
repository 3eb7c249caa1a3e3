"""Has the confidence of a step dropped? The rule of SelfStepConf, over step confidences alone.

    first step    tau := C_0
    later step m  drop if C_m / tau < delta and C_m < C_{m-1}; then tau stays
                  otherwise tau := alpha * tau + (1 - alpha) * C_m

C_{m-1} is the previous step, whether it dropped or not. A step without a confidence is ignored: it can't
drop, and changes neither tau nor C_{m-1}. With a tau of 0 nothing drops. Tokens and texts are not used here.
"""

from __future__ import annotations

import math

from distrivote.errors import InputError
from distrivote.trajectory import Interventions


class Threshold:
    """The state of the rule for one trajectory."""

    __slots__ = ("_alpha", "_delta", "_previous", "tau")

    def __init__(self, alpha: float, delta: float) -> None:
        check_alpha_and_delta(alpha, delta)
        self._alpha = alpha
        self._delta = delta
        self._previous = math.nan
        self.tau = math.nan

    def drops(self, confidence: float) -> bool:
        """Say whether a step with this confidence would drop now."""
        # Before the first step tau is NaN, and NaN > 0 is false.
        return self.tau > 0 and confidence / self.tau < self._delta and confidence < self._previous

    def take(self, confidence: float) -> bool:
        """Add the next step and say whether it dropped."""
        if math.isnan(confidence):
            return False
        dropped = self.drops(confidence)
        if math.isnan(self.tau):
            self.tau = confidence
        elif not dropped:
            self.tau = self._alpha * self.tau + (1 - self._alpha) * confidence
        self._previous = confidence
        return dropped


def thresholds(record: Interventions, alpha: float, delta: float) -> tuple[float, ...]:
    """Return tau after each step, NaN up to the first one with a confidence.

    >>> thresholds(Interventions((), (4, 7, 9), (10.0, 12.0, 8.0)), alpha=0.5, delta=0.8)
    (10.0, 11.0, 11.0)
    """
    threshold = Threshold(alpha, delta)
    taus = []
    for confidence in _judged(record):
        threshold.take(confidence)
        taus.append(threshold.tau)
    if record.unfinished:
        taus.append(threshold.tau)
    return tuple(taus)


def lowest_ratio(record: Interventions, alpha: float, delta: float) -> float:
    """Return the smallest C_m / tau of all steps that were compared, NaN if none was.

    With a delta below 1 it is below delta if and only if a step dropped, since the first step below delta
    is also below the step before it.

    >>> lowest_ratio(Interventions((), (4, 7, 9), (10.0, 12.0, 9.36)), alpha=0.8, delta=0.8)
    0.9
    """
    threshold = Threshold(alpha, delta)
    ratios = []
    for confidence in _judged(record):
        if threshold.tau > 0 and not math.isnan(confidence):
            ratios.append(confidence / threshold.tau)
        threshold.take(confidence)
    return min(ratios, default=math.nan)


def check_alpha_and_delta(alpha: float, delta: float) -> None:
    """Raise InputError unless both values are valid."""
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha is {alpha}", hint="give a number from 0 to 1, such as 0.8", argument="alpha")
    if not 0 <= delta < math.inf:
        raise InputError(f"delta is {delta}", hint="give a number from 0 up, such as 0.8", argument="delta")


def _judged(record: Interventions) -> tuple[float, ...]:
    return record.step_confidences[:-1] if record.unfinished else record.step_confidences
