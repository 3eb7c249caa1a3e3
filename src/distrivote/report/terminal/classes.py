"""Which strings of a question count as one answer, and which are right, as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.text import Text

from distrivote.report.text import shortened, visible

_MOST_STRINGS = 12
_MOST_CLASSES = 20


class AnswerClass(NamedTuple):
    """Strings that count as one answer."""

    strings: tuple[tuple[str, int], ...]
    """Each with its count, the most frequent first."""

    right: bool | None

    @property
    def n(self) -> int:
        return sum(n for _, n in self.strings)


def answer_classes(
    answers: Sequence[str | None], classes: Sequence[int], correct: Sequence[bool | None]
) -> list[AnswerClass]:
    """Return the classes of a question's answers, the largest first.

    >>> answer_classes(["0.5", "2", "1/2", None], [0, 1, 0, -1], [True, False, True, False])[0]
    AnswerClass(strings=(('0.5', 1), ('1/2', 1)), right=True)
    """
    strings: dict[int, Counter[str]] = {}
    told: dict[int, list[bool]] = {}
    for answer, number, right in zip(answers, classes, correct, strict=True):
        if number >= 0 and answer is not None:
            strings.setdefault(number, Counter())[answer.strip()] += 1
            told.setdefault(number, []).extend([] if right is None else [right])
    found = [
        AnswerClass(
            tuple(counter.most_common()), 2 * sum(told[number]) > len(told[number]) if told[number] else None
        )
        for number, counter in strings.items()
    ]
    return sorted(found, key=lambda each: -each.n)


def class_lines(
    found: Sequence[AnswerClass], compared_by: str, truth: str | None, width: int
) -> Iterator[Text]:
    """Yield the lines: classes of several strings, and those that are right."""
    yield Text(shortened(f"answers compared by {compared_by}", width), style="dim")
    if truth is not None:
        yield Text(shortened(f"right is {visible(truth)}", width), style="dim")
    telling = [each for each in found if len(each.strings) > 1 or each.right]
    for each in telling[:_MOST_CLASSES]:
        mark = "✓" if each.right else " "
        first, *others = each.strings
        yield Text(shortened(f"{mark} {visible(first[0])} ({first[1]:,})", width))
        for string, n in others[:_MOST_STRINGS]:
            yield Text(shortened(f"  = {visible(string)} ({n:,})", width))
        if len(others) > _MOST_STRINGS:
            yield Text(f"  and {len(others) - _MOST_STRINGS:,} more", style="dim")
    if len(telling) > _MOST_CLASSES:
        yield Text(f"and {len(telling) - _MOST_CLASSES:,} more such answers", style="dim")
    n_single = len(found) - len(telling)
    if n_single:
        more, verb = "more " if telling else "", "answer is" if n_single == 1 else "answers are each"
        yield Text(f"  {n_single:,} {more}{verb} written one way", style="dim")
