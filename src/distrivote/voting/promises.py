"""From which probability on are answers wrong at most so often? A threshold that labelled questions prove.

`Promise` has, for each of a fixed list of thresholds, how many labelled questions would have been answered,
and how many of these wrongly. `least_probability(a)` returns the lowest threshold at which the error among
the answered is proven to be at most a.

The promise: let labelled and new questions be drawn independently from the same source, and voted on in the
same way (model, number of trajectories, method, calibration), each by itself. Then with a probability of at
least 1 - CHANCE over the labelled questions, a new question that is answered at all is answered wrongly with
a probability of at most a. Or `least_probability` finds no threshold, which is an error. The chance of
1 - CHANCE is that of the labelled questions being typical; for one file it holds or it does not. The
calibration has to be fitted on other questions, and a has to be chosen before the counts are seen.

Proof. At a threshold that was fixed before, the n_wrong of n_given answers are binomial with the risk r that
is to be bounded. If r > a, P(Bin(n_given, a) <= n_wrong) <= p has a probability of at most p: it is a
p-value. All thresholds are tested by the fallback procedure (Wiens and Dmitrienko, 2005; as in Learn then
Test, 2110.01052): from the highest on each has CHANCE / n, and what a rejected hypothesis had goes to the
next one. The chance that any threshold with r > a is taken is at most CHANCE. Nothing is assumed about how
good the probabilities are; bad ones only mean that less is answered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distrivote.defaults import PROMISE_CHANCE
from distrivote.errors import InputError
from distrivote.nouns import count
from distrivote.voting.kernels.pools import BoolArray, FloatArray

THRESHOLDS = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.0)
"""In the order in which they are tested. They are fixed: those of the data would need a wider bound."""


class Risk(NamedTuple):
    """What labelled questions say about one threshold."""

    least: float
    """The threshold."""

    n_given: int
    """Questions whose answer is at least so probable."""

    n_wrong: int


@dataclass(frozen=True, slots=True)
class Promise:
    """How often answers above each threshold were wrong on labelled questions."""

    method: str
    fewest: int
    most: int
    """Trajectories per question."""

    n_questions: int
    risks: tuple[Risk, ...]
    """At `THRESHOLDS`, in their order."""

    def least_probability(self, max_error: float, chance: float = PROMISE_CHANCE) -> float:
        """Return the lowest threshold with which at most `max_error` of the given answers are wrong.

        See the module for what is promised. InputError if no threshold can be proven.

        >>> counts = [Risk(0.9, 60, 0), Risk(0.5, 120, 4), Risk(0.0, 200, 60)]
        >>> Promise("auto", 32, 32, 200, tuple(counts)).least_probability(0.1)
        0.5
        """
        proven: list[float] = []
        carried = 0.0
        for risk in self.risks:
            level = carried + chance / len(self.risks)
            carried = level if binomial_tail(risk.n_wrong, risk.n_given, max_error) <= level else 0.0
            if carried:
                proven.append(risk.least)
        if not proven:
            fewest = math.ceil(math.log(chance / len(self.risks)) / math.log1p(-max_error))
            raise InputError(
                f"{count(self.n_questions, 'labelled question')} can't prove that at most {max_error:.4g} of"
                f" the given answers are wrong (it takes {count(fewest, 'answer')} without a wrong one, or"
                " more)",
                hint="give a larger `max_error`, or more labelled questions",
                argument="max_error",
            )
        return min(proven)

    def check(self, method: str) -> None:
        """Raise InputError if the promise is about another method."""
        if method != self.method:
            raise InputError(
                f"the promise in the calibration is about {self.method}, and the method is {method}",
                hint=f"give `method` as {self.method}, or calibrate with that method",
                argument="max_error",
            )


def check_max_error(value: float) -> float:
    """Return the largest share of wrong answers; raise InputError if it is not between 0 and 1."""
    if not 0 < value < 1:
        raise InputError(
            f"the largest error is {value:g}", hint="give a share between 0 and 1", argument="max_error"
        )
    return value


def promise_of(
    method: str, sizes: Sequence[int], answered: BoolArray, probability: FloatArray, right: BoolArray
) -> Promise:
    """Return the promise that labelled questions allow.

    Args:
        method: The name of the method that voted.
        sizes: The number of trajectories of each question.
        answered: (n,) Whether there is an answer.
        probability: (n,) How probable it is.
        right: (n,) Whether it is right.
    """
    risks = []
    for least in THRESHOLDS:
        given = answered & (probability >= least)
        risks.append(Risk(least, int(np.count_nonzero(given)), int(np.count_nonzero(given & ~right))))
    return Promise(method, min(sizes), max(sizes), len(answered), tuple(risks))


def binomial_tail(k: int, n: int, p: float) -> float:
    """Return P(Bin(n, p) <= k), for p between 0 and 1.

    >>> round(binomial_tail(1, 10, 0.5), 6)
    0.010742
    """
    if k >= n:
        return 1.0
    whole = math.lgamma(n + 1)
    logs = (
        whole - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k + 1)
    )
    return min(1.0, math.fsum(map(math.exp, logs)))
