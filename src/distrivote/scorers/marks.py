"""A judge's mark: a model marks each reply with a digit, and the mean over its first token is the score.

    score = sum of digit * mass of its tokens / mass of all digits

The mean tells replies with the same most probable mark apart. Without any digit there is no score. See Liu et
al. 2023 (G-Eval), section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from distrivote.scorers.ptrue import FirstTokenScorer, stripped

NAME, OF_ANSWER = "judge", "judge:answer"
_PROMPT = """Question: {question}

Proposed answer: {proposed}

How good is the proposed answer? Mark it from 0 (certainly wrong) to 9 (certainly right).
Reply with the digit only."""


class MarkScorer(FirstTokenScorer):
    """Lets a model mark the whole reply, or its final answer only."""

    column = "judge"
    prompt = _PROMPT

    def number(self, entries: Sequence[tuple[str, float]]) -> float | None:
        return mean_mark(entries)


def mean_mark(entries: Sequence[tuple[str, float]]) -> float | None:
    """Return the mean of the digits, weighted by their probabilities; None if none is listed.

    >>> mean_mark([("9", math.log(0.6)), (" 8", math.log(0.2)), ("The", math.log(0.2))])
    8.75
    """
    marks = [(stripped(token), math.exp(logprob)) for token, logprob in entries]
    digits = [(int(mark), mass) for mark, mass in marks if mark in set("0123456789")]
    total = math.fsum(mass for _, mass in digits)
    return math.fsum(mark * mass for mark, mass in digits) / total if total else None
