"""One decision as a `Tally`: labels instead of numbers, and what a reader wants to know about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distrivote.nouns import count, verb
from distrivote.voting.ballot import Answer, Ballot, Split, Tally, Weighing
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray, Pools
from distrivote.voting.kernels.splits import Splits
from distrivote.voting.pipeline import Decision, Electorate, Pipeline, likely_right, likely_wrong
from distrivote.voting.probability import Calibration
from distrivote.voting.trust import Trust
from distrivote.voting.votes import DriftingVote, HierarchicalVote, MajorityVote

MIN_POOL = 16
"""Below this many answers the paper's own gain is gone."""

CLEAR = 2
"""A majority is clear where it has at least this many times the votes of the answer that wins instead."""

MIN_SEPARATION = 2.0
"""Two equal Gaussians closer than two standard deviations make a single hump."""


def tally_of(ballot: Ballot, electorate: Electorate, pipeline: Pipeline, calibration: Calibration) -> Tally:
    """Return what a method makes of a ballot, whose trajectories are the one pool of the electorate."""
    decision, voters = pipeline.decide(electorate), pipeline.voters(electorate)
    pools = voters.pools
    majority = electorate.count(MajorityVote(), None).winners
    n, answered = len(ballot.classes), ballot.classes >= 0
    kept = decision.kept[0][:n]
    fallback = decision.fallback is not None and bool(decision.fallback[0])
    exponent = int(pools.exponents[0])
    values = decision.scores[0]
    # Where another answer than the vote's own was more probable, its split decided nothing.
    went_back = decision.unweighed is not None and bool(decision.unweighed[0] != decision.winners[0])
    went_back = went_back or fallback
    confident = pipeline.vote.scores_confidence and not went_back
    if confident and np.abs(values).max() < np.ldexp(1.0, 1023 - max(exponent, 0)):
        values = np.ldexp(values, exponent)  # else they stay scaled down: they would not fit a float
    if values.min() < 0:  # whoever had no say stands behind all who had
        outside = np.bincount(ballot.classes[kept], minlength=len(values)) == 0
        ranking = np.where(outside, -np.inf, values)
    else:
        ranking = values
    order = sorted(range(len(ballot.labels)), key=lambda c: (c != decision.winners[0], -ranking[c]))

    def label(index: int | np.int64) -> Answer | None:
        return ballot.labels[index] if index >= 0 else None

    def counts(members: BoolArray) -> dict[Answer, int]:
        n = np.bincount(ballot.classes[members], minlength=len(ballot.labels)).tolist()
        return {ballot.labels[c]: n[c] for c in order}

    first = voters.splits(pipeline.filter) if pipeline.filter is not None and not fallback else None
    second = None if went_back else decision.splits
    above, below = _sides(pools, first, answered)
    dropped = answered & (ballot.classes == decision.rejected[0])
    aside = _sides(pools, second, answered)[1] & ~dropped
    probabilities = electorate.probabilities(calibration, pipeline.trust or Trust())[0]
    n_answered, n_measured = (int(np.count_nonzero(who)) for who in (answered, pools.answered[0]))
    separation = None if first is None else float(separations(first)[0])
    against = bool(overrules(electorate, decision.winners)[0])
    return Tally(
        method=pipeline.name,
        answer=label(decision.winners[0]),
        scores={ballot.labels[c]: float(values[c]) for c in order},
        majority=label(majority[0]),
        votes=counts(answered),
        likely_right_votes=counts(above),
        kept_votes=counts(kept),
        n_unanswered=n - n_answered,
        n_unmeasured=n_answered - n_measured,
        fallback=fallback,
        split=_split(second, kept, aside, exponent),
        first_split=_split(first, above, below, exponent),
        rejected=label(decision.rejected[0]),
        negative_answer=label(decision.negative_winners[0]),
        intervals_won=None if went_back else _intervals_won(pipeline, pools, decision),
        weighing=_weighing(decision, electorate.evidence, label),
        probabilities={ballot.labels[c]: float(probabilities[c]) for c in order},
        calibrated=calibration.covers(n_answered),
        notes=ballot.notes
        + _notes(pipeline, n_answered, n_measured, None if went_back else separation)
        + (_overruling(electorate, decision.winners, label) if against else ()),
        separation=None if separation != separation else separation,
        overrules=against,
        best=_best(ballot, decision.winners[0]),
        confidences=_seen(electorate if pipeline.by_rank else electorate.scaled, answered),
        likely_right=above,
        likely_wrong=below,
        dropped=dropped,
        kept=kept,
    )


