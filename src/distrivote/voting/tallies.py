"""One decision as a `Tally`: labels instead of numbers, and what a reader wants to know about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from distrivote.voting.ballot import Answer, Ballot, Split, Tally, Weighing
from distrivote.voting.explain import count
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.hierarchy import interval_winners
from distrivote.voting.kernels.pools import FloatArray, Pools
from distrivote.voting.kernels.splits import Splits
from distrivote.voting.pipeline import Decision, Electorate, Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.trust import Trust
from distrivote.voting.votes import HierarchicalVote, MajorityVote

MIN_POOL = 16
"""Below this many answers the paper's own gain is gone."""

MIN_SEPARATION = 2.0
"""Two equal Gaussians closer than two standard deviations make a single hump."""


def tally_of(ballot: Ballot, pools: Pools, pipeline: Pipeline, calibration: Calibration) -> Tally:
    """Return what a method makes of a ballot, whose trajectories are the one row of `pools`."""
    electorate = Electorate(pools)
    if pipeline.trust is not None:
        electorate = electorate.measured
        pools = electorate.pools
    decision = pipeline.decide(electorate)
    majority = MajorityVote().count(pools, pools.answered).winners
    answered = ballot.classes >= 0
    kept = decision.kept[0][: len(answered)]
    exponent = int(pools.exponents[0])
    values = decision.scores[0]
    if pipeline.vote.scores_confidence and np.abs(values).max() < np.ldexp(1.0, 1023 - max(exponent, 0)):
        values = np.ldexp(values, exponent)  # else they stay scaled down: they would not fit a float
    order = sorted(range(len(ballot.labels)), key=lambda c: (c != decision.winners[0], -values[c]))

    def label(index: int | np.int64) -> Answer | None:
        return ballot.labels[index] if index >= 0 else None

    def counts(members: npt.NDArray[np.bool_]) -> dict[Answer, int]:
        n = np.bincount(ballot.classes[members], minlength=len(ballot.labels)).tolist()
        return {ballot.labels[c]: n[c] for c in order}

    first = electorate.splits(pipeline.filter) if pipeline.filter is not None else None
    probabilities = electorate.probabilities(calibration, pipeline.trust or Trust())[0]
    everyone = pools.answered[0]
    rest = everyone & (pools.answers[0] != decision.rejected[0])
    return Tally(
        method=pipeline.name,
        answer=label(decision.winners[0]),
        scores={ballot.labels[c]: float(values[c]) for c in order},
        majority=label(majority[0]),
        votes=counts(answered),
        kept_votes=counts(kept),
        n_unanswered=int(np.count_nonzero(~answered)),
        split=_split(decision.splits, pools, rest, exponent),
        first_split=_split(first, pools, everyone, exponent),
        rejected=label(decision.rejected[0]),
        negative_answer=label(decision.negative_winners[0]),
        intervals_won=_intervals_won(pipeline, pools, decision),
        weighing=_weighing(decision, electorate.evidence, label),
        probabilities={ballot.labels[c]: float(probabilities[c]) for c in order},
        calibrated=calibration.covers(int(answered.sum())),
        notes=ballot.notes + _notes(pipeline, ballot, first),
        confidences=ballot.confidences[answered],
    )


def _weighing(
    decision: Decision, evidence: Evidence, label: Callable[[np.int64], Answer | None]
) -> Weighing | None:
    if decision.surest is None or decision.preferences is None or decision.surest[0] < 0:
        return None
    preferred = decision.surest[0]
    odds = float(np.exp(np.minimum(decision.preferences[0], 700.0)))
    return Weighing(label(preferred), odds, float(evidence.gaps[0, preferred]))


def _intervals_won(pipeline: Pipeline, pools: Pools, decision: Decision) -> tuple[int, int] | None:
    if not isinstance(pipeline.vote, HierarchicalVote):
        return None
    elected, _ = interval_winners(pools, decision.kept, pipeline.vote.intervals, negated=False)
    won = int(np.count_nonzero(elected == decision.winners[0]))
    return won, int(np.count_nonzero(elected >= 0))


def _split(
    splits: Splits | None, pools: Pools, members: npt.NDArray[np.bool_], exponent: int
) -> Split | None:
    if splits is None:
        return None
    values = pools.confidences[0][members]
    n_positive = int(np.count_nonzero(values >= splits.lowest_positive[0]))
    low, high = float(splits.highest_negative[0]), float(splits.lowest_positive[0])
    cut = low + (high - low) / 2

    def pair(values: FloatArray, exponent: int) -> tuple[float, float] | None:
        if np.isnan(values[0]).any():
            return None
        low, high = np.ldexp(values[0], exponent).tolist()
        return low, high

    return Split(
        float(np.ldexp(cut, exponent)),
        n_positive,
        len(values) - n_positive,
        pair(splits.weights, 0),
        pair(splits.means, exponent),
        pair(splits.sds, exponent),
    )


def _notes(pipeline: Pipeline, ballot: Ballot, first: Splits | None) -> tuple[str, ...]:
    notes = []
    answered = ballot.classes >= 0
    n_answered = int(np.count_nonzero(answered))
    if pipeline.trust is not None and np.isnan(ballot.confidences[answered]).any():
        return ("Confidences are missing, so the majority decides.",)
    if pipeline.filter is not None and 0 < n_answered < MIN_POOL:
        notes.append(
            f"Only {count(n_answered, 'answer')}: under {MIN_POOL} a split by confidence is mostly noise."
        )
    if pipeline.trust is not None and 0 < n_answered < MIN_POOL:
        notes.append(f"Only {count(n_answered, 'answer')}: under {MIN_POOL} confidences say little.")
    if first is not None and separations(first)[0] < MIN_SEPARATION:
        notes.append(
            "The confidences hardly have two humps, so the split says little"
            f" (means {separations(first)[0]:.1f} standard deviations apart)."
        )
    return tuple(notes)


def separations(splits: Splits) -> FloatArray:
    """Return how many standard deviations lie between the means (Ashman's D); NaN without a fit."""
    spread = np.hypot(splits.sds[:, 0], splits.sds[:, 1]) / np.sqrt(2)
    distances: FloatArray = (splits.means[:, 1] - splits.means[:, 0]) / spread
    return distances
