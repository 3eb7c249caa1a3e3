"""A batch of pools, with the results that methods share, computed once.

Sorted confidences, splits, the splits without a rejected answer, the counts of votes and the evidence of
confidences: methods that are compared on the same pools take them from here.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from distrivote.voting.filters import Filter
from distrivote.voting.kernels.evidence import Evidence, evidence_of
from distrivote.voting.kernels.pools import (
    BoolArray,
    FloatArray,
    IntArray,
    Pools,
    ordered_confidences,
    ranked_confidences,
    sums_by_answer,
)
from distrivote.voting.kernels.splits import Splits, copy_of, copy_rows, put_rows
from distrivote.voting.probability import Calibration
from distrivote.voting.trust import Trust
from distrivote.voting.votes import Count, Vote


class Electorate:
    """A batch of pools, with results about them computed on first use."""

    def __init__(
        self,
        pools: Pools,
        scaled: Pools | None = None,
        sized: bool = True,
        weights: FloatArray | None = None,
    ) -> None:
        self.pools = pools
        self.weights = weights
        """(n_pools, n_columns) What each vote is worth to `auto`, if the pools have several models."""

        self._sized = sized
        """Whether the size of a confidence means the same in every pool."""

        self.scaled = self if scaled is None else Electorate(scaled)
        """The same pools with positive confidences, if the given ones are not."""

        self._splits: dict[Filter, Splits] = {}
        self._splits_without: dict[Filter, list[tuple[IntArray, Splits]]] = {}
        self._counts: dict[tuple[Vote, Filter | None, bool], Count] = {}
        self._probabilities: dict[tuple[Calibration, Trust], FloatArray] = {}

    @cached_property
    def measured(self) -> Electorate:
        """The same pools without the answers that have no confidence."""
        if not np.isnan(self.pools.confidences.min(initial=np.inf)):
            return self
        lacking = np.isnan(self.pools.confidences)
        confidences = np.where(lacking, 1.0, self.pools.confidences)
        return Electorate(
            self.pools._replace(confidences=confidences, answered=self.pools.answered & ~lacking)
        )

    @cached_property
    def evidence(self) -> Evidence:
        """What the confidences say for each answer."""
        return self.evidence_at(slice(None))

    def evidence_at(self, rows: slice | IntArray) -> Evidence:
        """Return the evidence of some pools: votes of all answers, scores of those with a confidence."""
        scaled = self.scaled
        found = evidence_of(scaled.measured.pools.rows(rows), self._sized)
        if scaled.measured is scaled and self.weights is None:
            return found
        pools = self.pools.rows(rows)
        votes = pools.answered.astype(np.float64)
        if self.weights is not None:
            votes *= self.weights[rows]
        return found._replace(votes=sums_by_answer(pools, votes))

    def probabilities(self, calibration: Calibration, trust: Trust) -> FloatArray:
        """Return (n_pools, n_answers) how probable each answer is."""
        key = (calibration, trust)
        if key not in self._probabilities:
            self._probabilities[key] = calibration.of(self.evidence, trust)
        return self._probabilities[key]

    @cached_property
    def _ranked(self) -> tuple[FloatArray, IntArray]:
        return ranked_confidences(self.pools, self.pools.answered)

    def splits(self, filter: Filter) -> Splits:
        """Return the split of every pool."""
        if filter not in self._splits:
            values = ordered_confidences(self.pools, self.pools.answered) if filter.ordered else self._ranked
            self._splits[filter] = filter.split(*values)
        return self._splits[filter]

    def splits_without(self, filter: Filter, rejected: IntArray) -> Splits:
        """Return the splits of the pools without their rejected answer; the first split where it is -1."""
        result = copy_of(self.splits(filter))
        known = self._splits_without.setdefault(filter, [])
        missing = rejected >= 0
        for other, splits in known:
            copy_rows(splits, result, missing & (other == rejected))
            missing &= other != rejected
        if missing.any():
            rows = np.flatnonzero(missing)
            pools = self.pools.rows(rows)
            members = pools.answered & (pools.answers != rejected[rows, None])
            put_rows(_split(filter, pools, members), result, rows)
        known.append((rejected, result))
        return result

    def count(self, vote: Vote, filter: Filter | None, negative: bool = False) -> Count:
        """Return the vote of all, of the positive side, or of the negative one by -C."""
        key = (vote, filter, negative)
        if key not in self._counts:
            members = self.pools.answered
            if filter is not None:
                side = likely_wrong if negative else likely_right
                members = side(self.pools, self.splits(filter))
            self._counts[key] = vote.count(self.pools, members, negated=negative)
        return self._counts[key]


def likely_right(pools: Pools, splits: Splits) -> BoolArray:
    """(n_pools, n_columns) Which trajectories are above the cut."""
    return pools.answered & (pools.confidences >= splits.lowest_positive[:, None])


def likely_wrong(pools: Pools, splits: Splits) -> BoolArray:
    """(n_pools, n_columns) Which trajectories are below the cut."""
    return pools.answered & (pools.confidences <= splits.highest_negative[:, None])


def _split(filter: Filter, pools: Pools, members: BoolArray) -> Splits:
    values, sizes = (ordered_confidences if filter.ordered else ranked_confidences)(pools, members)
    return filter.split(values[:, : max(int(sizes.max()), 1)], sizes)
