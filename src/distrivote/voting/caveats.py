"""Caveats about a vote: a small pool, a single mode, missing confidences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distrivote.nouns import count, verb
from distrivote.voting.ballot import Answer
from distrivote.voting.electorate import Electorate
from distrivote.voting.kernels.pools import BoolArray, FloatArray, IntArray
from distrivote.voting.kernels.splits import Splits
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.votes import MajorityVote

MIN_POOL = 16
"""With fewer answers than this the gain in the paper disappears."""

CLEAR = 2
"""A majority is clear if it has at least this many times the votes of the answer that wins instead."""

MIN_SEPARATION = 2.0
"""Two equal Gaussians closer than two standard deviations have a single mode."""


def notes_on(
    pipeline: Pipeline, n_answered: int, n_measured: int, separation: float | None
) -> tuple[str, ...]:
    """Return a sentence for each caveat about the confidences of one pool and their split."""
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


def overruling_note(
    electorate: Electorate, winners: IntArray, label: Callable[[np.int64], Answer | None]
) -> str:
    """Return the sentence about a winner that goes against a clear majority of few answers."""
    majority = electorate.count(MajorityVote(), None)
    votes, most = majority.scores[0].astype(np.int64), majority.winners[0]
    return (
        f"{label(winners[0])} wins against a clear majority: {label(most)} has {votes[most]} of"
        f" {count(int(votes.sum()), 'vote')}, and {label(winners[0])} {votes[winners[0]]}. With fewer than"
        f" {MIN_POOL} answers confidence is weak evidence."
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
