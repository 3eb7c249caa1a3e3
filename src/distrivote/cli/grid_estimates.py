"""What the steps of `distrivote reproduce` need: trajectories, tokens, storage and hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distrivote.cli.grid_steps import Grid, Step

N_ENGINES = (1, 2, 4, 8, 16, 32, 64)
"""For how many engines of the same speed hours are given: GPUs, or groups of them with one model each."""

_ENOUGH = 16
"""Number of stored trajectories from which their mean length is used instead of the paper's."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a step needs."""

    step: Step
    n_stored: int
    """Trajectories that its run has already, of all shards."""

    tokens_each: float
    tokens_from: str
    n_bytes: float
    n_bytes_with_tokens: float
    """With the confidences of single tokens stored as well."""

    @property
    def n_tokens(self) -> float:
        return self.step.n_trajectories * self.tokens_each

    @property
    def n_left(self) -> int:
        """Trajectories still to do, at most: which of those stored belong to this shard is not looked up."""
        return min(self.step.n_trajectories, self.step.n_questions * self.step.budget - self.n_stored)


def estimate(grid: Grid, step: Step) -> Estimate:
    """Return what a step needs, estimated from its stored trajectories or else from the paper's lengths."""
    from distrivote.evaluation.paper.lengths import Length, expected_length, stored_bytes

    n_stored, measured = _stored(step)
    if measured is not None and n_stored >= _ENOUGH:
        length = Length(measured, "measured on what is stored")
    else:
        length = expected_length(grid.settings, step.benchmark, step.arm.ssc, grid.max_tokens)
    n_tokens = step.n_trajectories * length.n_tokens
    run = (step.n_trajectories, n_tokens, grid.texts, step.stage.top_logprobs)
    sizes = (stored_bytes(*run), stored_bytes(*run, tokens=True))
    return Estimate(step, n_stored, length.n_tokens, length.source, *sizes)


def _stored(step: Step) -> tuple[int, float | None]:
    """Return how many trajectories a run has, and their mean length; None where that is not known."""
    from distrivote.store.runs.run import Run, known_tokens
    from distrivote.store.tables.source import is_run

    if not is_run(step.run):
        return 0, None
    questions = Run.open(step.run).questions()
    n, n_tokens = sum(question.n_trajectories for question in questions), known_tokens(questions)
    mean = None if n_tokens is None or not n else n_tokens / n
    return min(n, step.n_questions * step.budget), mean


def row_of(each: Estimate, tokens_per_second: float | None) -> dict[str, Any]:
    """Return the estimate of a step as a dict, with hours if the speed is known."""
    row = {
        "run": each.step.run,
        "benchmark": each.step.benchmark,
        "arm": each.step.arm.name,
        "n_questions": each.step.n_here,
        "budget": each.step.budget,
        "n_trajectories": each.step.n_trajectories,
        "n_stored": each.n_stored,
        "n_left": each.n_left,
        "tokens_per_trajectory": round(each.tokens_each, 2),
        "tokens_from": each.tokens_from,
        "n_tokens": round(each.n_tokens),
        "n_tokens_left": round(each.n_left * each.tokens_each),
        "n_bytes": round(each.n_bytes),
        "n_bytes_with_tokens": round(each.n_bytes_with_tokens),
    }
    return row | _hours(row, tokens_per_second)


def totals_of(estimates: Sequence[Estimate], tokens_per_second: float | None) -> dict[str, Any]:
    """Return the sums over steps."""
    rows = [row_of(each, tokens_per_second) for each in estimates]
    names = (
        "n_trajectories",
        "n_stored",
        "n_left",
        "n_tokens",
        "n_tokens_left",
        "n_bytes",
        "n_bytes_with_tokens",
    )
    totals: dict[str, Any] = {name: sum(row[name] for row in rows) for name in names}
    hours = _hours(totals, tokens_per_second)
    if tokens_per_second is not None:
        totals["hours_by_engines"] = {str(n): hours["hours"] / n for n in N_ENGINES}
    return totals | hours


def _hours(row: dict[str, Any], tokens_per_second: float | None) -> dict[str, float]:
    if tokens_per_second is None:
        return {}
    per_hour = tokens_per_second * 3600
    return {"hours": row["n_tokens"] / per_hour, "hours_left": row["n_tokens_left"] / per_hour}
