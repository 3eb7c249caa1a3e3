"""A histogram of confidences in a terminal, with the cut and the two Gaussians.

Bars are drawn in eighths of a character. A bin never contains the cut, so that its colour is right.
The Gaussians are the dots above the bars, and below them their means and spreads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rich.text import Text

from distrivote.report.terminal.palette import CUT, Palette
from distrivote.voting.tally import Split

ROWS = 6
_BARS = " ▁▂▃▄▅▆▇█"
_WIDEST = 72
_LEAST_DOT = 3
"""Eighths: a curve that is lower than this is not drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Equal bins, some below the cut and some above; all of them above if there is no cut."""

    edges: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    n_below: int

    @property
    def width(self) -> float:
        return float(self.edges[1] - self.edges[0])


def bins_of(
    values: npt.NDArray[np.float64], below: npt.NDArray[np.bool_], cut: float | None, most: int
) -> Bins:
    """Count the values in at most `most` bins, a number that suits the number of values.

    `below` says which of them are below the cut.
    """
    low, high = float(values.min()), float(values.max())
    n_below = int(below.any() and cut is not None)
    if cut is None or not n_below:
        cut = low
    n_bins = max(2, min(most - 1, round(2.5 * math.sqrt(len(values)))))
    step = (high - low) / n_bins
    if not step or not math.isfinite(step) or low + step == low:
        edges = np.array([low - 0.5, low + 0.5], dtype=np.float64)
        return Bins(edges, np.array([len(values)]), 0)
    if n_below:
        n_below = min(n_bins, max(1, math.ceil((cut - low) / step)))
    n_above = max(1, math.ceil((high - cut) / step - 1e-9))
    edges = np.asarray(cut + step * np.arange(-n_below, n_above + 1), dtype=np.float64)
    places = np.floor((values - cut) / step).astype(np.int64)
    # Rounding must not move a value across the cut.
    places = np.where(below, np.clip(places, -n_below, -1), np.clip(places, 0, n_above - 1))
    counts = np.bincount(places + n_below, minlength=n_below + n_above)
    return Bins(edges, counts, n_below)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The format of confidences: one decimal, or more if their range is small."""

    decimals: int | None
    """None: very large or close together, so that significant digits are used instead."""

    @classmethod
    def over(cls, low: float, high: float) -> Numbers:
        """Choose the decimals for a range.

        >>> Numbers.over(7.0, 11.4)(9.37), Numbers.over(0.02, 0.05)(0.0316), Numbers.over(1, 3e9)(2e9)
        ('9.4', '0.032', '2e+09')
        """
        spread = (high - low) or abs(high) or 1.0
        decimals = max(1, 1 - math.floor(math.log10(spread)))
        return cls(decimals if decimals <= 6 and high < 1e6 else None)

    def __call__(self, value: float) -> str:
        return f"{value:.4g}" if self.decimals is None else f"{value:.{self.decimals}f}"


