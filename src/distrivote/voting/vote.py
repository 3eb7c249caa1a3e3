"""The calls of the library: one ballot, a batch of pools, or a long flat list of them.

All three run the same batched code: what comes in is checked here, once, and goes through it in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from distrivote.errors import InputError
from distrivote.voting.ballot import Answer, Ballot, Outcome, Split, Tally, check_confidences
from distrivote.voting.blocks import Block, blocks_of
from distrivote.voting.kernels.hierarchy import interval_winners
from distrivote.voting.kernels.pools import FloatArray, IntArray, Pools, make_pools
from distrivote.voting.kernels.splits import Splits
from distrivote.voting.methods import parse_method
from distrivote.voting.pipeline import Decision, Electorate, Pipeline
from distrivote.voting.votes import HierarchicalVote, MajorityVote

MIN_POOL = 16
"""Below this many answers the paper's own gain is gone."""

MIN_SEPARATION = 2.0
"""Two equal Gaussians closer than two standard deviations make a single hump."""


def vote(
    answers: Ballot | Iterable[Answer | None],
    confidences: Iterable[float | None] | None = None,
    method: str | Pipeline = "dis-gmm",
) -> Tally:
    """Return what a method makes of one pool of answers and confidences.

    Args:
        answers: One per trajectory, None for no answer; or a whole `Ballot`.
        confidences: One per trajectory, higher meaning surer; not needed for `sc`.
        method: A name such as "dis-gmm" or "wsc-top:0.1", or a `Pipeline`.

    >>> result = vote(["42", "41", "42", None, "7"], [15.2, 13.9, 14.8, 9.0, 12.1])
    >>> result.answer
    '42'
    """
    if isinstance(answers, Ballot):
        if confidences is not None:
            raise InputError("a ballot holds its confidences already: leave the second argument out")
        ballot = answers
    else:
        ballot = Ballot.of(answers, confidences)
    pipeline = _pipeline(method)
    _require_confidences(ballot.classes, ballot.confidences, [pipeline], "confidence {}".format)
    pools = make_pools(ballot.classes[None], ballot.confidences[None], len(ballot.labels))
    return _tally(ballot, pools, pipeline)


def vote_batch(
    classes: npt.ArrayLike | Sequence[npt.ArrayLike],
    confidences: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    methods: Iterable[str] = ("dis-gmm",),
) -> dict[str, IntArray]:
    """Return the winning class of each pool, by method; -1 where nothing was answered.

    Args:
        classes: (n_pools, n_trajectories) integers, -1 for no answer; or one sequence per pool.
        confidences: The same shape; not needed if `sc` is the only method.
        methods: Names. Work that they share is done once.

    >>> vote_batch([[0, 1, 0], [1, 1, -1]], [[9.0, 8.0, 9.5], [7.0, 6.0, 5.0]], ["sc", "bon"])
    {'sc': array([0, 1]), 'bon': array([0, 1])}
    """
    flat_classes, offsets = _flatten(classes, "classes")
    if confidences is None:
        flat_confidences = np.full(len(flat_classes), np.nan)
    else:
        flat_confidences, other = _flatten(confidences, "confidences")
        if not np.array_equal(offsets, other):
            raise InputError(_shape_difference(offsets, other))
    outcomes = elect(_integers(flat_classes), _floats(flat_confidences), offsets, methods)
    return {name: outcome.winner for name, outcome in outcomes.items()}


def elect(
    classes: IntArray, confidences: FloatArray, offsets: IntArray, methods: Iterable[str]
) -> dict[str, Outcome]:
    """Return the outcome of every pool by method, for pools that lie one after the other.

    Args:
        classes: Flat answer classes, any integers from 0, -1 for no answer.
        confidences: Flat, NaN where missing.
        offsets: (n_pools + 1,) Pool i is [offsets[i]:offsets[i + 1]].
        methods: Names.
    """
    pipelines = {name: _pipeline(name) for name in methods}

    def place(index: int) -> str:
        pool = int(np.searchsorted(offsets, index, side="right")) - 1
        return f"confidence {index - offsets[pool]} of pool {pool}"

    check_confidences(confidences, place)
    _require_confidences(classes, confidences, pipelines.values(), place)
    n = len(offsets) - 1
    outcomes = {name: _empty_outcome(n) for name in pipelines}
    for block in blocks_of(classes, confidences, offsets):
        electorate = Electorate(block.pools)
        for name, pipeline in pipelines.items():
            _record(outcomes[name], block, electorate, pipeline)
    return outcomes


def _pipeline(method: str | Pipeline) -> Pipeline:
    return parse_method(method) if isinstance(method, str) else method


# Checking what came in


def _require_confidences(
    classes: IntArray,
    confidences: FloatArray,
    pipelines: Iterable[Pipeline],
    place: Callable[[int], str],
) -> None:
    """Raise InputError if a method needs a confidence that an answered trajectory lacks."""
    needing = [pipeline.name for pipeline in pipelines if pipeline.needs_confidence]
    if not needing:
        return
    lacking = (classes >= 0) & np.isnan(confidences)
    if lacking.any():
        raise InputError(
            f"{place(int(lacking.argmax()))} is missing, which {needing[0]} needs:"
            " give one (not NaN or None) to every answer, or use the method sc"
        )


