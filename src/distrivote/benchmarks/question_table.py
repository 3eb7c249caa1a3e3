"""Rows of a benchmark, and what all benchmarks share: texts, ids, error messages.

A row has its position, so that an error can name it: "mine.csv, line 17". Rows come from `files` or `hub`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.store.tables.faults import listed, not_text, quoted

IDS = ("id", "question_id")


class QuestionRow(NamedTuple):
    """One row, its columns by name."""

    where: str
    values: Mapping[str, Any]

    def text(self, column: str) -> str | None:
        """Return a value as stripped text: 42 and 42.0 are "42"; None if missing or blank."""
        # Loads pyarrow, which the built-in benchmarks do not need.
        from distrivote.store.tables.labels import label_at

        found = label_at(self.values.get(column), self.where.__str__, column)
        if found is None:
            return None
        if not found.isascii():
            try:
                found.encode()
            except UnicodeEncodeError as error:  # JSON can hold a lone surrogate
                raise not_text(self.where, column) from error
        return found.strip()

    def needed(self, column: str) -> str:
        """Return a value as text; raise InputError if there is none."""
        found = self.text(column)
        if found is None:
            raise InputError(
                f"{self.where}: {column} is empty ({quoted(self.values.get(column), 30)}), and every row"
                " needs one: fill it in or drop the row"
            )
        return found


class QuestionTable(NamedTuple):
    """All rows of one source, at least one."""

    source: str
    """A path as given, or `hf:ORG/NAME`."""

    rows: Sequence[QuestionRow]

    def columns(self) -> list[str]:
        """Return the names of all columns, in the order of their first row."""
        return list(dict.fromkeys(name for row in self.rows for name in row.values))

    def column(self, *names: str) -> str:
        """Return the first of the names that is a column; raise InputError if none is."""
        there = self.columns()
        for name in names:
            if name in there:
                return name
        wanted = " or ".join(repr(name) for name in names)
        raise InputError(
            f"{self.source} has no column {wanted} (it has {listed(there)}): rename the one that is meant"
        )

    def optional(self, names: Iterable[str]) -> str | None:
        """Return the first of the names that is a column, None if none is."""
        there = self.columns()
        return next((name for name in names if name in there), None)


def numbered(name: str, number: int | str, width: int) -> str:
    """Return the id of a problem that has only a number.

    >>> numbered("aime2025", 7, 2)
    'aime2025-07'
    """
    return f"{name}-{number:0>{width}}"


def with_ids(
    rows: QuestionTable,
    column: str | None,
    otherwise: Callable[[int], str],
    problem: Callable[[QuestionRow, str], Problem],
) -> tuple[Problem, ...]:
    """Make a problem of every row, with the id from a column or, without one, from its number (from 1 on).

    Equal ids are an error that names both rows.
    """
    first: dict[str, QuestionRow] = {}
    problems = []
    for number, row in enumerate(rows.rows, 1):
        own = otherwise(number) if column is None else row.needed(column)
        if own in first:
            raise InputError(
                f"{row.where}: the id {quoted(own)} is taken by {first[own].where}: give every question"
                " its own"
            )
        first[own] = row
        problems.append(problem(row, own))
    return tuple(problems)
