"""Voting functions: on one ballot, on a batch of pools, or on a long flat list of pools.

All of them run the same batched code: arguments are checked here, once, and processed in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np
import numpy.typing as npt

from distrivote.defaults import METHOD
from distrivote.errors import InputError
from distrivote.voting.ballot import Answer, Ballot
from distrivote.voting.blocks import Block, blocks_of
from distrivote.voting.caveats import overrules, separations
from distrivote.voting.electorate import Electorate
from distrivote.voting.kernels.pools import FloatArray, IntArray, Pools, make_pools
from distrivote.voting.lessons import Lessons, learned
from distrivote.voting.methods import Method, method_of
from distrivote.voting.models import EQUAL, Worth, among_models, comparable, note_on
from distrivote.voting.pipeline import Decision, Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.scales import NOTES, Scale, check_confidences, converter, on_scale, scale_of
from distrivote.voting.tally import Outcome, Tally
from distrivote.voting.tally_builder import tally_of
from distrivote.voting.trust import Trust


def vote(
    answers: Ballot | Iterable[Answer | None],
    confidences: Iterable[float | None] | None = None,
    method: Method = METHOD,
    *,
    calibration: Calibration | None = None,
    confidence_scale: str | None = None,
    models: Sequence[str] | None = None,
    worth: Worth = EQUAL,
) -> Tally:
    """Return the result of a method on one pool of answers and confidences.

    An answer without a confidence counts in the majority and has no other say; if no answer has one, the
    majority decides. The tally says both.

    Args:
        answers: One per trajectory, None for no answer; or a whole `Ballot`.
        confidences: One per trajectory, higher meaning surer, None where there is none.
        method: A name such as "dis-gmm" or "wsc-top:0.1", a function (classes, confidences) -> class or
            scores, or a `Pipeline`.
        calibration: Where probabilities come from, instead of the default calibration.
        confidence_scale: "logprob" for mean log-probabilities: their exp is used; "logit" for logits: their
            sigmoid. `auto` and votes by rank accept numbers of 0 and below without it.
        models: The model of each trajectory, if there are several: confidences are then compared within
            each model only.
        worth: What the votes of each model are worth to `auto`; by default all the same.

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
    if (convert := converter(confidence_scale)) is not None:
        ballot = replace(ballot, confidences=convert(ballot.confidences, "confidence {}".format))
    if models is not None:
        if len(models) != len(ballot.classes):
            raise InputError(f"{len(ballot.classes)} answers but {len(models)} models: give one per answer")
        ballot = replace(ballot, models=tuple(map(str, models)))
    return tally_on(ballot, method_of(method), calibration or Calibration(), worth=worth)


def tally_on(
    ballot: Ballot,
    pipeline: Pipeline,
    calibration: Calibration,
    scale: Scale | None = None,
    worth: Worth = EQUAL,
) -> Tally:
    """Return the result of a method on a ballot; `scale` is that of its file if it has several questions.

    If its trajectories are of several models, `worth` is what these are worth.
    """
    if len(set(ballot.models)) > 1:
        return _tally_of_models(ballot, pipeline, calibration, worth)
    values = ballot.confidences
    check_confidences(values, positive_for=pipeline.name if pipeline.needs_positive else None)
    scale = scale_of(ballot.classes, values) if scale is None else scale
    pools = make_pools(ballot.classes[None], values[None], len(ballot.labels))
    scaled = None
    if scale is not Scale.POSITIVE:
        ballot = replace(ballot, notes=(*ballot.notes, NOTES[scale]))
        values = on_scale(scale, ballot.classes, values, np.array([0, len(values)]))
        scaled = make_pools(ballot.classes[None], values[None], len(ballot.labels))
    electorate = Electorate(pools, scaled, sized=scale is not Scale.STANDARD)
    return tally_of(ballot, electorate, pipeline, calibration)


def _tally_of_models(ballot: Ballot, pipeline: Pipeline, calibration: Calibration, worth: Worth) -> Tally:
    check_confidences(ballot.confidences)
    values = comparable(ballot.confidences, ballot.models, ballot.classes)
    ballot = replace(
        ballot, confidences=values, notes=(*ballot.notes, note_on(ballot.classes, ballot.models, worth))
    )
    pools = make_pools(ballot.classes[None], values[None], len(ballot.labels))
    weights = worth.of(ballot.models)[None]
    return tally_of(ballot, Electorate(pools, sized=False, weights=weights), pipeline, calibration)


