"""Truth: was the winning answer right?

`correct` is preferred if rows have it: the majority of the rows that gave the winning answer. Otherwise the
winner is compared with the right answer, by the same rule by which answers are compared with each other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equality import Same, equality
from distrivote.answers.equivalence import GRADING_BUDGET, verdict

if TYPE_CHECKING:
    from distrivote.store.tables.questions import Questions

UNKNOWN = -1
_NUMBER = re.compile(r"-?[1-9][0-9]{0,17}|0", re.ASCII)


class Judge:
    """Says which answers are right; each pair of answer and truth is compared once."""

    def __init__(self, same: Same | None = None) -> None:
        self._rule = equality(same)
        self._said: dict[tuple[str, str], bool | None] = {}

    def verdict(self, answer: str, truth: str) -> bool | None:
        """Return whether an answer is right; None if that is uncertain, and then it counts as wrong.

        >>> Judge().verdict("042", "42.0 "), Judge("text").verdict("1/2", "0.5")
        (True, False)
        """
        pair = (answer, truth)
        if pair not in self._said:
            self._said[pair] = self._compared(answer.strip(), truth.strip())
        return self._said[pair]

    def _compared(self, answer: str, truth: str) -> bool | None:
        if self._rule.is_named and _NUMBER.fullmatch(answer) and _NUMBER.fullmatch(truth):
            return answer == truth
        self._rule.check_truth(truth)
        return verdict(answer, truth, self._rule.for_pool(GRADING_BUDGET))

    def n_doubtful(self) -> int:
        """Return how many pairs were uncertain."""
        return sum(said is None for said in self._said.values())


def is_right(block: Questions, winners: npt.NDArray[np.int64], judge: Judge) -> npt.NDArray[np.int8]:
    """Return for each question 1 if its winner is right, 0 if wrong, -1 if unknown.

    No winner (-1) is wrong if the truth is known.
    """
    said = np.full(len(block), UNKNOWN, dtype=np.int8)
    if block.correct is not None:
        said = _by_rows(block, winners)
    if block.truths is None:
        return said
    return np.where(said == UNKNOWN, _by_label(block, winners, said == UNKNOWN, judge), said)


def _by_rows(block: Questions, winners: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    assert block.correct is not None
    known = block.correct != UNKNOWN
    pools = np.repeat(np.arange(len(block)), np.diff(block.offsets))
    told = known & (block.classes == winners[pools]) & (block.classes >= 0)
    n_told = np.bincount(pools[told], minlength=len(block))
    n_right = np.bincount(pools[told & (block.correct == 1)], minlength=len(block))
    unanswered = (winners < 0) & (np.bincount(pools[known], minlength=len(block)) > 0)
    said = np.where(n_told > 0, 2 * n_right > n_told, np.where(unanswered, 0, UNKNOWN))
    return said.astype(np.int8)


def _by_label(
    block: Questions, winners: npt.NDArray[np.int64], open_: npt.NDArray[np.bool_], judge: Judge
) -> npt.NDArray[np.int8]:
    truths = block.truths
    assert truths is not None
    answers = block.labels.take(pa.array(winners, mask=winners < 0))
    equal = pc.fill_null(pc.equal(answers, truths), False).to_numpy(zero_copy_only=False)
    known = truths.is_valid().to_numpy(zero_copy_only=False)
    right: npt.NDArray[np.int8] = equal.astype(np.int8)
    right[~known] = UNKNOWN
    # Only pairs that differ as text are compared one by one, each pair once.
    unequal = np.flatnonzero((right == 0) & (winners >= 0) & open_)
    if len(unequal):
        rows = pa.array(unequal)
        pairs = zip(answers.take(rows).to_pylist(), truths.take(rows).to_pylist(), strict=True)
        right[unequal] = [bool(judge.verdict(*pair)) for pair in pairs]
    return right
