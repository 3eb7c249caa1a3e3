"""When is an answer not probable enough to be given?"""

from __future__ import annotations

import numpy as np

from distrivote.errors import InputError
from distrivote.voting.kernels.pools import BoolArray
from distrivote.voting.probability import Calibration
from distrivote.voting.promises import check_max_error
from distrivote.voting.tally import Outcome, Tally


def check_min_probability(value: float) -> float:
    """Return the least probability of an answer; raise InputError if it is not from 0 to 1."""
    if not 0 <= value <= 1:
        raise InputError(
            f"the least probability is {value:g}",
            hint="give a number from 0 to 1",
            argument="min_probability",
        )
    return value


def asked_probability(
    min_probability: float, max_error: float | None, calibration: Calibration | None, method: str
) -> float:
    """Return the least probability of an answer: what was asked for, and what keeps the promise of an error.

    `max_error` is the largest share of wrong answers among the given ones; `promises` says what that means.
    """
    least = check_min_probability(min_probability)
    if max_error is None:
        return least
    check_max_error(max_error)
    promise = None if calibration is None else calibration.promise
    if promise is None:
        raise InputError(
            "a largest error needs labelled questions, and the calibration has none",
            hint="give `calibration` as a file that distrivote calibrate wrote with `max_error`",
            argument="max_error",
        )
    promise.check(method)
    return max(least, promise.least_probability(max_error))


def abstains(outcome: Outcome, min_probability: float) -> BoolArray:
    """(n_pools,) Where there is an answer, and it is not probable enough."""
    return np.asarray((outcome.winner >= 0) & (outcome.probability < min_probability), dtype=np.bool_)


def withheld(tally: Tally, min_probability: float) -> str | None:
    """Return why an answer is withheld, without the answer; None if it is given or there is none."""
    if tally.answer is None or tally.probability is None or tally.probability >= min_probability:
        return None
    return (
        f"the probability that the answer is right is {tally.probability:.1%}, and at least"
        f" {min_probability:.4g} was asked for"
    )


def withheld_sentence(tally: Tally, min_probability: float) -> str | None:
    """Return the same as a sentence of its own."""
    reason = withheld(tally, min_probability)
    return None if reason is None else f"Withheld: {reason}."
