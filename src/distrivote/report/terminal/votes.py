"""The vote over a file, for a terminal: a line per question, and a summary.

Takes values and gives Rich texts; reads no file and prints nothing. Everything that a model wrote goes
through `Text`, never through markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.text import Text

from distrivote.nouns import count
from distrivote.report.terminal.columns import INDENT, Column, indented, left_out, lines_of
from distrivote.report.terminal.palette import CHECK, CROSS, Palette, palette
from distrivote.report.text import shortened

NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one method says about one question."""

    answer: str | None
    right: bool | None = None
    """None: nobody knows."""

    share: float = 0.0
    n_kept: int = 0
    n_cast: int = 0
    rejected: str | None = None
    probability: float | None = None
    withheld: str | None = None
    """The answer that was not probable enough to be given."""


@dataclass(frozen=True, slots=True)
class VoteRow:
    """One question: a choice per method, and the majority's where it is shown beside."""

    question: str
    choices: tuple[Choice, ...]
    majority: Choice | None
    group: str | None = None
    """What the question belongs to, as a model; shown before it."""


@dataclass(frozen=True, slots=True)
class Score:
    """How often one method is right."""

    name: str
    n_right: int
    n_known: int
    interval: tuple[float, float]


def vote_table(
    rows: Sequence[VoteRow], methods: Sequence[str], width: int, n_questions: int | None = None
) -> Group:
    """Return a line per question.

    Args:
        rows: The questions to show.
        methods: Their names, in the order of each row's choices.
        width: Of the terminal.
        n_questions: How many there are in all, if more than are shown.
    """
    colours = palette()
    columns = [_questions(rows)]
    for index, name in enumerate(methods):
        header = "answer" if len(methods) == 1 else name
        answers = [_answer(row.choices[index], colours, bold=True) for row in rows]
        columns.append(Column(header, answers, least=11, must=index == 0))
    if rows and rows[0].majority is not None:
        beside = [_answer(row.majority, colours) for row in rows if row.majority is not None]
        columns.append(Column("majority", beside, least=11, must=True))
    if len(methods) == 1:
        columns += _details([row.choices[0] for row in rows], colours)
    lines = [*lines_of(columns, width), *left_out(columns, width)]
    if n_questions is not None and n_questions > len(rows):
        more = f"…{count(n_questions - len(rows), 'more question')}; -o FILE or --json gives all"
        lines.append(indented(more, width, "dim"))
    return Group(*lines)


def _questions(rows: Sequence[VoteRow]) -> Column:
    """Return the ids; where they don't fit, the name of a group is shortened and not the question."""
    if any(row.group is not None for row in rows):
        groups = [_text(row.group or "") for row in rows]
        ends = [_text(f"/{row.question}") for row in rows]
        return Column("question", groups, most=32, least=12, must=True, ends=ends)
    return Column("question", [_text(row.question) for row in rows], most=32, least=12, must=True)


def _details(choices: Sequence[Choice], colours: Palette) -> list[Column]:
    there = [c.answer is not None or c.withheld is not None for c in choices]
    shares = [Text(f"{c.share:.0%}" if shown else "") for c, shown in zip(choices, there, strict=True)]
    votes = [Text(f"{c.n_kept:,} / {c.n_cast:,}") for c in choices]
    details = [Column("share", shares, right=True)]
    if any(c.probability is not None for c in choices):
        likely = [
            Text(f"{c.probability:.0%}" if shown and c.probability is not None else "")
            for c, shown in zip(choices, there, strict=True)
        ]
        details.append(Column("probability", likely, right=True))
    details.append(Column("kept / cast", votes, right=True))
    if any(c.rejected is not None for c in choices):
        struck = [Text(shortened(c.rejected or ""), style=colours.rejected) for c in choices]
        details.append(Column("rejected", struck, most=24, least=10))
    return details


def summary(
    scores: Sequence[Score],
    n_questions: int,
    n_trajectories: int,
    n_unanswered: int,
    n_unmeasured: int,
    width: int,
) -> Group:
    """Return the accuracy of each method where the truth is known, and the counts."""
    names = max((len(score.name) for score in scores), default=0)
    lines = []
    for score in scores:
        low, high = (100 * end for end in score.interval)
        line = f"{score.name:{names}}  {100 * score.n_right / score.n_known:5.1f}%"
        line += f"  {score.n_right:,} of {score.n_known:,} right"
        interval = f" · 95% interval {low:.1f} to {high:.1f}"
        fits = INDENT + len(line) + len(interval) <= width
        lines.append(indented(line + interval if fits else line, width))
    counts = f"{count(n_questions, 'question')} · {count(n_trajectories, 'trajectory')}"
    counts += f" · {n_unanswered:,} without an answer" if n_unanswered else ""
    lines.append(indented(counts, width))
    if n_unmeasured:
        lines.append(indented(f"{count(n_unmeasured, 'answer')} without a confidence", width))
    return Group(*lines)


def _text(text: str) -> Text:
    return Text(shortened(text))


def _answer(choice: Choice, colours: Palette, bold: bool = False) -> Text:
    text = Text()
    if choice.right is not None:
        text.append(*((CHECK, colours.right) if choice.right else (CROSS, colours.wrong)))
        text.append(" ")
    if choice.withheld is not None:
        text.append(f"withheld ({shortened(choice.withheld)})", style=colours.quiet)
    elif choice.answer is None:
        text.append(NO_ANSWER, style=colours.quiet)
    else:
        text.append(shortened(choice.answer), style="bold" if bold else "")
    return text