def vote_batch(
    classes: npt.ArrayLike | Sequence[npt.ArrayLike],
    confidences: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    methods: Iterable[str] = (METHOD,),
    *,
    confidence_scale: str | None = None,
) -> dict[str, IntArray]:
    """Return the winning class of each pool, by method; -1 where nothing was answered.

    An answer without a confidence counts in the majority and has no other say; in a pool where no answer
    has one, the majority decides.

    Args:
        classes: (n_pools, n_trajectories) integers, -1 for no answer; or one sequence per pool.
        confidences: The same shape, NaN where there is none.
        methods: Names. Work that they share is done once. `auto` treats the pools as the questions of
            one model, and estimates from all of them how far its confidences can be trusted.
        confidence_scale: As in `vote`.

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
    values = _floats(flat_confidences)
    if (convert := converter(confidence_scale)) is not None:
        values = convert(values, _place(offsets))
    pools = (_integers(flat_classes), values, offsets)
    pipelines = _pipelines(methods)
    if any(pipeline.trust is not None for pipeline in pipelines.values()):
        trust = trust_of(*pools)
        pipelines = {name: pipeline.believing(trust) for name, pipeline in pipelines.items()}
    return {name: outcome.winner for name, outcome in _elect(*pools, pipelines).items()}


def trust_of(classes: IntArray, confidences: FloatArray, offsets: IntArray) -> Trust:
    """Return the trust in confidences that all pools together give; the arguments are those of `elect`."""
    return lessons_of(classes, confidences, offsets).trust()


def lessons_of(classes: IntArray, confidences: FloatArray, offsets: IntArray) -> Lessons:
    """Return the lessons about confidences from all pools together; the arguments are those of `elect`."""
    lessons = Lessons()
    for block in blocks_of(classes, confidences, offsets):
        lessons = learned(Electorate(block.pools).evidence, lessons)
    return lessons


def elect(
    classes: IntArray,
    confidences: FloatArray,
    offsets: IntArray,
    methods: Iterable[str],
    *,
    calibration: Calibration | None = None,
    scale: Scale | None = None,
    trust: Trust | None = None,
    models: Sequence[str] | None = None,
    worth: Worth = EQUAL,
) -> dict[str, Outcome]:
    """Return the outcome of every pool by method, for pools in flat arrays.

    Args:
        classes: Flat answer classes, any integers from 0, -1 for no answer.
        confidences: Flat, NaN where missing.
        offsets: (n_pools + 1,) Pool i is [offsets[i]:offsets[i + 1]].
        methods: Names. `auto` judges each pool by itself, unless `trust` says how.
        calibration: Where probabilities come from; without one they are NaN.
        scale: How the confidences are weighed, if these are some pools of many; by default they decide it.
        trust: How far the confidences can be trusted, if that was learned.
        models: The model of each trajectory, if pools have several: `scale` does not count then.
        worth: What the votes of each model are worth to `auto`.
    """
    pipelines = {name: pipeline.believing(trust) for name, pipeline in _pipelines(methods).items()}
    pools = _checked(classes, confidences, offsets)
    if models is None or len(set(models)) < 2:
        return _elect(*pools, pipelines, calibration, scale)
    check_confidences(pools[1], _place(pools[2]))
    values, weights = among_models(*pools, models, worth)
    return _elect(pools[0], values, pools[2], pipelines, calibration, Scale.POSITIVE, weights)


def _elect(
    classes: IntArray,
    confidences: FloatArray,
    offsets: IntArray,
    pipelines: dict[str, Pipeline],
    calibration: Calibration | None = None,
    scale: Scale | None = None,
    weights: FloatArray | None = None,
) -> dict[str, Outcome]:
    """Vote; `weights` are those of the trajectories in pools of several models."""
    needing = next((pipeline.name for pipeline in pipelines.values() if pipeline.needs_positive), None)
    check_confidences(confidences, _place(offsets), needing)
    n = len(offsets) - 1
    outcomes = {name: _empty_outcome(n) for name in pipelines}
    scaled: Iterator[Block | None] = repeat(None)
    scale = scale_of(classes, confidences) if scale is None else scale
    if scale is not Scale.POSITIVE:
        scaled = blocks_of(classes, on_scale(scale, classes, confidences, offsets), offsets)
    weighty: Iterator[Block | None] = repeat(None)
    if weights is not None:
        weighty = blocks_of(classes, weights, offsets)
    for block, on, weigh in zip(blocks_of(classes, confidences, offsets), scaled, weighty, strict=False):
        sized = scale is not Scale.STANDARD and weigh is None
        weight = None if weigh is None else weigh.pools.confidences
        electorate = Electorate(block.pools, None if on is None else on.pools, sized, weight)
        for name, pipeline in pipelines.items():
            _record(outcomes[name], block, electorate, pipeline, calibration)
    return outcomes


# Checking arguments


def _pipelines(methods: Iterable[str]) -> dict[str, Pipeline]:
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise InputError(f"methods are {methods!r}: give a list of names, such as ['sc', 'dis-gmm']")
    return {name: method_of(name) for name in methods}


def _checked(
    classes: npt.ArrayLike, confidences: npt.ArrayLike, offsets: npt.ArrayLike
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the arguments of `elect` as arrays of matching lengths."""
    given = {"classes": classes, "confidences": confidences, "offsets": offsets}
    for what, values in given.items():
        if np.ndim(values) != 1:
            raise InputError(f"{what} have {np.ndim(values)} dimensions: give one flat sequence")
    flat, ends = (_integers(np.asarray(classes)), _floats(np.asarray(confidences))), np.asarray(offsets)
    n, n_confidences = map(len, flat)
    if n != n_confidences:
        raise InputError(f"{n} classes but {n_confidences} confidences: give one confidence per class")
    whole = np.issubdtype(ends.dtype, np.integer)
    if not (whole and ends.size and ends[0] >= 0 and ends[-1] <= n and (np.diff(ends) >= 0).all()):
        raise InputError(f"offsets do not divide {n} classes into pools: give whole numbers from 0 up to {n}")
    return *flat, ends


