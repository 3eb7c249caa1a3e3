"""`arithmetic`: word problems made from a seed, easy enough for a model of 135 million parameters to get
a part of them right.

    level 1   one step, +            numbers to 5
    level 2   one step, + and *      numbers to 9, factors to 5
    level 3   one step, + - *        numbers to 20, factors to 6
    level 4   one step, + - * /      numbers to 60, factors to 12
    level 5   two steps              numbers to 20, factors to 6

The levels rise with the number of the problem. The first two have only operations that the worked examples
of the prompt show. Every answer is a positive integer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from distrivote.benchmarks.draws import Draws
from distrivote.benchmarks.levels import DEFAULT_SIZE, graded
from distrivote.benchmarks.question_table import numbered
from distrivote.problem import Problem

NAME = "arithmetic"

_PEOPLE = (
    *(
        (name, "She")
        for name in ("Aisha", "Clara", "Emma", "Ines", "Julia", "Lena", "Mei", "Nora", "Rosa", "Zoe")
    ),
    *(
        (name, "He")
        for name in ("Ali", "Ben", "David", "Felix", "Hugo", "Jonas", "Kofi", "Leo", "Omar", "Paul")
    ),
)
_THINGS = (
    "apples", "balls", "beads", "books", "buttons", "cards", "coins", "cookies", "eggs", "flowers",
    "marbles", "oranges", "pencils", "shells", "stamps", "stickers",
)  # fmt: skip
_PLACES = (
    ("bag", "bags"), ("basket", "baskets"), ("box", "boxes"), ("drawer", "drawers"), ("jar", "jars"),
    ("tray", "trays"),
)  # fmt: skip
_GAINS = ("buys {n} more", "finds {n} more", "gets {n} more", "is given {n} more", "wins {n} more")
_LOSSES = ("gives away {n}", "gives {n} to a friend", "loses {n}", "sells {n}")
_SHARERS = ("children", "friends", "neighbours")


class Story(NamedTuple):
    """A question in words and its answer."""

    question: str
    answer: int


@dataclass(frozen=True, slots=True)
class _Range:
    largest: int
    """The largest number that is added or subtracted."""

    factor: int
    """The largest factor."""


_TINY, _SMALL, _MIDDLE, _LARGE = _Range(5, 3), _Range(9, 5), _Range(20, 6), _Range(60, 12)


def problems(seed: int = 0, size: int = DEFAULT_SIZE) -> tuple[Problem, ...]:
    """Return word problems determined by (seed, size), all different, with two worked examples in the prompt.

    >>> problem = problems(seed=0, size=5)[0]
    >>> problem.id, problem.template
    ('arithmetic-0001', 'worked')
    """
    draws = Draws(seed)
    stories = graded(size, len(_LEVELS), lambda level: _story(draws, level))
    return tuple(
        Problem(story.question, numbered(NAME, number, 4), str(story.answer), template="worked")
        for number, story in enumerate(stories, 1)
    )


def _story(draws: Draws, level: int) -> Story:
    tellers, numbers = _LEVELS[level - 1]
    return draws.pick(tellers)(draws, numbers)


def _gain(draws: Draws, numbers: _Range) -> Story:
    who, they, things = _cast(draws)
    had, more = _number(draws, numbers), _number(draws, numbers)
    event = draws.pick(_GAINS).format(n=more)
    return Story(f"{who} has {had} {things}. {they} {event}. {_how_many(who, things)}", had + more)


def _loss(draws: Draws, numbers: _Range) -> Story:
    who, they, things = _cast(draws)
    had, less = _number_and_part(draws, numbers)
    event = draws.pick(_LOSSES).format(n=less)
    return Story(f"{who} has {had} {things}. {they} {event}. {_how_many(who, things)}", had - less)


def _product(draws: Draws, numbers: _Range) -> Story:
    _, _, things = _cast(draws)
    each, n_places = _factor(draws, numbers), _factor(draws, numbers)
    one, many = draws.pick(_PLACES)
    return Story(
        f"A {one} holds {each} {things}. How many {things} are in {n_places} {many}?", each * n_places
    )


def _share(draws: Draws, numbers: _Range) -> Story:
    who, _, things = _cast(draws)
    each, n_sharers = _factor(draws, numbers), _factor(draws, numbers)
    sharers = draws.pick(_SHARERS)
    return Story(
        f"{who} shares {each * n_sharers} {things} equally among {n_sharers} {sharers}."
        f" How many {things} does each of them get?",
        each,
    )


def _gain_then_loss(draws: Draws, numbers: _Range) -> Story:
    who, they, things = _cast(draws)
    had, more = _number(draws, numbers), _number(draws, numbers)
    less = draws.between(1, had + more - 1)
    gain, loss = draws.pick(_GAINS).format(n=more), draws.pick(_LOSSES).format(n=less)
    return Story(
        f"{who} has {had} {things}. {they} {gain}. Then {they.lower()} {loss}. {_how_many(who, things)}",
        had + more - less,
    )


def _loss_then_gain(draws: Draws, numbers: _Range) -> Story:
    who, they, things = _cast(draws)
    had, less = _number_and_part(draws, numbers)
    more = _number(draws, numbers)
    loss, gain = draws.pick(_LOSSES).format(n=less), draws.pick(_GAINS).format(n=more)
    return Story(
        f"{who} has {had} {things}. {they} {loss}. Then {they.lower()} {gain}. {_how_many(who, things)}",
        had - less + more,
    )


def _product_then_gain(draws: Draws, numbers: _Range) -> Story:
    story, who, they, things, total = _filled(draws, numbers)
    more = _number(draws, numbers)
    gain = draws.pick(_GAINS).format(n=more)
    return Story(f"{story} {they} {gain}. {_how_many(who, things)}", total + more)


def _product_then_loss(draws: Draws, numbers: _Range) -> Story:
    story, who, they, things, total = _filled(draws, numbers)
    less = draws.between(1, total - 1)
    loss = draws.pick(_LOSSES).format(n=less)
    return Story(f"{story} {they} {loss}. {_how_many(who, things)}", total - less)


def _gain_then_share(draws: Draws, numbers: _Range) -> Story:
    who, they, things = _cast(draws)
    each, n_sharers = _factor(draws, numbers), _factor(draws, numbers)
    had = draws.between(1, each * n_sharers - 1)
    gain = draws.pick(_GAINS).format(n=each * n_sharers - had)
    sharers = draws.pick(_SHARERS)
    return Story(
        f"{who} has {had} {things}. {they} {gain}. Then {they.lower()} shares all of them equally among"
        f" {n_sharers} {sharers}. How many {things} does each of them get?",
        each,
    )


_Teller = Callable[[Draws, _Range], Story]
_ONE_STEP: tuple[_Teller, ...] = (_gain, _loss, _product)
_TWO_STEPS: tuple[_Teller, ...] = (
    _gain_then_loss,
    _loss_then_gain,
    _product_then_gain,
    _product_then_loss,
    _gain_then_share,
)
_LEVELS: tuple[tuple[tuple[_Teller, ...], _Range], ...] = (
    ((_gain,), _TINY),
    ((_gain, _product), _SMALL),
    (_ONE_STEP, _MIDDLE),
    ((*_ONE_STEP, _share), _LARGE),
    (_TWO_STEPS, _MIDDLE),
)


class _Cast(NamedTuple):
    who: str
    they: str
    things: str


class _Filled(NamedTuple):
    story: str
    who: str
    they: str
    things: str
    total: int


def _cast(draws: Draws) -> _Cast:
    return _Cast(*draws.pick(_PEOPLE), draws.pick(_THINGS))


def _filled(draws: Draws, numbers: _Range) -> _Filled:
    """Begin a story with a number of places that hold the same number of things."""
    who, they, things = _cast(draws)
    each, n_places = _factor(draws, numbers), _factor(draws, numbers)
    _, many = draws.pick(_PLACES)
    story = f"{who} has {n_places} {many} with {each} {things} in each."
    return _Filled(story, who, they, things, each * n_places)


def _number(draws: Draws, numbers: _Range) -> int:
    return draws.between(2, numbers.largest)


def _number_and_part(draws: Draws, numbers: _Range) -> tuple[int, int]:
    """Return a number and a smaller one to subtract from it."""
    whole = draws.between(3, numbers.largest)
    return whole, draws.between(1, whole - 1)


def _factor(draws: Draws, numbers: _Range) -> int:
    return draws.between(2, numbers.factor)


def _how_many(who: str, things: str) -> str:
    return f"How many {things} does {who} have now?"
