"""How confident a trajectory has been so far, and the line that it has to stay above.

The trajectories that have finished are on one of two sides of the cut of their mixture. At every place, which
is a number of tokens, this gives

    prior     the share of the upper side among those that are longer than that
    score     the mean confidence so far, moved towards the mean of the second half, for the trend
    chance    the probability that a trajectory with a given score ends on the upper side, by Bayes: on each
              side scores are normal around their mean, with the same standard deviation
    rest      how many more tokens it will need, estimated from those that are longer

A trajectory is worth continuing as long as chance / rest is at least `strictness` times what a new one has,
(share of the upper side) / (mean length). The lowest score for which this holds is the line. There is no line
where the means of both sides differ by no more than the standard error of their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from distrivote.trajectory import Floats, Interventions

Flags: TypeAlias = npt.NDArray[np.bool_]

_TREND = 0.5
"""How far the score moves from the mean so far towards the mean of the second half."""

_MOST_PLACES = 64
_PRIOR_WEIGHT = 2.0
"""The prior weight, in trajectories, of the overall share of the upper side at each place."""


class Course(NamedTuple):
    """The cumulative sum of the confidences of a trajectory's tokens at the end of each step, from 0."""

    tokens: tuple[float, ...] = (0.0,)
    sums: tuple[float, ...] = (0.0,)

    def step(self, n_tokens: int, confidence: float) -> Course:
        """Return the course after a step that ends at `n_tokens`; without a confidence it is unchanged."""
        if confidence != confidence:
            confidence = self.sums[-1] / self.tokens[-1] if self.tokens[-1] else 0.0
        added = (n_tokens - self.tokens[-1]) * confidence
        return Course((*self.tokens, float(n_tokens)), (*self.sums, self.sums[-1] + added))

    @classmethod
    def of(cls, record: Interventions) -> Course:
        """Return the course of a finished trajectory."""
        course = cls()
        for end, confidence in zip(record.step_ends, record.step_confidences, strict=True):
            course = course.step(end, confidence)
        return course

    @property
    def n_tokens(self) -> float:
        return self.tokens[-1]

    def scores(self, places: Floats) -> Floats:
        """Return the score after each of these numbers of tokens, or at the end of a shorter trajectory.

        >>> Course().step(10, 8.0).step(20, 6.0).scores(np.array([20.0])).tolist()
        [6.5]
        """
        places = np.clip(places, 1.0, max(self.n_tokens, 1.0))
        whole, half = (np.interp(at, self.tokens, self.sums) for at in (places, places / 2))
        mean, recent = whole / places, (whole - half) / (places / 2)
        scores: Floats = mean + _TREND * (recent - mean)
        return scores


class Line(NamedTuple):
    """The lowest score that a trajectory may have at some places; between them it is interpolated."""

    tokens: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()

    def lowest(self, places: Floats) -> Floats:
        """Return the lowest score at some places; 0, which no score is below, if there is no line."""
        return np.interp(places, self.tokens, self.scores) if self.tokens else np.zeros(len(places))

    def is_above(self, course: Course) -> bool:
        """Say whether the line is above the current score of a trajectory."""
        place = np.array([course.n_tokens])
        return bool(self.tokens) and bool(course.scores(place) < self.lowest(place))


def line_of(courses: Sequence[Course], is_upper: Sequence[bool], strictness: float) -> Line:
    """Return the line from finished trajectories and the side of each."""
    upper = np.array(is_upper, dtype=np.bool_)
    if not upper.any() or upper.all():
        return Line()
    lengths = np.array([course.n_tokens for course in courses])
    places = np.unique([place for course in courses for place in course.tokens[1:-1]])
    if len(places) > _MOST_PLACES:
        places = np.quantile(places, np.linspace(0, 1, _MOST_PLACES))
    by_place = np.array([course.scores(places) for course in courses]).T
    lowest = [
        _lowest(place, scores, lengths, upper, strictness)
        for place, scores in zip(places.tolist(), by_place, strict=True)
    ]
    return Line(tuple(places.tolist()), tuple(lowest))


def _lowest(place: float, scores: Floats, lengths: Floats, upper: Flags, strictness: float) -> float:
    """Return the lowest score at a place; 0, which no score is below, if there is no line."""
    n_upper, n_lower = np.count_nonzero(upper), np.count_nonzero(~upper)
    high, low = scores[upper], scores[~upper]
    difference = float(high.mean() - low.mean())
    squares = float(high.var() * n_upper + low.var() * n_lower)
    variance = squares / max(len(upper) - 2, 1)
    by_chance = variance * (1 / n_upper + 1 / n_lower)
    if difference <= 0 or difference**2 <= by_chance:
        return 0.0
    difference *= 1 - by_chance / difference**2
    longer = lengths > place
    share = n_upper / len(upper)
    n_longer = np.count_nonzero(longer) + _PRIOR_WEIGHT
    prior = (np.count_nonzero(upper & longer) + _PRIOR_WEIGHT * share) / n_longer
    rest = float((lengths - place)[longer].mean()) if longer.any() else float(lengths.mean())
    least = min(strictness * share * rest / float(lengths.mean()), 0.95)
    middle = float(high.mean() + low.mean()) / 2
    return max(middle + variance / difference * float(_logit(least) - _logit(prior)), 0.0)


def _logit(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))
