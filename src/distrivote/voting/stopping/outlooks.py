"""What the rest of the budget may still do to the probability of the winner.

The probabilities are the calibrated ones of a vote (`probability`), the completions those of `completing`.
Where the method or the ballot has no use for confidences only counts are drawn: the shares of the answers
that were seen, of one that was not, and of trajectories without an answer are Dirichlet(counts, 1, silent).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from distrivote.voting.ballot import Ballot
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.pools import FloatArray, IntArray
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.scales import scale_of
from distrivote.voting.stopping.completing import (
    among_models,
    completions,
    electorate_of,
    in_parts,
    with_ballot,
)
from distrivote.voting.trust import Trust

_CALIBRATION = Calibration()
_TRUST = Trust()


class Outlook(NamedTuple):
    """The probability of the winner, now and at the end of the budget."""

    now: float
    """Of the method's answer by the ballot as it is."""

    later: FloatArray
    """(n_completions,) Of the method's answer in each completion."""

    stays: FloatArray
    """(n_completions,) Of today's answer in each completion."""

    @property
    def gains(self) -> FloatArray:
        """(n_completions,) How much more probable the answer of the whole budget is than today's."""
        return np.abs(self.later - self.stays)


def outlook(
    ballot: Ballot, n_left: int, method: Pipeline, n_completions: int, rng: np.random.Generator
) -> Outlook:
    """Return the outlook of a ballot in which somebody has answered."""
    if uses_confidences(ballot, method):
        parts = list(outlooks_by_confidences(ballot, n_left, method, n_completions, rng))
        later, stays = (np.concatenate(each) for each in zip(*(part[1:] for part in parts), strict=True))
        return Outlook(parts[0].now, later, stays)
    counts = np.bincount(ballot.classes[ballot.classes >= 0])
    n_silent = int(np.count_nonzero(ballot.classes < 0))
    now, later, stays = by_counts(counts[None], np.array([n_silent]), n_left, n_completions, rng)
    return Outlook(float(now[0]), later[0], stays[0])


def uses_confidences(ballot: Ballot, method: Pipeline) -> bool:
    """Whether confidences can make a difference."""
    return method.reads_confidence and not bool(np.isnan(ballot.confidences[ballot.classes >= 0]).all())


def by_counts(
    counts: IntArray, silent: IntArray, n_left: int, n_completions: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return `now`, `later` and `stays` of many ballots by their counts alone.

    Args:
        counts: (n, n_answers) Votes.
        silent: (n,) Trajectories without an answer.
    """
    n, n_answers = counts.shape
    shapes: FloatArray = np.column_stack((counts, np.ones(n), silent)).astype(np.float64)
    shares = rng.standard_gamma(shapes[:, None], (n, n_completions, n_answers + 2))
    shares /= shares.sum(axis=2, keepdims=True)
    drawn = rng.multinomial(n_left, shares)[..., :-1]
    votes = drawn.reshape(n * n_completions, n_answers + 1).astype(np.float64)
    votes[:, :-1] += np.repeat(counts, n_completions, axis=0)
    leaders = counts.argmax(axis=1)
    now = _by_votes(counts.astype(np.float64))[np.arange(n), leaders]
    later = _by_votes(votes)
    stays = later[np.arange(len(later)), np.repeat(leaders, n_completions)]
    shape = (n, n_completions)
    return now, later.max(axis=1).reshape(shape), stays.reshape(shape)


def _by_votes(votes: FloatArray) -> FloatArray:
    nothing = np.zeros_like(votes)
    return _CALIBRATION.of(Evidence(nothing, nothing, np.zeros(len(votes)), votes, nothing), _TRUST)


def outlooks_by_confidences(
    ballot: Ballot, n_left: int, method: Pipeline, n_completions: int, rng: np.random.Generator
) -> Iterator[Outlook]:
    """Yield the outlook in parts, since the first may be enough for a verdict."""
    ballot = among_models(ballot)
    scale, n_answers = scale_of(ballot.classes, ballot.confidences), len(ballot.labels) + 1
    first: tuple[float, int] | None = None
    for size in in_parts(n_completions):
        some = completions(ballot, n_left, size, rng)
        if first is None:
            some = with_ballot(ballot, n_left, some)
        electorate = electorate_of(*some, n_answers, scale)
        probabilities = electorate.probabilities(_CALIBRATION, method.trust or _TRUST)
        # With trust the answer is the most probable one.
        is_weighed = method.trust is not None
        winners = probabilities.argmax(axis=1) if is_weighed else method.elected(electorate)
        best = probabilities[np.arange(len(winners)), winners]
        if first is None:
            first = float(best[-1]), int(winners[-1])
        yield Outlook(first[0], best[:size], probabilities[:size, first[1]])
