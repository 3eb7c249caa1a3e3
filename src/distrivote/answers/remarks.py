"""Caveats about comparisons: which were doubtful, timed out or used notation only."""

from __future__ import annotations

from dataclasses import dataclass, fields

from distrivote.errors import install_command
from distrivote.nouns import count, verb


@dataclass(frozen=True, slots=True)
class Remarks:
    """Counts over the comparisons of some pools; they add up.

    >>> (Remarks(n_unsure=1) + Remarks(n_unsure=2)).notes
    ('3 pairs of answers are equal by one way of comparing them and not by another: they count as different',)
    """

    n_unsure: int = 0
    """Pairs of answers that math-verify calls equal in one order or way of parsing, and not in another."""

    n_unsure_grades: int = 0
    """Trajectories whose answer may be right but counts as wrong."""

    n_lost: int = 0
    """Comparisons that timed out."""

    n_left_out: int = 0
    """Comparisons for which there was no time left."""

    n_formulas: int = 0
    """Distinct formulas that were compared by notation because math-verify is not installed."""

    said: tuple[str, ...] = ()
    """Notes of an `Equality` that sorts answers, a sentence each."""

    def __add__(self, other: Remarks) -> Remarks:
        return Remarks(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks as sentences."""
        notes = [*dict.fromkeys(self.said)]
        if self.n_unsure_grades:
            n = self.n_unsure_grades
            notes.append(
                f"{count(n, 'grading')} {verb(n, 'were')} doubtful: equal to the right answer one way and not"
                " another, so wrong"
            )
        if self.n_unsure:
            n = self.n_unsure
            notes.append(
                f"{count(n, 'pair')} of answers {verb(n, 'are')} equal by one way of comparing them and not"
                f" by another: {verb(n, 'they')} {verb(n, 'count')} as different"
            )
        if self.n_lost:
            notes.append(f"comparing answers took too long in {count(self.n_lost, 'case')}: {_DIFFERENT}")
        if self.n_left_out:
            notes.append(
                f"comparing answers was stopped with {count(self.n_left_out, 'case')} left out: {_DIFFERENT}"
            )
        if self.n_formulas:
            notes.append(
                "formulas among the answers are compared by notation only, as math-verify is not installed:"
                f" {install_command('math')} in the project's folder"
            )
        return tuple(notes)


_DIFFERENT = "those answers count as different"