def _place(offsets: IntArray) -> Callable[[int], str]:
    """Return a function that says where in the pools a value of the flat array is."""

    def place(index: int) -> str:
        pool = int(np.searchsorted(offsets, index, side="right")) - 1
        return f"confidence {index - offsets[pool]} of pool {pool}"

    return place


def _flatten(values: object, what: str) -> tuple[npt.NDArray[np.generic], IntArray]:
    """Return the values one after the other and the offsets of the pools."""
    if isinstance(values, np.ndarray) and values.ndim == 2 and not isinstance(values, np.ma.MaskedArray):
        n, m = values.shape
        return values.ravel(), np.arange(n + 1) * m
    try:
        given = list(values)  # type: ignore[call-overload]
        rows = [np.asarray(row) for row in given]
    except (TypeError, ValueError):
        given = rows = [np.empty((0, 0))]
    if isinstance(values, np.ma.MaskedArray) or any(isinstance(row, np.ma.MaskedArray) for row in given):
        raise InputError(f"the {what} are masked: fill them, classes with -1 and confidences with NaN")
    for index, row in enumerate(rows):
        if row.ndim != 1:
            raise InputError(
                f"{what}: pool {index} has {row.ndim} dimensions:"
                " give (n_pools, n_trajectories), or one flat sequence per pool"
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
        " give one confidence per class"
    )


def _integers(values: npt.NDArray[np.generic]) -> IntArray:
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"classes are of type {values.dtype}: give whole numbers, -1 for no answer")
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
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"confidences are of type {values.dtype}: give numbers, NaN where missing") from None


# One pool or many


def _empty_outcome(n: int) -> Outcome:
    def integers() -> IntArray:
        return np.full(n, -1, dtype=np.int64)

    shares, separations, probabilities = np.zeros(n), np.full(n, np.nan), np.full(n, np.nan)
    winners, cast, kept, unmeasured, rejected = (integers() for _ in range(5))
    against = np.zeros(n, dtype=np.bool_)
    return Outcome(winners, shares, cast, kept, unmeasured, rejected, separations, probabilities, against)


def _record(
    outcome: Outcome,
    block: Block,
    electorate: Electorate,
    pipeline: Pipeline,
    calibration: Calibration | None,
) -> None:
    """Write one method's decisions on a block into the outcome."""
    decision, voters = pipeline.decide(electorate), pipeline.voters(electorate)
    each = np.arange(len(decision.winners))
    answered = decision.winners >= 0
    n_cast = np.count_nonzero(electorate.pools.answered, axis=1)
    n_voters = n_cast
    if voters is not electorate:
        n_voters = np.count_nonzero(voters.pools.answered, axis=1)
    outcome.share[block.which] = _shares(decision, electorate.pools)
    outcome.n_cast[block.which] = n_cast
    outcome.n_kept[block.which] = np.count_nonzero(decision.kept, axis=1)
    outcome.n_unmeasured[block.which] = n_cast - n_voters
    for target, ids in ((outcome.winner, decision.winners), (outcome.rejected, decision.rejected)):
        named = ids if block.classes is None else block.classes[each, ids]
        target[block.which] = np.where(ids >= 0, named, -1)
    if pipeline.filter is not None:
        outcome.separation[block.which] = separations(voters.splits(pipeline.filter))
    outcome.overrules[block.which] = overrules(electorate, decision.winners)
    if calibration is not None:
        probabilities = electorate.probabilities(calibration, pipeline.trust or Trust())
        outcome.probability[block.which] = np.where(answered, probabilities[each, decision.winners], 0.0)


def _shares(decision: Decision, pools: Pools) -> FloatArray:
    """Return the winners' shares of the scores; of the votes if scores are below 0, or all are 0."""
    each, answered = np.arange(len(decision.winners)), decision.winners >= 0
    totals = decision.scores.sum(axis=1)
    mine = decision.scores[each, decision.winners]
    below = (decision.scores < 0).any(axis=1) | (totals == 0)
    if below.any():
        votes = np.count_nonzero(decision.kept & (pools.answers == decision.winners[:, None]), axis=1)
        totals = np.where(below, np.count_nonzero(decision.kept, axis=1), totals)
        mine = np.where(below, votes, mine)
    totals[~answered] = 1.0
    return np.where(answered, mine / totals, 0.0)