def histogram(
    values: npt.NDArray[np.float64],
    below: npt.NDArray[np.bool_],
    split: Split | None,
    n_unanswered: int,
    width: int,
    colours: Palette,
) -> list[Text]:
    """Return the lines of the histogram: title, bars, the Gaussians if there are any, the counts.

    `below` says which of the values are below the cut.
    """
    cut = split.cut if split is not None and split.n_negative else None
    number = Numbers.over(float(values.min()), float(values.max()))
    low, high = number(values.min()), number(values.max())
    room = min(_WIDEST, width - len(low) - len(high) - 7)
    bins = bins_of(values, below, cut, most=max(4, room))
    picture = _Picture(bins, max(1, min(4, (room - 1) // len(bins.counts))), colours, number)
    if split is not None and cut is not None and split.means is not None:
        picture.add_gaussians(split, len(values))
    left = f"   {low} "
    lines = [_title(picture, len(left), None if cut is None else f"cut {number(cut)}")]
    for row in range(ROWS - 1, -1, -1):
        edge = left if row == 0 else " " * len(left)
        lines.append(Text(edge, no_wrap=True) + picture.line(row) + (f" {high}" if row == 0 else ""))
    for line in picture.ruler():
        lines.append(Text(" " * len(left), no_wrap=True) + line)
    missing = f"no answer {n_unanswered}" if n_unanswered else ""
    if cut is not None and split is not None:
        lines += _counts(split, missing, len(left) + picture.cut_at, width, colours)
    else:
        parts = [f"answers {len(values)}", missing]
        lines.append(Text(" " * len(left) + " · ".join(filter(None, parts)), no_wrap=True))
    return lines


def _title(picture: _Picture, indent: int, name: str | None) -> Text:
    title = Text("  confidence", no_wrap=True)
    if name is not None:
        at = max(len(title) + 2, indent + picture.cut_at - len(name) // 2)
        title.append(" " * (at - len(title)) + name)
    return title


def _counts(split: Split, missing: str, cut_at: int, width: int, colours: Palette) -> list[Text]:
    """Return the counts left and right of the cut, placed around it if there is room."""
    wrong, right = f"likely wrong {split.n_negative}", f"likely right {split.n_positive}"
    fits = cut_at - 3 - len(wrong) >= 2 and cut_at + 4 + len(right) <= width
    line = Text(" " * (cut_at - 3 - len(wrong)) if fits else "  ", no_wrap=True)
    line.append(wrong, style=colours.aside)
    line.append(f"   {CUT}   " if fits else " · ")
    line.append(right, style=colours.kept)
    if missing and len(line) + 3 + len(missing) <= width:
        return [line.append(f" · {missing}")]
    return [line, Text("  " + missing, no_wrap=True)] if missing else [line]


class _Picture:
    """A grid of characters with bars, curves and the cut."""

    def __init__(self, bins: Bins, bar_width: int, colours: Palette, number: Numbers) -> None:
        self.bins, self.bar_width, self.colours, self.number = bins, bar_width, colours, number
        self.cut_at = bins.n_below * bar_width
        self.curves: list[npt.NDArray[np.float64]] = []
        self.means: list[tuple[float, float]] = []
        self.top = float(bins.counts.max())

    @property
    def n_columns(self) -> int:
        return len(self.bins.counts) * self.bar_width + (1 if self.bins.n_below else 0)

    def add_gaussians(self, split: Split, n: int) -> None:
        """Add both curves, each at the height of the counts that it expects."""
        assert split.weights is not None
        assert split.means is not None
        assert split.sds is not None
        at = np.array([self._value(column) for column in range(self.n_columns)])
        for weight, mean, sd in zip(split.weights, split.means, split.sds, strict=True):
            drawn = max(sd, self.bins.width / 4)  # narrower than a bar: a visible spike
            density = np.exp(-0.5 * ((at - mean) / drawn) ** 2) / (drawn * math.sqrt(2 * math.pi))
            self.curves.append(n * weight * self.bins.width * density)
            self.means.append((mean, sd))
        self.top = max(self.top, min(1.5 * self.top, max(float(c.max()) for c in self.curves)))

    def line(self, row: int) -> Text:
        """Return one row of the histogram, the lowest being 0."""
        line = Text()
        for column in range(self.n_columns):
            place = self._bin(column)
            if place is None:
                line.append(CUT)
                continue
            below = place < self.bins.n_below
            count = int(self.bins.counts[place])
            eighths = max(1, round(8 * ROWS * count / self.top)) if count else 0
            level = min(8, max(0, eighths - 8 * row))
            if level:
                line.append(_BARS[level], style=self.colours.aside if below else self.colours.kept)
            else:
                self._dot(line, column, row)
        return line

    def _dot(self, line: Text, column: int, row: int) -> None:
        styles = (self.colours.aside, self.colours.kept)
        for curve, style in zip(self.curves, styles, strict=False):
            eighths = 8 * ROWS * curve[column] / self.top
            if eighths >= _LEAST_DOT and min(ROWS - 1, int(eighths // 8)) == row:
                line.append("·", style=style)
                return
        line.append(" ")

    def ruler(self) -> list[Text]:
        """Return the lines under the bars: each Gaussian's spread with its mean, then the numbers."""
        if not self.means:
            return []
        marks = [" "] * self.n_columns
        styles = [""] * self.n_columns
        if self.bins.n_below:
            marks[self.cut_at] = CUT
        names: list[tuple[int, str, str]] = []
        colours = (self.colours.aside, self.colours.kept)
        for (mean, sd), style in zip(self.means, colours, strict=True):
            start, middle, end = (self._column(mean + k * sd) for k in (-1, 0, 1))
            for column in range(start, end + 1):
                marks[column] = "╶" if column == start else "╴" if column == end else "─"
                styles[column] = style
            marks[middle], styles[middle] = "┼", style
            names.append((middle, f"{self.number(mean)} ± {self.number(sd)}", style))
        spreads = Text()
        for mark, style in zip(marks, styles, strict=True):
            spreads.append(mark, style=style)
        numbers = Text()
        for middle, name, style in names:
            gap = max(2 if numbers else 0, middle - len(name) // 2 - len(numbers))
            between = list(" " * gap)
            if 0 <= self.cut_at - len(numbers) < gap - 1:
                between[self.cut_at - len(numbers)] = CUT
            numbers.append("".join(between))
            numbers.append(name, style=style)
        return [spreads, numbers]

    def _bin(self, column: int) -> int | None:
        """Return the bin that a column of characters belongs to, None for the cut."""
        if self.bins.n_below:
            if column == self.cut_at:
                return None
            column -= column > self.cut_at
        return column // self.bar_width

    def _value(self, column: int) -> float:
        if self.bins.n_below and column > self.cut_at:
            column -= 1
        return float(self.bins.edges[0]) + (column + 0.5) * self.bins.width / self.bar_width

    def _column(self, value: float) -> int:
        column = int((value - float(self.bins.edges[0])) / self.bins.width * self.bar_width)
        if self.bins.n_below and column >= self.cut_at:
            column += 1
        return min(self.n_columns - 1, max(0, column))