def _sides(pools: Pools, splits: Splits | None, answered: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Return who is above the cut and who is below it; without a cut everyone is above."""
    if splits is None:
        return answered, np.zeros_like(answered)
    n = len(answered)
    return likely_right(pools, splits)[0][:n], likely_wrong(pools, splits)[0][:n]


def _seen(electorate: Electorate, answered: BoolArray) -> FloatArray:
    """Return the confidences of the answers, NaN where there is none."""
    pools = electorate.pools
    values = np.ldexp(pools.confidences[0][: len(answered)], int(pools.exponents[0]))
    return np.where(answered, values, np.nan)


def _best(ballot: Ballot, winner: np.int64) -> int | None:
    """Return the first of the most confident trajectories that gave an answer; unmeasured ones are last."""
    if winner < 0:
        return None
    mine = np.flatnonzero(ballot.classes == winner)
    return int(mine[np.nan_to_num(ballot.confidences[mine], nan=-np.inf).argmax()])


def _weighing(
    decision: Decision, evidence: Evidence, label: Callable[[np.int64], Answer | None]
) -> Weighing | None:
    if decision.surest is None or decision.preferences is None or decision.unweighed is None:
        return None
    if decision.unweighed[0] < 0:  # nothing was answered, or nothing with a confidence
        return None
    preferred = decision.surest[0]
    odds = float(np.exp(np.minimum(decision.preferences[0], 700.0)))
    voted = label(decision.unweighed[0])
    return Weighing(label(preferred), odds, float(evidence.gaps[0, preferred]), voted)


def _intervals_won(pipeline: Pipeline, pools: Pools, decision: Decision) -> tuple[int, int] | None:
    if not isinstance(pipeline.vote, HierarchicalVote | DriftingVote) or decision.winners[0] < 0:
        return None
    elected = pipeline.vote.elected(pools, decision.kept)
    won = int(np.count_nonzero(elected == decision.winners[0]))
    return won, int(np.count_nonzero(elected >= 0))


def _split(splits: Splits | None, positive: BoolArray, negative: BoolArray, exponent: int) -> Split | None:
    if splits is None:
        return None
    low, high = float(splits.highest_negative[0]), float(splits.lowest_positive[0])
    cut = low + (high - low) / 2

    def pair(values: FloatArray, exponent: int) -> tuple[float, float] | None:
        if np.isnan(values[0]).any():
            return None
        low, high = np.ldexp(values[0], exponent).tolist()
        return low, high

    return Split(
        float(np.ldexp(cut, exponent)),
        int(np.count_nonzero(positive)),
        int(np.count_nonzero(negative)),
        pair(splits.weights, 0),
        pair(splits.means, exponent),
        pair(splits.sds, exponent),
    )


def _notes(pipeline: Pipeline, n_answered: int, n_measured: int, separation: float | None) -> tuple[str, ...]:
    notes = []
    if n_measured < n_answered:
        unmeasured = unmeasured_note(n_answered - n_measured, n_answered, pipeline.name)
        notes.append(f"{unmeasured[:1].upper()}{unmeasured[1:]}.")
    if pipeline.filter is not None and 0 < n_measured < MIN_POOL:
        with_one = "" if n_measured == n_answered else " with a confidence"
        notes.append(
            f"Only {count(n_measured, 'answer')}{with_one}: under {MIN_POOL} a split by confidence is mostly"
            " noise."
        )
    if separation is not None and separation < MIN_SEPARATION:
        notes.append(
            "The confidences hardly have two humps, so the split says little"
            f" (means {separation:.1f} standard deviations apart)."
        )
    return tuple(notes)


def _overruling(
    electorate: Electorate, winners: IntArray, label: Callable[[np.int64], Answer | None]
) -> tuple[str, ...]:
    """Return the sentence about few answers that go against a clear majority."""
    majority = electorate.count(MajorityVote(), None)
    votes, most = majority.scores[0].astype(np.int64), majority.winners[0]
    return (
        f"{label(winners[0])} wins against a clear majority: {label(most)} has {votes[most]} of"
        f" {count(int(votes.sum()), 'vote')}, and {label(winners[0])} {votes[winners[0]]}. With fewer than"
        f" {MIN_POOL} answers confidence is weak evidence.",
    )


def overrules(electorate: Electorate, winners: IntArray) -> BoolArray:
    """(n_pools,) Whether a winner goes against a clear majority of fewer than `MIN_POOL` answers."""
    majority = electorate.count(MajorityVote(), None)
    each = np.arange(len(winners))
    mine, most = majority.scores[each, winners], majority.scores[each, majority.winners]
    differs = (winners >= 0) & (winners != majority.winners)
    return np.asarray(
        differs & (majority.scores.sum(axis=1) < MIN_POOL) & (most >= CLEAR * mine), dtype=np.bool_
    )


def unmeasured_note(n_unmeasured: int, n_answered: int, method: str) -> str:
    """Say that answers of one pool have no confidence, without a full stop."""
    if n_unmeasured == n_answered:
        return f"no answer has a confidence, so majority voting decides, not {method}"
    return in_majority_only(n_unmeasured, n_answered)


def in_majority_only(n_unmeasured: int, n_answered: int) -> str:
    """Say that some answers have no confidence, without a full stop."""
    have, they, voting = (verb(n_unmeasured, word) for word in ("have", "they", "count"))
    of = f"{n_unmeasured:,} of {count(n_answered, 'answer')}"
    return f"{of} {have} no confidence: {they} {voting} in the majority only"


def separations(splits: Splits) -> FloatArray:
    """Return how many standard deviations lie between the means (Ashman's D); NaN without a fit."""
    spread = np.hypot(splits.sds[:, 0], splits.sds[:, 1]) / np.sqrt(2)
    distances: FloatArray = (splits.means[:, 1] - splits.means[:, 0]) / spread
    return distances
