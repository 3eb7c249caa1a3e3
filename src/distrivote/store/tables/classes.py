"""The questions of a table with equal answers under one label, once per question and distinct string.

Nearly all files hold numbers, letters and words that have one spelling; those are recognised by a pattern,
and their rows are passed on unchanged. Only questions in which two strings may be the same answer are
examined one by one: by their keys under the plain rules, and by mathematics if there is a formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equality import NAMED, Equality, Same, equality
from distrivote.answers.equivalence import GRADING_BUDGET, classify
from distrivote.answers.forms import Form, form_of
from distrivote.answers.mathverify import MathEqual
from distrivote.answers.remarks import Remarks
from distrivote.nouns import count
from distrivote.store.tables.questions import Questions
from distrivote.store.tables.source import AnswerTable

PLAIN = r"^(?:0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]{0,11})\.[0-9]{0,4}[1-9]|[A-Z]|[a-z]{3,40})$"
"""Two different strings of this kind are never equal answers: numbers, letters, small words."""

MOST_WORK = 1_000
"""Parses and comparisons of formulas by math-verify for a file, unless math is requested; 5 to 20 ms each. A
count and not a time, so that all machines get the same classes."""

_FINE = 6
"""Decimals with this number of places may equal others that they are rounded from."""

Grouping = Callable[[Iterable[pa.RecordBatch]], Iterator[Questions]]


def questions_of(table: AnswerTable, group: Grouping) -> Iterator[Questions]:
    """Yield the questions of a table, grouped by a function of `questions`, with one label for equal answers.

    A run has its classes already. Remarks are added to the notes of the table at the end.
    """
    if table.kind == "run":
        yield from group(table.batches())
        return
    merging = _Merging(table.same)
    for block in group(table.batches()):
        yield merging.merged(block)
    table.notes += merging.notes


class _Merging:
    """Merges the equal answers of one file, and counts them."""

    def __init__(self, same: Same | None) -> None:
        self._rule = equality(same)
        self._left: float = MOST_WORK if same is None else math.inf
        self._n_skipped = self._n_alike = 0
        self._alike: tuple[str, str] | None = None
        self._remarks = Remarks()

    @property
    def notes(self) -> tuple[str, ...]:
        notes = list(self._remarks.notes)
        if self._n_skipped:
            notes.append(
                f"the formulas of {count(self._n_skipped, 'question')} are compared by notation, because the"
                ' file has many of them: `same="math"` compares all as mathematics'
            )
        if self._alike is not None:
            one, other = self._alike
            notes.append(
                f"answers that look equal are kept separate in {count(self._n_alike, 'question')}, such as"
                f' {one!r} and {other!r}: `same="notation"` makes them equal'
            )
        return tuple(notes)

    def merged(self, block: Questions) -> Questions:
        """Return the block with one label for equal answers of a question."""
        self._check_truths(block)
        odd = pc.invert(pc.fill_null(pc.match_substring_regex(block.labels, PLAIN), False))
        is_odd = np.array(odd.to_numpy(zero_copy_only=False))
        is_odd |= not self._rule.is_named  # a caller's own rule may equate anything
        if not is_odd.any():
            return block
        labels: list[str] = block.labels.to_pylist()
        todo = self._doubtful(block, labels, is_odd)
        if not len(todo):
            return block
        questions = np.repeat(np.arange(len(block)), np.diff(block.offsets))
        is_todo = np.zeros(len(block), dtype=bool)
        is_todo[todo] = True
        rows = np.flatnonzero(is_todo[questions] & (block.classes >= 0))
        pairs, first, which, counts = np.unique(
            questions[rows] * len(labels) + block.classes[rows],
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        question, code = pairs // len(labels), pairs % len(labels)
        group = self._groups(question, code, labels)
        # A group is represented by its most frequent label, on a tie by the first one.
        order = np.lexsort((first, -counts, group))
        _, heads, members = np.unique(group[order], return_index=True, return_inverse=True)
        chosen = np.empty(len(pairs), np.int64)
        chosen[order] = code[order][heads][members]
        classes = block.classes.copy()
        classes[rows] = chosen[which]
        return replace(block, classes=classes)

    def _groups(
        self, question: npt.NDArray[np.int64], code: npt.NDArray[np.int64], labels: list[str]
    ) -> npt.NDArray[np.int64]:
        """Return a number for each pair of question and label, equal for equal labels of a question."""
        group = np.empty(len(question), np.int64)
        known: dict[tuple[int, ...], tuple[tuple[int, ...], bool]] = {}
        starts = np.flatnonzero(np.diff(question, prepend=-1)).tolist()
        codes = code.tolist()
        for start, end in zip(starts, [*starts[1:], len(codes)], strict=True):
            mine = tuple(codes[start:end])
            if mine not in known:
                mine_labels = [labels[each] for each in mine]
                rule = self._rule_for(mine_labels)
                found = classify(mine_labels, rule)
                self._remarks += found.remarks
                self._left -= rule.equal.n_needed if isinstance(rule.equal, MathEqual) else 0
                known[mine] = found.ids, rule.name != self._rule.name
            ids, is_skipped = known[mine]
            self._n_skipped += is_skipped
            group[start:end] = ids
            group[start:end] += start
        return group

    def _check_truths(self, block: Questions) -> None:
        if self._rule.is_math and block.truths is not None:
            for truth in block.truths.unique().to_pylist():
                self._rule.check_truth(truth)

    def _rule_for(self, codes: Iterable[str]) -> Equality:
        """Return how one question's answers are compared: by notation once the limit of work is reached."""
        if self._left <= 0 and any(form_of(label).is_open for label in codes):
            return NAMED["notation"]
        return self._rule.for_pool(GRADING_BUDGET)

    def _doubtful(
        self, block: Questions, labels: list[str], is_odd: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Return the questions in which two different strings may be the same answer."""
        questions = np.repeat(np.arange(len(block)), np.diff(block.offsets))
        given = block.classes >= 0
        has_odd = np.zeros(len(block), dtype=bool)
        has_odd[questions[given][is_odd[block.classes[given]]]] = True
        rows = given & has_odd[questions]
        pairs = np.unique(questions[rows] * len(labels) + block.classes[rows])
        question, code = pairs // len(labels), pairs % len(labels)
        if self._rule.name == "choice" or not self._rule.is_named:
            return np.flatnonzero(np.bincount(question, minlength=len(block)) > 1)
        keys: dict[Any, int] = {}
        numbers, opens = np.zeros(len(labels), np.int64), np.zeros(len(labels), bool)
        for each in np.unique(code).tolist():
            mark, is_open = self._mark(labels[each], bool(is_odd[each]))
            numbers[each], opens[each] = keys.setdefault(mark, len(keys)), is_open
        n_labels = np.bincount(question, minlength=len(block))
        marked = np.unique(question * len(keys) + numbers[code]) // max(len(keys), 1)
        alike = np.bincount(marked, minlength=len(block)) < n_labels
        if self._rule.name == "text":
            return self._only_spaces(alike, question, code, labels)
        has_open = np.bincount(question, opens[code], minlength=len(block)) > 0
        return np.flatnonzero(alike | (has_open & (n_labels > 1)))

    def _mark(self, label: str, is_odd: bool) -> tuple[Any, bool]:
        """Return the key of a label, and whether a label with another key may still equal it."""
        if not is_odd and label.isdigit():
            return int(label), False  # a Fraction that is whole has the same hash, and is equal
        form = form_of(label)
        is_open = self._rule.is_math and form.is_open
        return form.key, is_open or _is_fine(form)

    def _only_spaces(
        self,
        alike: npt.NDArray[np.bool_],
        question: npt.NDArray[np.int64],
        code: npt.NDArray[np.int64],
        labels: list[str],
    ) -> npt.NDArray[np.int64]:
        """Return the questions whose answers differ only by surrounding space; count what looks equal."""
        found = []
        for number in np.flatnonzero(alike).tolist():
            mine = [labels[each] for each in code[question == number].tolist()]
            by_key: dict[Any, str] = {}
            for label in mine:
                other = by_key.setdefault(form_of(label).key, label)
                if other.strip() != label.strip():
                    self._alike = self._alike or (other.strip(), label.strip())
                    self._n_alike += 1
                    break
            if len({label.strip() for label in mine}) < len(mine):
                found.append(number)
        return np.array(found, dtype=np.int64)


def _is_fine(form: Form) -> bool:
    return form.places >= _FINE
