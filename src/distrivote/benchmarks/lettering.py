"""A question with four choices as text; the letter of the right one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from distrivote.benchmarks.draws import Draws

LETTERS = "ABCD"


class Lettered(NamedTuple):
    """A question with its choices below it, and the letter of the right one."""

    question: str
    letter: str


def lettered(question: str, right: str, wrong: Sequence[str], draws: Draws) -> Lettered:
    """Return the question with its choices in random order, a line each.

    >>> print(*lettered("What is 2 + 2?", "4", ["3", "5", "22"], Draws(0)), sep="\\n")
    What is 2 + 2?
    A) 3
    B) 4
    C) 5
    D) 22
    B
    """
    choices = [right, *wrong]
    if len(choices) != len(LETTERS):
        raise ValueError(f"{len(choices)} choices for {len(LETTERS)} letters")
    # Indices are shuffled rather than texts: a wrong choice may have the same text as the right one.
    order = draws.shuffled(range(len(LETTERS)))
    lines = [f"{letter}) {choices[place]}" for letter, place in zip(LETTERS, order, strict=True)]
    return Lettered("\n".join([question, *lines]), LETTERS[order.index(0)])
