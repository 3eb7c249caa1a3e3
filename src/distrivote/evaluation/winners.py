"""The winners of majority voting, DistriVoting and `auto` on the draws of a pool set, with probabilities.

`auto` is evaluated twice: as a single vote, which uses only its question, and as part of a whole run, whose
questions together determine the trust in the model's confidences. Every repeat counts as one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distrivote.evaluation.drawn import Drawn, drawn
from distrivote.evaluation.pools import Flags, Floats, Ints, Pool, PoolSet
from distrivote.evaluation.scoring import BATCH, draw_pools
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.lessons import learned
from distrivote.voting.methods import parse_method
from distrivote.voting.pipeline import EVEN
from distrivote.voting.probability import Calibration, features
from distrivote.voting.trust import Trust

METHODS = ("sc", "dis-gmm", "auto")
WHOLE_RUN = "auto, whole run"


class Winners(NamedTuple):
    """The winners of one method: (n_questions, n_repeats) each."""

    answered: Flags
    """Whether there is a winner."""

    right: Flags
    probability: Floats
    """By the default calibration."""

    share: Floats
    """Of the votes; 0 without an answer."""

    features: Floats
    """(n_questions, n_repeats, 2) The features of a calibration; 0 without an answer."""


class _Part(NamedTuple):
    """A batch of draws: (n_pools, ...) each, the repeats of a question one after the other."""

    winners: dict[str, Winners]
    evidence: Evidence
    right: Flags
    """(n_pools, n_answers) Which answers are right."""

    seen: Ints
    """(n_pools, n_answers) Where each answer appears first."""


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """The result of every method on every draw: (n_questions, n_repeats)."""

    winners: dict[str, Winners]
    """By method: `METHODS`."""

    run_right: Flags
    """Whether `auto` with the trust learned from the whole run is right."""

    trusts: tuple[Trust, ...]
    """(n_repeats,) The learned trust."""

    def right(self, way: str) -> Flags:
        """Return whether each winner is right, by a method's name or `WHOLE_RUN`."""
        return self.run_right if way == WHOLE_RUN else self.winners[way].right

    @property
    def separation(self) -> float:
        """The learned separation, on average over repeats."""
        return float(np.mean([trust.separation for trust in self.trusts]))


def votes_of(source: PoolSet, budget: int | None, n_repeats: int, seed: int) -> Votes:
    """Vote on draws of `budget` trajectories; None: once, on all trajectories of each question."""
    n_repeats = 1 if budget is None else n_repeats
    parts = [_part(draws) for draws in draws_of(source, budget, n_repeats, seed)]

    def joined(values: Sequence[np.ndarray]) -> np.ndarray:
        whole = np.concatenate(values)
        return whole.reshape(-1, n_repeats, *whole.shape[1:])

    def tables(values: Sequence[np.ndarray]) -> np.ndarray:
        width = max(each.shape[1] for each in values)
        return joined([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in values])

    winners = {
        name: Winners(*map(joined, zip(*(part.winners[name] for part in parts), strict=True)))
        for name in METHODS
    }
    known = {
        name: (joined if name == "within" else tables)([getattr(part.evidence, name) for part in parts])
        for name in Evidence._fields
    }
    right, seen = (tables([getattr(part, name) for part in parts]) for name in ("right", "seen"))
    trusts, run_right = [], np.zeros_like(winners["sc"].right)
    for repeat in range(n_repeats):
        evidence = Evidence(**{name: values[:, repeat] for name, values in known.items()})
        trust = learned(evidence).trust()
        trusts.append(trust)
        elected = _elected(trust.log_odds(evidence), evidence.votes, seen[:, repeat])
        run_right[:, repeat] = right[np.arange(len(right)), repeat, elected]
    return Votes(winners, run_right, tuple(trusts))


def _elected(odds: Floats, votes: Floats, seen: Ints) -> Ints:
    """Return the most probable answer; on a tie that with more votes, then the one seen first."""
    likely = (odds >= odds.max(axis=1, keepdims=True) - EVEN) & (votes > 0)
    elected: Ints = np.where(likely, votes - seen / (seen.max() + 1.0), -1.0).argmax(axis=1)
    return elected


def draws_of(source: PoolSet, budget: int | None, n_repeats: int, seed: int) -> Iterator[Drawn]:
    """Yield the draws of all questions, in batches that fit into memory."""
    longest = max(pool.n_trajectories for pool in source.pools)
    at_once = max(1, BATCH // (longest if budget is None else budget * n_repeats))
    for start in range(0, len(source.pools), at_once):
        some = source.pools[start : start + at_once]
        if budget is None:
            yield _whole(some, longest)
        else:
            yield draw_pools(some, budget, n_repeats, seed)


def _whole(pools: Sequence[Pool], longest: int) -> Drawn:
    """Return complete pools in their own order, padded with trajectories without an answer."""
    classes = np.full((len(pools), longest), -1)
    confidence = np.ones((len(pools), longest))
    weights = np.ones((len(pools), longest))
    correct, right = np.zeros((2, len(pools), longest), dtype=np.bool_)
    for row, pool in enumerate(pools):
        n = pool.n_trajectories
        given = pool.classes >= 0
        classes[row, :n] = pool.classes
        confidence[row, :n] = pool.confidence
        weights[row, :n] = 1.0 if pool.weights is None else pool.weights
        correct[row, :n] = pool.correct
        right[row, :n][given] = pool.right_classes[pool.classes[given]]
    several = any(pool.weights is not None for pool in pools)
    return drawn(classes, confidence, correct, right, weights if several else None)


def _part(draws: Drawn) -> _Part:
    electorate = draws.electorate
    pools = electorate.pools
    evidence = electorate.evidence
    n_answered = np.count_nonzero(pools.answered, axis=1)
    each = np.arange(len(n_answered))
    rows, probabilities = features(evidence, Trust()), Calibration().of(evidence, Trust())
    winners = {}
    for name in METHODS:
        ids = parse_method(name).decide(electorate).winners
        answered = ids >= 0
        at = np.maximum(ids, 0)
        winners[name] = Winners(
            answered,
            draws.right[each, at] & answered,
            np.where(answered, probabilities[each, at], 0.0),
            evidence.votes[each, at] / np.maximum(n_answered, 1),
            np.where(answered[:, None], rows[each, at], 0.0),
        )
    seen = np.full(evidence.counts.shape, pools.answers.shape[1])
    columns = np.broadcast_to(np.arange(pools.answers.shape[1]), pools.answers.shape)
    rows_there = np.broadcast_to(each[:, None], pools.answers.shape)[pools.answered]
    np.minimum.at(seen, (rows_there, pools.answers[pools.answered]), columns[pools.answered])
    return _Part(winners, evidence, draws.right, seen)
