"""Votes and filters of one's own: plain functions, and objects with one method, in the shape of the library.

    vote      (classes, confidences) -> class or scores      (classes) -> ... if it uses no confidences
    filter    (confidences) -> the lowest confidence that is likely right

A function sees one pool. `classes` are numbers from 0 in the order in which the pool's answers first appear,
`confidences` are positive and in the same order, and scores are one number per class, the highest winning.
For the vote of the likely wrong half confidences are negative. A filter gets the confidences in ascending
order. An object with `count` (see `Vote`) or `split` (see `Filter`) gets many pools at once instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distrivote.names import FILTER, METHOD, Own, called, check_call, found, made_with, misgiven, unknown
from distrivote.voting.kernels.pools import ABSENT, BoolArray, FloatArray, IntArray, Pools, winning_answers
from distrivote.voting.kernels.splits import Splits, cut_at, no_splits, splittable
from distrivote.voting.votes import Count

Settings = tuple[tuple[str, str], ...]
"""Parameters as a name has them: (name, value) pairs."""


class _OwnPart:
    """What a vote and a filter of one's own share: a name, and parameters after it."""

    __slots__ = ("_part", "own", "settings")

    def __init__(self, own: Own, settings: Settings = ()) -> None:
        self.own, self.settings = own, settings
        self._part = made_with(self._role, own, dict(settings)).value

    _role = METHOD

    @property
    def name(self) -> str:
        return self.own.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _OwnPart) or type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.own, other.own
        return (mine.name, mine.value, self.settings) == (theirs.name, theirs.value, other.settings)

    def __hash__(self) -> int:
        return hash((self.own.name, self.settings))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.settings!r})"

    def __reduce__(self) -> Any:
        # By name, so that another process imports it again.
        return _revived, (type(self), self.own.name, self.settings)


def _revived(kind: type[_OwnPart], name: str, settings: Settings) -> _OwnPart:
    own = found(kind._role, name)
    if own is None:
        raise unknown(kind._role, name, ())
    return kind(own, settings)


class OwnVote(_OwnPart):
    """A vote that the user brought."""

    __slots__ = ("by_rank", "needs_confidence")

    _role = METHOD

    def __init__(self, own: Own, settings: Settings = ()) -> None:
        super().__init__(own, settings)
        is_batched = hasattr(self._part, "count") and not isinstance(self._part, type)
        n = 2 if is_batched else check_call(METHOD, own._replace(value=self._part), 2, 1)
        self.needs_confidence = bool(getattr(self._part, "needs_confidence", n == 2))
        self.by_rank = bool(getattr(self._part, "by_rank", not self.needs_confidence))
        if not is_batched:
            self._scores(np.array([0, 0, 1]), np.array([1.0, 2.0, 4.0]))  # an unusable result is seen now

    def count(self, pools: Pools, members: BoolArray, negated: bool = False) -> Count:
        if hasattr(self._part, "count"):
            return Count(*called(METHOD, self.name, self._part.count, pools, members, negated))
        scores = np.full((len(pools.answers), pools.n_answers), ABSENT)
        for row, who in enumerate(members):
            if not who.any():
                continue
            ids, first, classes = np.unique(pools.answers[row, who], return_index=True, return_inverse=True)
            order = np.argsort(first)
            place = np.argsort(order)
            confidences = pools.confidences[row, who]
            scores[row, ids[order]] = self._scores(place[classes], -confidences if negated else confidences)
        winners = winning_answers(scores, pools.answers, members)
        return Count(winners, np.where(scores > ABSENT, scores, 0.0))

    def _scores(self, classes: IntArray, confidences: FloatArray) -> FloatArray:
        """Return one score per class, `ABSENT` where the vote gave none; check what came back."""
        given = (classes, confidences) if self.needs_confidence else (classes,)
        result = called(METHOD, self.name, self._part, *given)
        n = int(classes.max()) + 1
        try:
            values = np.asarray(result, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.ndim == 0 and float(values) in range(n):
            chosen: FloatArray = np.where(np.arange(n) == values, 1.0, 0.0)
            return chosen
        if values.shape != (n,) or np.isnan(values).all():
            said = f"returned {str(result)[:60]} for {n} classes"
            raise misgiven(METHOD, self.own, said)
        return np.where(np.isnan(values), ABSENT, np.clip(values, ABSENT / 2, -ABSENT / 2))


class OwnFilter(_OwnPart):
    """A filter that the user brought."""

    __slots__ = ("by_rank", "ordered")

    _role = FILTER

    def __init__(self, own: Own, settings: Settings = ()) -> None:
        super().__init__(own, settings)
        self.by_rank = bool(getattr(self._part, "by_rank", False))
        self.ordered = bool(getattr(self._part, "ordered", False))
        if not hasattr(self._part, "split"):
            check_call(FILTER, own._replace(value=self._part), 1)
            self._cut(np.array([1.0, 2.0, 4.0]))  # an unusable result is seen now

    def split(self, ranked: FloatArray, sizes: IntArray) -> Splits:
        if hasattr(self._part, "split"):
            return Splits(*called(FILTER, self.name, self._part.split, ranked, sizes))
        splits = no_splits(ranked)
        rows = splittable(ranked, sizes)
        if rows.size:
            cuts = np.array([self._cut(ranked[row, : sizes[row]]) for row in rows])
            below = np.count_nonzero(ranked[rows] < cuts[:, None], axis=1)
            cut_at(splits, rows, ranked[rows], np.minimum(below, sizes[rows] - 1))
        return splits

    def _cut(self, confidences: FloatArray) -> float:
        result = called(FILTER, self.name, self._part, confidences)
        try:
            cut = float(result)
        except (TypeError, ValueError):
            cut = np.nan
        if np.isnan(cut):
            raise misgiven(FILTER, self.own, f"returned {str(result)[:60]} for a cut")
        return cut
