"""The votes that fit nothing, in exact rational arithmetic: no rounding anywhere, so no number can lie.

A pool is answers and confidences (floats, which are fractions). `winner` also says how close it was: a margin
within the tie rule of 1e-12 is a tie, and the answer seen first wins it. Borda's square roots are the only
numbers that are no fractions; they are taken to 60 digits. Nothing here knows how the fast code works.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

TIE = Fraction(1, 10**12)
Scores = dict[str, Fraction]


class Won(NamedTuple):
    """Who won, and how close it was."""

    answer: str
    doubt: Fraction
    """How far the closest comparison was from being decided the other way, relative to the best score."""


def of_scores(scores: Scores) -> Won:
    """Return the first answer whose score is within the tie rule of the best one."""
    best = max(scores.values())
    gaps = {answer: (best - score) / abs(best) for answer, score in scores.items()}
    first = next(answer for answer, gap in gaps.items() if gap <= TIE)
    return Won(first, min((abs(gap - TIE) for gap in gaps.values() if gap), default=Fraction(1)))


def added(answers: Sequence[str], weights: Sequence[Fraction]) -> Scores:
    scores: Scores = {}
    for answer, weight in zip(answers, weights, strict=True):
        scores[answer] = scores.get(answer, Fraction(0)) + weight
    return scores


def sc(answers: Sequence[str], confidences: Sequence[Fraction]) -> Won:
    return of_scores(added(answers, [Fraction(1)] * len(confidences)))


def wsc(answers: Sequence[str], confidences: Sequence[Fraction]) -> Won:
    return of_scores(added(answers, confidences))


def bon(answers: Sequence[str], confidences: Sequence[Fraction]) -> Won:
    each = {str(index): confidence for index, confidence in enumerate(confidences)}
    surest, doubt = of_scores(each)
    return Won(answers[int(surest)], doubt)


def ranks(confidences: Sequence[Fraction]) -> list[int]:
    """Return the rank of each, from 1 for the least sure; of equal ones the earlier is surer."""
    order = sorted(range(len(confidences)), key=lambda i: (confidences[i], -i))
    found = [0] * len(order)
    for rank, index in enumerate(order, start=1):
        found[index] = rank
    return found


def borda(answers: Sequence[str], confidences: Sequence[Fraction]) -> Won:
    with localcontext(prec=60):
        return of_scores(added(answers, [Fraction(Decimal(rank).sqrt()) for rank in ranks(confidences)]))


def root(answers: Sequence[str], confidences: Sequence[Fraction]) -> Won:
    sums = added(answers, confidences)
    with localcontext(prec=60):
        return of_scores(
            {
                answer: total / Fraction(Decimal(answers.count(answer)).sqrt())
                for answer, total in sums.items()
            }
        )


def best_of(answers: Sequence[str], confidences: Sequence[Fraction], m: int) -> Scores:
    """Return how probably each answer is that of the surest of m drawn at random."""
    n = len(answers)
    return added(answers, [Fraction(i**m - (i - 1) ** m, n**m) for i in ranks(confidences)])


def mob_poly(answers: Sequence[str], confidences: Sequence[Fraction]) -> Won:
    return of_scores(best_of(answers, confidences, math.isqrt(len(answers))))


def mob(answers: Sequence[str], confidences: Sequence[Fraction]) -> Won:
    n = len(answers)
    sizes, j = [n], 1
    while sizes[-1] > 1:
        size = max(1, math.floor(Fraction(3, 4) ** j * n))
        if size < sizes[-1]:
            sizes.append(size)
        j += 1
    shares = [best_of(answers, confidences, m) for m in sizes]
    if n == 1:
        return of_scores(shares[0])
    changes = [sum(abs(one[a] - other[a]) for a in one) for one, other in pairwise(shares)]
    least = min(changes)
    chosen = max(i for i, change in enumerate(changes) if change - least <= TIE)
    answer, doubt = of_scores(shares[chosen])
    closest = min((abs(change - least - TIE) for change in changes if change != least), default=Fraction(1))
    return Won(answer, min(doubt, closest))


def hier(answers: Sequence[str], confidences: Sequence[Fraction], n_intervals: int = 10) -> Won:
    low, high = min(confidences), max(confidences)
    width = (high - low) / n_intervals
    doubt = Fraction(1)
    places = [0] * len(confidences)
    if width:
        for index, confidence in enumerate(confidences):
            place = (confidence - low) / width
            if place not in (0, n_intervals):
                doubt = min(doubt, abs(place - round(place)))
            places[index] = min(max(math.ceil(place) - 1, 0), n_intervals - 1)
    elected: list[str] = []
    weights: list[Fraction] = []
    for interval in range(n_intervals):
        members = [i for i, place in enumerate(places) if place == interval]
        if members:
            won = wsc([answers[i] for i in members], [confidences[i] for i in members])
            own = [confidences[i] for i in members if answers[i] == won.answer]
            elected.append(won.answer)
            weights.append(sum(own, Fraction(0)) / len(own))
            doubt = min(doubt, won.doubt)
    last = wsc(elected, weights)
    return Won(last.answer, min(doubt, last.doubt))


def top50(vote: Callable[[Sequence[str], Sequence[Fraction]], Won]) -> Callable[..., Won]:
    """Return a vote of those at or above the median."""

    def voted(answers: Sequence[str], confidences: Sequence[Fraction]) -> Won:
        ordered = sorted(confidences)
        middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        kept = [i for i, confidence in enumerate(confidences) if confidence >= middle]
        return vote([answers[i] for i in kept], [confidences[i] for i in kept])

    return voted


VOTES: dict[str, Callable[[Sequence[str], Sequence[Fraction]], Won]] = {
    "sc": sc,
    "wsc": wsc,
    "bon": bon,
    "borda": borda,
    "root": root,
    "mob": mob,
    "mob-poly": mob_poly,
    "hier": hier,
    "wsc-top50": top50(wsc),
    "hier-top50": top50(hier),
}


def winner(method: str, answers: Sequence[str], confidences: Sequence[float]) -> Won:
    """Return who wins a pool by a method."""
    return VOTES[method](answers, [Fraction(confidence) for confidence in confidences])
