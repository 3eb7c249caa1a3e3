"""`easy-choice`: multiple choice questions made from a seed, with four choices of which one is right.

Largest and smallest of four numbers, the next number of a sequence, a sum, a difference, a product, and
which of four sums is the largest; the numbers grow with the number of the question. A model that only guesses
gets a quarter of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from distrivote.benchmarks.draws import Draws
from distrivote.benchmarks.lettering import Lettered, lettered
from distrivote.benchmarks.levels import DEFAULT_SIZE, graded
from distrivote.benchmarks.question_table import numbered
from distrivote.problem import Problem

NAME = "easy-choice"

_LARGEST = (10, 20, 50, 100, 1000)
"""The largest number in a question, for each level."""


class _Quiz(NamedTuple):
    question: str
    right: str
    wrong: Sequence[str]


def problems(seed: int = 0, size: int = DEFAULT_SIZE) -> tuple[Problem, ...]:
    """Return questions determined by (seed, size), all different; the answer is a letter.

    >>> problem = problems(seed=0, size=5)[0]
    >>> problem.id, problem.template, problem.answer in "ABCD"
    ('easy-choice-0001', 'choice', True)
    """
    draws = Draws(seed)
    quizzes = graded(size, len(_LARGEST), lambda level: _put(draws, _LARGEST[level - 1]))
    return tuple(
        Problem(put.question, numbered(NAME, number, 4), put.letter, template="choice")
        for number, put in enumerate(quizzes, 1)
    )


def _put(draws: Draws, largest: int) -> Lettered:
    return lettered(*draws.pick(_QUIZZES)(draws, largest), draws)


def _largest(draws: Draws, largest: int) -> _Quiz:
    smallest, *others, right = sorted(_distinct(draws, largest))
    return _quiz("Which of these numbers is the largest?", right, [smallest, *others])


def _smallest(draws: Draws, largest: int) -> _Quiz:
    right, *others = sorted(_distinct(draws, largest))
    return _quiz("Which of these numbers is the smallest?", right, others)


def _next(draws: Draws, largest: int) -> _Quiz:
    step = draws.between(1, max(2, largest // 10))
    start = draws.between(1, largest)
    shown = ", ".join(str(start + step * place) for place in range(4))
    right = start + step * 4
    return _quiz(f"Which number comes next: {shown}, ...?", right, _near(draws, right))


def _sum(draws: Draws, largest: int) -> _Quiz:
    a, b = draws.between(1, largest), draws.between(1, largest)
    return _quiz(f"What is {a} + {b}?", a + b, _near(draws, a + b))


def _difference(draws: Draws, largest: int) -> _Quiz:
    b, right = draws.between(1, largest), draws.between(1, largest)
    return _quiz(f"What is {b + right} - {b}?", right, _near(draws, right))


def _product(draws: Draws, largest: int) -> _Quiz:
    most = max(5, min(12, largest // 5))
    a, b = draws.between(2, most), draws.between(2, most)
    return _quiz(f"What is {a} * {b}?", a * b, _near(draws, a * b))


def _largest_sum(draws: Draws, largest: int) -> _Quiz:
    sums: dict[int, str] = {}
    while len(sums) < 4:
        a, b = draws.between(1, largest), draws.between(1, largest)
        sums[a + b] = f"{a} + {b}"
    *others, right = (sums[total] for total in sorted(sums))
    return _Quiz("Which of these sums is the largest?", right, others)


_QUIZZES: tuple[Callable[[Draws, int], _Quiz], ...] = (
    _largest,
    _smallest,
    _next,
    _sum,
    _difference,
    _product,
    _largest_sum,
)


def _quiz(question: str, right: int, wrong: Sequence[int]) -> _Quiz:
    return _Quiz(question, str(right), [str(number) for number in wrong])


def _distinct(draws: Draws, largest: int) -> list[int]:
    found: dict[int, None] = {}
    while len(found) < 4:
        found[draws.between(1, largest)] = None
    return list(found)


def _near(draws: Draws, right: int) -> list[int]:
    """Return three wrong numbers close to the right one, none below zero."""
    reach = max(3, right // 10)
    near: dict[int, None] = {}
    while len(near) < 3:
        number = right + draws.between(-reach, reach)
        if number != right and number >= 0:
            near[number] = None
    return list(near)
