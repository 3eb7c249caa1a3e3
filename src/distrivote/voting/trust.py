"""How far confidence is to be believed, estimated without labels.

`Trust` is a belief about d, by how many standard deviations right answers are surer than wrong ones: 0
where confidence says nothing, below 0 where it misleads. It weighs the `evidence` of the confidences
against the votes: the log-odds of an answer are `VOTES * log(share) + log(sum over d of P(d) * ratio)`.

One question uses the belief as it ships. `learned` sharpens it with all questions of a run: whatever d
makes their confidences likely, given that popular answers are right more often, gains weight. This is the
EM algorithm for the weights of a mixture, started and held by the belief that it begins with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.pools import FloatArray, IntArray

VOTES = 1.25
"""How much a share of votes counts: an answer with twice the votes has 2 ** 1.25 times the odds. Less than
independent witnesses would have, since a wrong answer may be popular for a reason."""

SEPARATIONS = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.5, 10.0, 15.0, 25.0])
"""The values of d that are considered."""

HOLD = 8.0
"""The belief at the start counts as so many questions."""

_ROUNDS = 50


def _shipped() -> FloatArray:
    """Return the belief about a model that nothing is known of.

    In 35 of 100 cases confidence says nothing and in 10 it misleads; else d is about 1.5, and in a
    fifth of the cases, where confidences have two humps of their own, 3 to 25 alike.
    """
    helpful = SEPARATIONS > 0
    usual = np.where(helpful, np.exp(-SEPARATIONS / 1.5), 0.0)
    far = np.where(SEPARATIONS >= 3, 1.0, 0.0)
    weights: FloatArray = 0.55 * (0.8 * usual / usual.sum() + 0.2 * far / far.sum())
    weights[:4] = 0.1 * 0.15, 0.1 * 0.35, 0.1 * 0.5, 0.35
    return weights


@dataclass(frozen=True, slots=True)
class Trust:
    """A belief about what confidences are worth."""

    weights: tuple[float, ...] = tuple(_shipped().tolist())
    """The probability of each of `SEPARATIONS`."""

    n_questions: int = 0
    """How many questions it was learned from."""

    @property
    def separation(self) -> float:
        """The expected d."""
        return float(np.dot(self.weights, SEPARATIONS))

    def log_odds(self, evidence: Evidence) -> FloatArray:
        """(n_pools, n_answers) The log-odds of each answer up to a constant; -inf for absent ones."""
        with np.errstate(divide="ignore"):
            votes = VOTES * np.log(evidence.counts)
        told = np.zeros_like(evidence.gaps)
        telling = evidence.precisions > 0  # less than half of a table, and exp is what takes the time
        told[telling] = np.log(_ratios(Evidence(*(each[telling] for each in evidence))) @ self.weights)
        return votes + told

    def preference(self, evidence: Evidence, first: IntArray, second: IntArray) -> FloatArray:
        """(n_pools,) The log-odds of the second answer against the first; both must be there."""
        pair = np.stack([first, second], axis=1)
        two = Evidence(*(np.take_along_axis(values, pair, axis=1) for values in evidence))
        odds = self.log_odds(two)
        preferred: FloatArray = odds[:, 1] - odds[:, 0]
        return preferred


def _ratios(evidence: Evidence) -> FloatArray:
    """(n_pools, n_answers, n_separations) The likelihood of the gap for each d, over that for 0."""
    exponent = evidence.gaps[..., None] * SEPARATIONS - SEPARATIONS**2 / 2
    ratios: FloatArray = np.exp(np.minimum(evidence.precisions[..., None] * exponent, 700.0))
    return ratios


def likelihoods(evidence: Evidence) -> FloatArray:
    """(n_telling, n_separations) How well each d explains a question's confidences, up to a factor.

    Questions where all agree, or where all confidences are equal, say nothing and are left out.
    """
    telling = (evidence.precisions > 0).any(axis=1)
    some = Evidence(*(values[telling] for values in evidence))
    popular = some.counts**VOTES
    popular /= popular.sum(axis=1, keepdims=True)
    likely: FloatArray = np.einsum("qa,qad->qd", popular, _ratios(some))
    likely /= likely.max(axis=1, keepdims=True)
    return likely


def learned(likely: FloatArray, start: Trust | None = None) -> Trust:
    """Return the belief after these `likelihoods`, all of one model's questions."""
    start = start or Trust()
    if not len(likely):
        return start
    hold = np.array(start.weights) * (HOLD + start.n_questions)
    weights = np.array(start.weights)
    for _ in range(_ROUNDS):
        each = likely * weights
        each /= each.sum(axis=1, keepdims=True)
        weights = hold + each.sum(axis=0)
        weights /= weights.sum()
    return Trust(tuple(weights.tolist()), start.n_questions + len(likely))
