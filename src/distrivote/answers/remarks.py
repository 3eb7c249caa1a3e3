"""What a careful reader should know of comparisons: what was in doubt, given up or left to notation."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Remarks:
    """Counts over the comparisons of some pools; they add up.

    >>> (Remarks(n_unsure=1) + Remarks(n_unsure=2)).notes
    ('3 pairs of answers are equal by one way of comparing them and not by another: they count as different',)
    """

    n_unsure: int = 0
    """Pairs of answers that math-verify calls equal one way round, or read one way, and not another."""

    n_unsure_grades: int = 0
    """Trajectories whose answer may be right, and counts as wrong."""

    n_lost: int = 0
    """Comparisons that were given up."""

    n_left_out: int = 0
    """Comparisons for which there was no time left."""

    n_formulas: int = 0
    """Distinct formulas that were compared by notation for want of math-verify."""

    def __add__(self, other: Remarks) -> Remarks:
        return Remarks(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each."""
        notes = []
        if self.n_unsure_grades:
            were = "1 grading was" if self.n_unsure_grades == 1 else f"{self.n_unsure_grades:,} gradings were"
            notes.append(f"{were} doubtful: equal to the right answer one way and not another, so wrong")
        if self.n_unsure:
            one = self.n_unsure == 1
            pairs = "1 pair of answers is" if one else f"{self.n_unsure:,} pairs of answers are"
            count = "it counts" if one else "they count"
            notes.append(
                f"{pairs} equal by one way of comparing them and not by another: {count} as different"
            )
        if self.n_lost:
            notes.append(f"comparing answers took too long in {_cases(self.n_lost)}: {_DIFFERENT}")
        if self.n_left_out:
            notes.append(
                f"comparing answers was stopped with {_cases(self.n_left_out)} left out: {_DIFFERENT}"
            )
        if self.n_formulas:
            notes.append(
                "formulas among the answers are compared by notation only, for math-verify is not installed:"
                " pip install 'distrivote[math]'"
            )
        return tuple(notes)


_DIFFERENT = "those answers count as different"


def _cases(n: int) -> str:
    return "1 case" if n == 1 else f"{n:,} cases"