def _flatten(values: object, what: str) -> tuple[npt.NDArray[np.generic], IntArray]:
    """Return the values one after the other and the offsets of the pools."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        n, m = values.shape
        return values.ravel(), np.arange(n + 1) * m
    try:
        rows = [np.asarray(row) for row in values]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        rows = [np.empty((0, 0))]
    for index, row in enumerate(rows):
        if row.ndim != 1:
            raise InputError(
                f"{what}: pool {index} has {row.ndim} dimensions:"
                " hand in (n_pools, n_trajectories), or one flat sequence per pool"
            )
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    filled = [row for row in rows if len(row)]
    return (np.concatenate(filled) if filled else np.empty(0)), offsets


def _shape_difference(offsets: IntArray, other: IntArray) -> str:
    if len(offsets) != len(other):
        return f"{len(offsets) - 1} pools of classes but {len(other) - 1} of confidences"
    sizes, others = np.diff(offsets), np.diff(other)
    index = int((sizes != others).argmax())
    return (
        f"pool {index} has {sizes[index]} classes but {others[index]} confidences:"
        " hand in one confidence per class"
    )


def _integers(values: npt.NDArray[np.generic]) -> IntArray:
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"classes are of type {values.dtype}: hand in whole numbers, -1 for no answer")
    if values.size and values.max() > np.iinfo(np.int64).max:
        raise InputError(f"class {values.max()} is too large: classes are whole numbers of 64 bits")
    classes = values.astype(np.int64)
    if (classes < -1).any():
        index = int((classes < -1).argmax())
        raise InputError(f"class {index} is {classes[index]}: classes count from 0, -1 is no answer")
    return classes


def _floats(values: npt.NDArray[np.generic]) -> FloatArray:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"confidences are of type {values.dtype}: hand in positive numbers, NaN where missing"
        ) from None


# One pool or many


def _empty_outcome(n: int) -> Outcome:
    def integers() -> IntArray:
        return np.full(n, -1, dtype=np.int64)

    return Outcome(integers(), np.zeros(n), integers(), integers(), integers(), np.full(n, np.nan))


def _record(outcome: Outcome, block: Block, electorate: Electorate, pipeline: Pipeline) -> None:
    """Write one method's decisions on a block into the outcome."""
    decision = pipeline.decide(electorate)
    each = np.arange(len(decision.winners))
    answered = decision.winners >= 0
    totals = decision.scores.sum(axis=1)
    totals[~answered] = 1.0
    outcome.share[block.which] = np.where(answered, decision.scores[each, decision.winners] / totals, 0.0)
    outcome.n_cast[block.which] = np.count_nonzero(electorate.pools.answered, axis=1)
    outcome.n_kept[block.which] = np.count_nonzero(decision.kept, axis=1)
    for target, ids in ((outcome.winner, decision.winners), (outcome.rejected, decision.rejected)):
        named = ids if block.classes is None else block.classes[each, ids]
        target[block.which] = np.where(ids >= 0, named, -1)
    if pipeline.filter is not None:
        outcome.separation[block.which] = separations(electorate.splits(pipeline.filter))


def separations(splits: Splits) -> FloatArray:
    """Return how many standard deviations lie between the means (Ashman's D); NaN without a fit."""
    spread = np.hypot(splits.sds[:, 0], splits.sds[:, 1]) / np.sqrt(2)
    distances: FloatArray = (splits.means[:, 1] - splits.means[:, 0]) / spread
    return distances


def _tally(ballot: Ballot, pools: Pools, pipeline: Pipeline) -> Tally:
    electorate = Electorate(pools)
    decision = pipeline.decide(electorate)
    majority = MajorityVote().count(pools, pools.answered).winners
    answered = ballot.classes >= 0
    kept = decision.kept[0][: len(answered)]
    exponent = int(pools.exponents[0])
    values = decision.scores[0]
    if pipeline.vote.scores_confidence and np.abs(values).max() < np.ldexp(1.0, 1023 - exponent):
        values = np.ldexp(values, exponent)  # else they stay scaled down: they would not fit a float
    order = sorted(range(len(ballot.labels)), key=lambda c: (c != decision.winners[0], -values[c]))

    def label(index: int | np.int64) -> Answer | None:
        return ballot.labels[index] if index >= 0 else None

    def counts(members: npt.NDArray[np.bool_]) -> dict[Answer, int]:
        n = np.bincount(ballot.classes[members], minlength=len(ballot.labels)).tolist()
        return {ballot.labels[c]: n[c] for c in order}

    first = electorate.splits(pipeline.filter) if pipeline.filter is not None else None
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
        notes=ballot.notes + _notes(pipeline, int(answered.sum()), first),
        confidences=ballot.confidences[answered],
    )


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


def _notes(pipeline: Pipeline, n_answered: int, first: Splits | None) -> tuple[str, ...]:
    notes = []
    if pipeline.filter is not None and 0 < n_answered < MIN_POOL:
        notes.append(f"Only {n_answered} answers: under {MIN_POOL} a split by confidence is mostly noise.")
    if first is not None and separations(first)[0] < MIN_SEPARATION:
        notes.append(
            "The confidences hardly have two humps, so the split says little"
            f" (means {separations(first)[0]:.1f} standard deviations apart)."
        )
    return tuple(notes)
