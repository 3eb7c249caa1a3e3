"""The order, colour, dash and shape of the series of a chart: the same method looks the same everywhere.

Colours are Okabe and Ito's, which are safe for the colour-blind, with a variant for dark backgrounds; each
has a dash or a shape as well, so that colour is never the only difference. Names with a meaning (right,
wrong, kept, reflection, threshold) have the colour of that meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from distrivote.evaluation.results import Cell

SOLID, DASHED, DOTTED = (1, 0), (6, 4), (2, 3)


@dataclass(frozen=True, slots=True)
class Style:
    """How one series is drawn."""

    light: str
    dark: str
    dash: tuple[int, int] = SOLID
    shape: str = "circle"
    line: bool = True
    """False: marks only."""


BLUE = Style("#0072B2", "#56B4E9")
ORANGE = Style("#E69F00", "#F0B54A", shape="square")
GREEN = Style("#009E73", "#2BC49A", shape="triangle-up")
VERMILLION = Style("#D55E00", "#F0884A", shape="triangle-down")
PURPLE = Style("#CC79A7", "#DE9BC2", shape="diamond")
SKY = Style("#56B4E9", "#C4E3F7", shape="triangle-right")
GREY = Style("#767676", "#A8A8A8", shape="cross")
INK = Style("#222222", "#E6E6E6", dash=DASHED)

_MEANINGS = {
    r"(.+, )?(right|correct|likely right)": GREEN,
    r"(.+, )?(wrong|incorrect|likely wrong)": VERMILLION,
    r"all": GREY,
    r"one sample": replace(GREY, shape="circle"),
    r"kept|positives?": BLUE,
    r"after rejection": SKY,
    r"set aside|negatives?": ORANGE,
    r"basic|without selfstepconf|plain": replace(GREY, dash=SOLID, shape="circle"),
    r"selfstepconf|with selfstepconf|step confidence|confidence": BLUE,
    r".*\b(threshold|tau|bound)\b.*|τ": INK,
    r".*\breflections?\b.*": replace(PURPLE, line=False),
}

# In the order of every table and chart. A name belongs to the first family that matches it.
_FAMILIES = [
    (r"sc|majority", GREY),
    (r"wsc", PURPLE),
    (r"bon", ORANGE),
    (r"mob.*", VERMILLION),
    (r"borda.*", INK),
    (r"root.*", replace(ORANGE, dash=DOTTED, shape="square")),
    (r"hier\w*", replace(SKY, dash=DOTTED)),
    (r"(wsc|hier)[- ]top.*", GREEN),
    (r"(wsc|hier)[- ]k-?means.*", replace(ORANGE, dash=DOTTED)),
    (r"(wsc|hier)[- ]mean-?shift.*", replace(VERMILLION, dash=DOTTED)),
    (r"(wsc|hier)[- ]gmm.*", SKY),
    (r"dis[- ]top.*", replace(GREEN, dash=DOTTED, shape="square")),
    (r"dis[- ]k-?means.*", replace(ORANGE, dash=DASHED)),
    (r"dis[- ]mean-?shift.*", replace(VERMILLION, dash=DASHED)),
    (r"dis.*", BLUE),
    (r"auto.*", replace(INK, dash=SOLID, shape="diamond")),
]
_PLAIN = [BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY, GREY, INK]
# Viridis, from dark to bright, without the ends, which are invisible on a background.
_RAMP = ["#482878", "#3E4989", "#31688E", "#26828E", "#1F9E89", "#35B779", "#6DCD59", "#B4DE2C"]


def in_order(values: Sequence[Cell]) -> list[Cell]:
    """Return the different values: methods in the order of every table, numbers by size, others unsorted.

    >>> in_order(["DIS-GMM", "SC", "WSC", "SC"]), in_order([0.8, 0.2]), in_order(["b", "a"])
    (['SC', 'WSC', 'DIS-GMM'], [0.2, 0.8], ['b', 'a'])
    """
    different = list(dict.fromkeys(values))
    numbers = [value for value in different if isinstance(value, int | float)]
    if len(numbers) == len(different):
        return [*sorted(numbers)]
    ranks = [_family(str(value)) for value in different]
    if None in ranks:
        return different
    starred = ["*" in str(value) for value in different]
    order = sorted(range(len(different)), key=lambda i: (starred[i], ranks[i], i))
    return [different[i] for i in order]


def styles_of(values: Sequence[Cell]) -> list[Style]:
    """Return a style for each of the different values, all different if possible."""
    if len(values) > 2 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return [_step(i, len(values)) for i in range(len(values))]
    found = [_known(str(value)) for value in values]
    taken = [style for style in found if style is not None]
    free = iter([style for style in _PLAIN if style not in taken] + _PLAIN)
    styles: list[Style] = []
    for style in found:
        chosen = next(free, GREY) if style is None or style in styles else style
        styles.append(chosen)
    return styles


def _known(name: str) -> Style | None:
    lowered = name.strip().lower()
    for pattern, style in _MEANINGS.items():
        if re.fullmatch(pattern, lowered):
            return style
    family = _family(name)
    if family is None:
        return None
    style = _FAMILIES[family][1]
    return replace(style, dash=DASHED, shape="triangle-up") if "*" in name else style


def _family(name: str) -> int | None:
    """Return the place of a method's family in the common order; None if it is not a method."""
    bare = name.lower().replace("*", "").strip()
    return next((i for i, (pattern, _) in enumerate(_FAMILIES) if re.fullmatch(pattern, bare)), None)


def _step(index: int, n: int) -> Style:
    """Return the colour of a number among n, from dark to bright."""
    place = round(index * (len(_RAMP) - 1) / max(1, n - 1))
    shapes = ["circle", "square", "triangle-up", "diamond"]
    return Style(_RAMP[place], _RAMP[place], shape=shapes[index % len(shapes)])
