"""Truth: was the winning answer right?

`correct` counts first where rows say it: the majority of the rows that gave the winning answer. Else
the winner is compared with the right answer as text, and as numbers where both are numbers. Whether
two formulas mean the same is not known here.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from distrivote.store.questions import Questions

UNKNOWN = -1
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


def same_text_or_number(one: str, other: str) -> bool:
    """Whether two answers are the same text, white space around aside, or the same number.

    >>> same_text_or_number("042", "42.0 "), same_text_or_number("1/2", "0.5")
    (True, False)
    """
    one, other = one.strip(), other.strip()
    if one == other:
        return True
    if not (_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)):
        return False
    return Decimal(one) == Decimal(other)


def is_right(block: Questions, winners: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Return for each question 1 if its winner is right, 0 if wrong, -1 if nobody knows.

    No winner (-1) is wrong wherever the truth is known.
    """
    right = np.full(len(block), UNKNOWN, dtype=np.int8)
    if block.truths is not None:
        right = _by_label(block.truths, block.labels, winners)
    if block.correct is not None:
        said = _by_rows(block, winners)
        right = np.where(said == UNKNOWN, right, said)
    return right


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


def _by_label(truths: pa.Array, labels: pa.Array, winners: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    answers = labels.take(pa.array(winners, mask=winners < 0))
    equal = pc.fill_null(pc.equal(answers, truths), False).to_numpy(zero_copy_only=False)
    known = truths.is_valid().to_numpy(zero_copy_only=False)
    right: npt.NDArray[np.int8] = equal.astype(np.int8)
    right[~known] = UNKNOWN
    # Only pairs that differ as text are looked at one by one, each pair once.
    unequal = np.flatnonzero((right == 0) & (winners >= 0))
    if len(unequal):
        pairs = list(
            zip(
                answers.take(pa.array(unequal)).to_pylist(),
                truths.take(pa.array(unequal)).to_pylist(),
                strict=True,
            )
        )
        verdicts = {pair: same_text_or_number(*pair) for pair in set(pairs)}
        right[unequal] = [verdicts[pair] for pair in pairs]
    return right
