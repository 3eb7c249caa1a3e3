"""One vote explained in a terminal: the answer, the confidences, the votes, and an explanation in words.

It formats a tally; it reads no file and prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.naming import names_of
from distrivote.nouns import count, verb
from distrivote.report.terminal.columns import INDENT, Column, indented, lines_of
from distrivote.report.terminal.histogram import histogram
from distrivote.report.terminal.palette import CHECK, CROSS, ELLIPSIS, Palette, palette
from distrivote.report.text import shortened, told
from distrivote.voting.ballot import Answer
from distrivote.voting.explain import likely
from distrivote.voting.tally import Tally

_MOST_ANSWERS = 8
_BAR = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def explanation(
    title: str,
    tally: Tally,
    width: int,
    right: bool | None = None,
    truth: str | None = None,
    kind: Kind | None = None,
) -> Group:
    """Return the explanation of one vote.

    Args:
        title: What was voted on and how, in a line; may be empty.
        tally: The result of the vote.
        width: Of the terminal.
        right: Whether the answer is right; None: unknown.
        truth: The right answer, if known.
        kind: What counted as an answer; it says how one is shown in a line.
    """
    in_line = str if kind is None else _names(tally, kind)
    is_shown = kind is not None and kind.is_long  # in full, above
    colours = palette()
    parts: list[RenderableType] = [indented(title, width, "dim")] if title else []
    parts.append(Text())
    parts += _answer(tally, width, right, truth, colours, in_line, is_shown)
    measured = ~np.isnan(tally.confidences)
    if np.count_nonzero(measured) > 1:  # a single bar says nothing
        values, below = tally.confidences[measured], tally.likely_wrong[measured]
        lines = histogram(values, below, tally.first_split, tally.n_unanswered, width, colours)
        for line in lines:
            line.truncate(width)
        parts += [Text(), *lines]
    if tally.votes:
        parts += [Text(), *_votes(tally, width, colours, in_line)]
    said = told(tally, None if kind is None else in_line).splitlines()
    words = [Padding(Text(sentence), (0, 0, 0, INDENT)) for sentence in said]
    return Group(*parts, Text(), *words)


def _names(tally: Tally, kind: Kind) -> Callable[[str], str]:
    """Return how an answer is named beside the others."""
    names = names_of(kind, [str(answer) for answer in tally.votes], str(tally.answer))
    return lambda answer: names.get(answer) or kind.line(answer)


def _answer(
    tally: Tally,
    width: int,
    right: bool | None,
    truth: str | None,
    colours: Palette,
    in_line: Callable[[str], str],
    is_long: bool,
) -> list[RenderableType]:
    if tally.answer is None:
        return [indented("no answer", width, "bold")]
    line = Text(" " * INDENT, no_wrap=True)
    line.append(shortened(in_line(str(tally.answer)), max(20, width - 30)), style="bold")
    if right is not None:
        mark, style, word = (CHECK, colours.right, "right") if right else (CROSS, colours.wrong, "wrong")
        line.append(f"   {mark} {word}", style=style)
        if not right and truth is not None:
            line.append(f", it is {shortened(truth, 40)}")
    line.truncate(width, overflow="ellipsis")
    beside = ""
    if tally.fallback:
        beside = " · majority voting, because there are no confidences"
    elif tally.method != "sc":
        if tally.majority == tally.answer and is_long:
            beside = " · majority voting says the same"
        else:
            too = "too" if tally.majority == tally.answer else "instead"
            beside = f" · majority voting says {shortened(in_line(str(tally.majority)), 40)} {too}"
    if tally.calibrated and tally.probability is not None:
        sure = f"{likely(tally.probability)} likely right"
    else:
        n = tally.votes[tally.answer]
        sure = f"{n:,} of {count(tally.n_cast, 'answer')} {verb(n, 'say')} so"
    facts = indented(f"{sure}{beside}", width)
    return [facts] if is_long else [line, facts]


def _votes(tally: Tally, width: int, colours: Palette, in_line: Callable[[str], str]) -> list[Text]:
    """Return the answers: all, kept by the split, after the rejection, and their share of the score."""
    ranked = sorted(tally.votes, key=lambda a: (a != tally.answer, -tally.share_of(a), -tally.votes[a]))
    shown = ranked[:_MOST_ANSWERS]
    if tally.rejected is not None and tally.rejected not in shown:
        shown[-1] = tally.rejected

    def name(answer: Answer) -> Text:
        style = colours.rejected if answer == tally.rejected else ""
        return Text(shortened(in_line(str(answer))), style="bold" if answer == tally.answer else style)

    shares = {a: tally.share_of(a) for a in shown}
    columns = [
        Column("answer", [name(a) for a in shown], most=32, least=6),
        Column("all", [Text(f"{tally.votes[a]:,}") for a in shown], right=True),
    ]
    if tally.split is not None:
        columns.append(Column("kept", [Text(f"{tally.likely_right_votes[a]:,}") for a in shown], right=True))
    if tally.rejected is not None:
        after = [
            Text("rejected", style=colours.quiet) if a == tally.rejected else Text(f"{tally.kept_votes[a]:,}")
            for a in shown
        ]
        columns.append(Column("after reject", after, right=True))
    columns += [
        Column(
            "score",
            [Text(f"{s:.0%}" if tally.kept_votes[a] else "") for a, s in shares.items()],
            right=True,
        ),
        Column("", [Text(_bar(s) if s else "", style=colours.kept) for s in shares.values()]),
    ]
    lines = lines_of(columns, width)
    if len(ranked) > len(shown):
        lines.append(indented(f"{ELLIPSIS}{len(ranked) - len(shown)} more", width, "dim"))
    return lines


def _bar(share: float) -> str:
    eighths = max(1, round(8 * _BAR * share))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
