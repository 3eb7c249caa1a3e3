"""Builds the `Tally` of one decision: labels instead of class numbers, and what led to the answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distrivote.voting.ballot import Answer, Ballot
from distrivote.voting.caveats import notes_on, overrules, overruling_note, separations
from distrivote.voting.electorate import Electorate, likely_right, likely_wrong
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.pools import BoolArray, FloatArray, Pools
from distrivote.voting.kernels.splits import Splits
from distrivote.voting.pipeline import Decision, Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.tally import Split, Tally, Weighing
from distrivote.voting.trust import Trust
from distrivote.voting.votes import DriftingVote, HierarchicalVote, MajorityVote


def tally_of(ballot: Ballot, electorate: Electorate, pipeline: Pipeline, calibration: Calibration) -> Tally:
    """Return the tally of a method on a ballot, which is the only pool of the electorate."""
    decision, voters = pipeline.decide(electorate), pipeline.voters(electorate)
    pools = voters.pools
    majority = electorate.count(MajorityVote(), None).winners
    n, answered = len(ballot.classes), ballot.classes >= 0
    kept = decision.kept[0][:n]
    fallback = decision.fallback is not None and bool(decision.fallback[0])
    values = decision.scores[0]
    # If another answer than the vote's own was more probable, its split decided nothing.
    went_back = decision.unweighed is not None and bool(decision.unweighed[0] != decision.winners[0])
    went_back = went_back or fallback
    if values.min() < 0:  # answers that took no part are ordered after all others
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
        split=_split(second, kept, aside),
        first_split=_split(first, above, below),
        rejected=label(decision.rejected[0]),
        negative_answer=label(decision.negative_winners[0]),
        intervals_won=None if went_back else _intervals_won(pipeline, pools, decision),
        weighing=_weighing(decision, electorate.evidence, label),
        probabilities={ballot.labels[c]: float(probabilities[c]) for c in order},
        calibrated=calibration.covers(n_answered),
        notes=ballot.notes
        + notes_on(pipeline, n_answered, n_measured, None if went_back else separation)
        + ((overruling_note(electorate, decision.winners, label),) if against else ()),
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
    """Return which are above the cut and which are below it; without a cut all are above."""
    if splits is None:
        return answered, np.zeros_like(answered)
    n = len(answered)
    return likely_right(pools, splits)[0][:n], likely_wrong(pools, splits)[0][:n]


def _seen(electorate: Electorate, answered: BoolArray) -> FloatArray:
    """Return the confidences of the answers, NaN if missing."""
    return np.where(answered, electorate.pools.confidences[0][: len(answered)], np.nan)


def _best(ballot: Ballot, winner: np.int64) -> int | None:
    """Return the first of the most confident trajectories that gave an answer; unmeasured ones come last."""
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


def _split(splits: Splits | None, positive: BoolArray, negative: BoolArray) -> Split | None:
    if splits is None:
        return None
    low, high = float(splits.highest_negative[0]), float(splits.lowest_positive[0])
    cut = low + (high - low) / 2

    def pair(values: FloatArray) -> tuple[float, float] | None:
        low, high = values[0].tolist()
        return None if np.isnan(low + high) else (low, high)

    return Split(
        cut,
        int(np.count_nonzero(positive)),
        int(np.count_nonzero(negative)),
        pair(splits.weights),
        pair(splits.means),
        pair(splits.sds),
    )
