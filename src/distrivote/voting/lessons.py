"""How far the confidences of a model can be trusted, learned from its questions without labels.

The model, for the mean scores of the answers of one question:

    mean = level of the question + (right answer: d) + N(0, spread ** 2 + noise / votes)
    d    = N(strength, scatter ** 2), one per question

Which answer is right is not known: each is, with a probability that depends on its votes, or none is. The
parameters of a run (strength, scatter and spread) are evaluated on a grid. `agreed` and `contested` are the
log-likelihoods of the grid, summed over two kinds of question:

    agreed     one answer has two thirds of the votes or more. The others are almost surely wrong, so
               these questions tell the direction: whether wrong answers look surer.
    contested  here confidence may decide. How far answers are apart tells how strong it is here, which
               need not be what it is on easy questions; popular answers tell the direction, less surely.

The direction comes from both together, with less weight on `contested`; the strength comes from `contested`
alone. Probability of a negative d cancels that of a positive one, and the rest means that votes alone
decide. Leads are believed as for one question, and less if less than that is left of d.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.pools import FloatArray
from distrivote.voting.trust import (
    GAINS,
    LEADS,
    NOISE,
    SPREADS,
    TELLS,
    UNSEEN,
    VOTES,
    Trust,
    as_weights,
    typical,
)

AGREED = 2 / 3
"""A question is agreed if an answer has at least this share of the votes. 0.6 to 0.8 give the same."""

FEWEST = 8
"""With fewer questions than this the default belief is used."""

STRENGTHS = np.arange(-2.5, 2.51, 0.25)
SCATTERS = np.array([0.1, 0.4, 0.8])
_ALL_GAINS = np.concatenate([-GAINS[:0:-1], GAINS])

_WEAK, _STEP = 0.4, 0.4
"""The prior: in 4 of 10 cases a strength is e times less probable for every such step away from 0;
otherwise it is `typical`, in one direction or the other."""

_SPREAD = 0.5, 0.3
"""Mean and standard deviation of the prior of the spread."""

_CONTESTED = 0.75
"""The weight of contested questions for the direction: their votes are weak labels."""

_HOLD = 8.0
"""The prior that confidence says nothing counts as this many contested questions: the next question may
differ from those of a run, however clear each of them is."""

_KNOWN = 10.0
"""`NOISE` counts as this many trajectories."""

_SHAPE = (len(STRENGTHS), len(SCATTERS), len(SPREADS))


def _scattered() -> FloatArray:
    """Return (n_strengths, n_scatters, n_gains) how probable each d is."""
    distance = (_ALL_GAINS - STRENGTHS[:, None, None]) / SCATTERS[:, None]
    chances: FloatArray = np.exp(-(distance**2) / 2)
    chances /= chances.sum(axis=-1, keepdims=True)
    return chances


_SCATTERED = _scattered()


def _first() -> FloatArray:
    """Return (n_strengths, 1, n_spreads) the logarithm of the prior of each."""
    weak = np.exp(-np.abs(STRENGTHS) / _STEP)
    strengths = _WEAK * weak / weak.sum() + (1.0 - _WEAK) * typical(np.abs(STRENGTHS))
    spreads = ((SPREADS - _SPREAD[0]) / _SPREAD[1]) ** 2 / 2
    first: FloatArray = np.log(strengths)[:, None, None] - spreads
    return first


_FIRST = _first()


@dataclass(frozen=True, slots=True, eq=False)
class Lessons:
    """What was learned so far about one model."""

    agreed: FloatArray = field(default_factory=lambda: np.zeros(_SHAPE))
    contested: FloatArray = field(default_factory=lambda: np.zeros(_SHAPE))
    """(n_strengths, n_scatters, n_spreads) each."""

    squares: float = 0.0
    """The sum of squared distances of scores from the mean of their answer."""

    free: float = 0.0
    """Their degrees of freedom."""

    n_questions: int = 0
    """The informative ones: with several answers and different confidences."""

    n_contested: int = 0
    """Those of them that are contested."""

    @property
    def noise(self) -> float:
        """The variance of scores within an answer."""
        return (self.squares + _KNOWN * NOISE) / (self.free + _KNOWN)

    def faded(self, most: int) -> Lessons:
        """Return the same lessons with the weight of at most `most` questions."""
        if self.n_questions <= most:
            return self
        part = most / self.n_questions
        return Lessons(
            part * self.agreed,
            part * self.contested,
            part * self.squares,
            part * self.free,
            most,
            round(part * self.n_contested),
        )

    def trust(self) -> Trust:
        """Return the resulting belief; the default while there are few questions."""
        if self.n_questions < FEWEST:
            return Trust(n_questions=self.n_questions)
        weights = _set_off(np.einsum("rcs,rcd->ds", self._belief(), _SCATTERED))
        doubt = _HOLD / (_HOLD + self.n_contested)
        weights[0] += doubt * weights[1:].sum(axis=0)
        weights[1:] *= 1.0 - doubt
        leads = LEADS * min(1.0, float(weights[1:].sum()) / TELLS)
        return Trust(as_weights(weights), self.noise, self.separation, self.n_questions, leads)

    @property
    def separation(self) -> float:
        """The expected strength, even if there are few questions; 0 without any."""
        if not self.n_questions:
            return 0.0
        return float(self._belief().sum(axis=(1, 2)) @ STRENGTHS)

    def _belief(self) -> FloatArray:
        """Return (n_strengths, n_scatters, n_spreads) how probable each is."""
        agreed, contested = _normalised(_FIRST + self.agreed), _normalised(_FIRST + self.contested)
        direction = 1 / (1 + np.exp(-_direction(agreed) - _CONTESTED * _direction(contested)))
        signs = np.where(STRENGTHS > 0, direction, np.where(STRENGTHS < 0, 1 - direction, 0.5))
        belief: FloatArray = (contested + contested[::-1]) * signs[:, None, None]
        belief /= belief.sum()
        return belief


def _normalised(logs: FloatArray) -> FloatArray:
    chances: FloatArray = np.exp(logs - logs.max())
    chances /= chances.sum()
    return chances


def _direction(belief: FloatArray) -> float:
    """Return the log-odds that the strength is above 0; half of the probability of 0 counts for each side."""
    chances = belief.sum(axis=(1, 2))
    above, below = (float(chances[side].sum() + chances[STRENGTHS == 0].sum() / 2) for side in _SIDES)
    return float(np.log((above + 1e-9) / (below + 1e-9)))


_SIDES = STRENGTHS > 0, STRENGTHS < 0


def _set_off(chances: FloatArray) -> FloatArray:
    """Return (n_gains, n_spreads) beliefs in d from 0 up; each below 0 moves one from above 0 to 0."""
    n = len(GAINS) - 1
    above, below = chances[n + 1 :], chances[:n]
    left = np.maximum(0.0, 1.0 - below.sum(axis=0) / np.maximum(above.sum(axis=0), 1e-300))
    weights = np.concatenate([np.zeros((1, chances.shape[1])), left * above])
    weights[0] = chances.sum(axis=0) - weights.sum(axis=0)
    return weights


def learned(evidence: Evidence, start: Lessons | None = None) -> Lessons:
    """Return the lessons after these pools, all of them questions of one model."""
    start = start or Lessons()
    telling = (evidence.gaps != 0).any(axis=1) | (evidence.within > 1e-9)
    telling &= np.count_nonzero(evidence.counts, axis=1) > 1
    some = Evidence(*(values[telling] for values in evidence))
    n = len(some.counts)
    if not n:
        return start
    answers = np.count_nonzero(some.counts, axis=1)
    total = some.counts.sum(axis=1)
    squares, free = start.squares + float(some.within.sum()), start.free + float((total - answers).sum())
    noise = Lessons(squares=squares, free=free).noise
    agreed = some.counts.max(axis=1) >= AGREED * total - 1e-9
    likely = log_likelihoods(some, noise)
    return Lessons(
        start.agreed + likely[agreed].sum(axis=0),
        start.contested + likely[~agreed].sum(axis=0),
        squares,
        free,
        start.n_questions + n,
        start.n_contested + int(np.count_nonzero(~agreed)),
    )


def log_likelihoods(evidence: Evidence, noise: float) -> FloatArray:
    """(n_pools, n_strengths, n_scatters, n_spreads) How well each explains a question, up to a constant.

    Every pool has at least two answers.
    """
    where = evidence.counts > 0
    n = evidence.counts[where]
    question = np.nonzero(where)[0]
    starts = np.searchsorted(question, np.arange(len(where)))

    def summed(values: FloatArray) -> FloatArray:
        found: FloatArray = np.add.reduceat(values, starts, axis=0)
        return found

    total = summed(n)
    means = evidence.gaps[where] * (1.0 - n / total[question])  # the scores of a question add up to 0
    popular = n**VOTES
    everything = summed(popular) + UNSEEN**VOTES
    popular /= everything[question]
    logs = np.empty((len(where), len(_ALL_GAINS), len(SPREADS)))
    for column, spread in enumerate(SPREADS):
        weights = 1.0 / (spread**2 + noise / n)
        whole = summed(weights)
        level = summed(weights * means) / whole
        apart = means - level[question]
        alike = (summed(np.log(weights)) - np.log(whole) - summed(weights * apart**2)) / 2
        slope, curve = weights * apart, weights * (1.0 - weights / whole[question])
        exponents = slope[:, None] * _ALL_GAINS - curve[:, None] * (_ALL_GAINS**2 / 2)
        ratios = summed(popular[:, None] * np.exp(np.minimum(exponents, 600.0)))
        logs[:, :, column] = alike[:, None] + np.log(ratios + (UNSEEN**VOTES / everything)[:, None])
    logs -= logs.max(axis=(1, 2), keepdims=True)
    found: FloatArray = np.log(np.einsum("qds,rcd->qrcs", np.exp(logs), _SCATTERED, optimize=True) + 1e-300)
    return found
