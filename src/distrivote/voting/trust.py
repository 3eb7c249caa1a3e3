"""How far confidence can be trusted, and what follows from it.

`Trust` is a probability distribution over d, by how much the scores of right answers exceed those of wrong
ones, and over the spread of answers: how much the means of answers differ for other reasons. It weighs the
`evidence` of the confidences against the votes. The log-odds of an answer are

    VOTES * log(votes) + log(sum of P(d, spread) * ratio(gap) / sum of P(d, spread) * ratio(0))
    ratio(gap) = exp((d * gap - d ** 2 / 2) / variance of the gap)

where one more term of both sums has the lead of the answer for its gap, and `LEAD` for d: rare, but if right
answers are more than twice as sure as wrong ones, stronger evidence than any order. d is never below 0 here:
a surer trajectory never counts against its own answer, and with a misleading signal the votes alone decide.
One question uses the default; `lessons` learn another distribution from many questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray

VOTES = 1.25
"""The weight of votes: an answer with twice the votes has 2 ** 1.25 times the odds. That is less than for
independent votes, since a wrong answer may be popular for a reason."""

UNSEEN = 0.5
"""Votes for an answer that nobody gave."""

GAINS = np.arange(0.0, 3.01, 0.25)
"""The values of d that are considered; the scores of a pool have a standard deviation of 1."""

SPREADS = np.array([0.15, 0.3, 0.5, 0.7, 1.0])
"""The spreads that are considered. Trajectories with the same answer are not independent: they share the
features of that answer."""

NOISE = 0.9
"""The default variance of scores within an answer."""

TELLS = 0.2
"""The prior probability that the order of confidences is informative, for an unknown model."""

TYPICAL = 1.5, 0.5
"""Mean and standard deviation of d if it is."""

LEADS = 0.1
"""The prior probability that leads are informative."""

LEAD, LEAD_SPREAD, LEAD_NOISE = 0.8, 0.2, 0.07
"""d, spread and noise if they are."""

_NOTHING = 1e-9
"""Probabilities below this are left out."""


def _shipped() -> tuple[tuple[float, ...], ...]:
    """Return the prior for an unknown model; the spread is 0.5."""
    table = np.zeros((len(GAINS), len(SPREADS)))
    table[1:, SPREADS == 0.5] = TELLS * typical(GAINS[1:])[:, None]
    table[0, SPREADS == 0.5] = 1.0 - TELLS
    return as_weights(table)


def typical(gains: FloatArray) -> FloatArray:
    """Return the probability of each d if the order of confidences is informative."""
    chances: FloatArray = np.exp(-(((gains - TYPICAL[0]) / TYPICAL[1]) ** 2) / 2)
    chances /= chances.sum()
    return chances


def as_weights(table: FloatArray) -> tuple[tuple[float, ...], ...]:
    """Return a table as a hashable value."""
    return tuple(tuple(row) for row in table.tolist())


@dataclass(frozen=True, slots=True)
class Trust:
    """A distribution over how informative confidences are."""

    weights: tuple[tuple[float, ...], ...] = _shipped()
    """The probability of each of `GAINS`, by row, with each of `SPREADS`."""

    noise: float = NOISE
    """The variance of scores within an answer."""

    separation: float = TELLS * TYPICAL[0]
    """The expected d, even if it is below 0 and therefore not used."""

    n_questions: int = 0
    """How many questions it was learned from."""

    leads: float = LEADS
    """The probability that leads are informative."""

    def log_odds(self, evidence: Evidence, told: FloatArray | None = None) -> FloatArray:
        """(n_pools, n_answers) The log-odds of each answer up to a constant; -inf for absent ones.

        `told` is the result of the method `told` for the same evidence, if it is known already.
        """
        with np.errstate(divide="ignore"):
            votes = VOTES * np.log(evidence.votes)
        return votes + (self.told(evidence) if told is None else told)

    def told(self, evidence: Evidence) -> FloatArray:
        """(n_pools, n_answers) What the confidences add to the log-odds; 0 where they say nothing."""
        told = np.zeros_like(evidence.gaps)
        some = (evidence.gaps != 0.0) | (evidence.leads != 0.0)
        gaps = evidence.gaps[some][:, None]
        precision = 1.0 / variances(evidence.counts, some, LEAD_SPREAD, LEAD_NOISE)
        even = self.leads * np.exp(-precision * LEAD**2 / 2)
        total = even * np.exp(np.minimum(precision * LEAD * evidence.leads[some], 600.0))
        for spread, belief in zip(SPREADS, (1.0 - self.leads) * np.array(self.weights).T, strict=True):
            held = belief > _NOTHING
            if not held.any():
                continue
            precision = 1.0 / variances(evidence.counts, some, float(spread), self.noise)[:, None]
            d, chance = GAINS[held], belief[held]
            total += np.exp(np.minimum(precision * (d * gaps - d**2 / 2), 600.0)) @ chance
            even += np.exp(-precision * d**2 / 2) @ chance
        told[some] = np.log(total / even)
        return told


def variances(counts: FloatArray, which: BoolArray, spread: float, noise: float) -> FloatArray:
    """Return the variance of the gaps of some answers, (n_which,).

    It depends on how many trajectories gave the answer and the others, and on no confidence: a variance
    measured in the pool would change with the outlier that it has to judge.
    """
    n = counts[which]
    rest, squares = (
        np.broadcast_to(values.sum(axis=1, keepdims=True), counts.shape)[which] - values[which]
        for values in (counts, counts**2)
    )
    found: FloatArray = spread**2 * (1.0 + squares / rest**2) + noise * (1.0 / n + 1.0 / rest)
    return found


def posteriors(odds: FloatArray) -> FloatArray:
    """(n_pools, n_answers) The probabilities of these log-odds, among the given answers."""
    best = odds.max(axis=1, keepdims=True, initial=-np.inf)
    shares = np.exp(odds - np.where(np.isfinite(best), best, 0.0))
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), _NOTHING)
    return shares


def speaks_for(told: FloatArray, votes: FloatArray, majority: IntArray) -> IntArray:
    """Return (n_pools,) the answer that the confidences alone support most, the majority's if none."""
    surest = np.where(votes > 0, told, -np.inf).argmax(axis=1)
    each = np.arange(len(told))
    ahead = told[each, surest] > told[each, np.maximum(majority, 0)]
    return np.where(ahead & (majority >= 0), surest, majority)
