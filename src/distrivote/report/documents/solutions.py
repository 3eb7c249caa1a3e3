"""A solution as a document: a tally, and what it took."""

from __future__ import annotations

from distrivote.report.documents.fields import AskDocument, SolutionDocument, TrajectoryDocument
from distrivote.report.documents.tallies import tally_document
from distrivote.report.documents.trajectories import trajectory_document
from distrivote.solution import Solution
from distrivote.steering import Controller


def solution_document(
    solution: Solution,
    seconds: float,
    *,
    stopped: str | None = None,
    n_tokens: int | None = None,
    trajectories: list[TrajectoryDocument] | None = None,
) -> SolutionDocument:
    """Return a vote on a question that a model was asked.

    Args:
        solution: The vote, and what it rests on.
        seconds: How long the sampling took.
        stopped: Why there are fewer trajectories than the budget, if the solution does not know it.
        n_tokens: What was sampled, if not the tokens of the trajectories alone.
        trajectories: Their documents, if they are to be in it.
    """
    indices = [trajectory.index for trajectory in solution.trajectories]
    least = solution.min_probability
    return {
        **tally_document(solution.tally, solution.ballot, indices, min_probability=least),
        "budget": solution.n_asked,
        "best": None if solution.best is None else solution.best.index,
        "stopped": solution.stopped if stopped is None else stopped,
        "n_tokens": solution.n_tokens if n_tokens is None else n_tokens,
        "n_tokens_saved": solution.n_tokens_saved,
        "n_reflections": solution.n_reflections,
        "seconds": round(seconds, 3),
        "trajectories": trajectories,
    }


def trajectory_documents(solution: Solution, controller: Controller | None) -> list[TrajectoryDocument]:
    """Return the trajectories of a solution, each with the label of its answer."""
    ballot = solution.ballot
    return [
        trajectory_document(
            trajectory, str(ballot.labels[given]) if given >= 0 else None, confidence, controller
        )
        for trajectory, given, confidence in zip(
            solution.trajectories, ballot.classes.tolist(), ballot.confidences.tolist(), strict=True
        )
    ]


def ask_document(document: SolutionDocument, question: str, model: str, steering: str) -> AskDocument:
    """Return what `ask --json` prints; `steering` says what SelfStepConf did."""
    return {"question": question, "model": model, **document, "steering": steering}
