"""The vote over a file, for a terminal: a line per question, and a summary.

It turns values into Rich texts; it reads no file and prints nothing. Everything that a model wrote is a
`Text`, never markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.text import Text

from distrivote.nouns import count
from distrivote.report.documents.fields import VoteRow
from distrivote.report.terminal.columns import INDENT, Column, indented, left_out, lines_of
from distrivote.report.terminal.palette import CHECK, CROSS, Palette, palette
from distrivote.report.text import shortened
from distrivote.store.results.votes import MAJORITY

NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Score:
    """How often one method is right."""

    name: str
    n_right: int
    n_known: int
    interval: tuple[float, float]


def vote_table(
    rows: Sequence[VoteRow],
    methods: Sequence[str],
    width: int,
    n_questions: int | None = None,
    by: str | None = None,
) -> Group:
    """Return a line per question.

    Args:
        rows: The questions to show, in order, with a row for each method.
        methods: Their names, in the order of each question's rows.
        width: Of the terminal.
        n_questions: The number of all questions, if more than are shown.
        by: The field of the group of a question, such as a model; shown before it.
    """
    colours = palette()
    first = rows[:: len(methods)]
    columns = [_questions(first, by)]
    for index, name in enumerate(methods):
        header = "answer" if len(methods) == 1 else name
        given = [
            _answer(row["answer"], row["correct"], colours, row["withheld"], bold=True)
            for row in rows[index :: len(methods)]
        ]
        columns.append(Column(header, given, least=11, must=index == 0))
    if MAJORITY not in methods:
        beside = [_answer(row["majority"], row["majority_correct"], colours) for row in first]
        columns.append(Column("majority", beside, least=11, must=True))
    if len(methods) == 1:
        columns += _details(rows, colours)
    lines = [*lines_of(columns, width), *left_out(columns, width)]
    if n_questions is not None and n_questions > len(first):
        more = f"…{count(n_questions - len(first), 'more question')}; -o FILE or --json gives all"
        lines.append(indented(more, width, "dim"))
    return Group(*lines)


def _questions(rows: Sequence[VoteRow], by: str | None) -> Column:
    """Return the ids; if they don't fit, the name of the group is shortened and not the question."""
    ids = [str(row["question_id"]) for row in rows]
    if by is None:
        return Column("question", [_text(each) for each in ids], most=32, least=12, must=True)
    groups = [_text(str(row[by])) for row in rows]  # type: ignore[literal-required]
    ends = [_text(f"/{each}") for each in ids]
    return Column("question", groups, most=32, least=12, must=True, ends=ends)


def _details(rows: Sequence[VoteRow], colours: Palette) -> list[Column]:
    def percent(value: float | None, row: VoteRow) -> Text:
        there = value is not None and (row["answer"] is not None or row["withheld"] is not None)
        return Text(f"{value:.0%}" if there else "")

    details = [
        Column("share", [percent(row["share"], row) for row in rows], right=True),
        Column("probability", [percent(row["probability"], row) for row in rows], right=True),
        Column("kept / cast", [Text(f"{row['n_kept']:,} / {row['n_cast']:,}") for row in rows], right=True),
    ]
    if any(row["rejected"] is not None for row in rows):
        struck = [Text(shortened(row["rejected"] or ""), style=colours.rejected) for row in rows]
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
    """Return the accuracy of each method if the truth is known, and the counts."""
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


def _answer(
    answer: str | None,
    correct: bool | None,
    colours: Palette,
    withheld: str | None = None,
    bold: bool = False,
) -> Text:
    text = Text()
    if correct is not None:
        text.append(*((CHECK, colours.right) if correct else (CROSS, colours.wrong)))
        text.append(" ")
    if withheld is not None:
        text.append(f"withheld ({shortened(withheld)})", style=colours.quiet)
    elif answer is None:
        text.append(NO_ANSWER, style=colours.quiet)
    else:
        text.append(shortened(answer), style="bold" if bold else "")
    return text
