"""A solution as a document: a tally, and its cost."""

from __future__ import annotations

from distrivote.answers.structured.fields import FieldVote
from distrivote.problem import Problem
from distrivote.report.documents.fields import (
    AskDocument,
    FieldDocument,
    MessageDocument,
    RunnerUpDocument,
    SolutionDocument,
    TrajectoryDocument,
)
from distrivote.report.documents.tallies import number, tally_document
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
        solution: The vote, with its trajectories.
        seconds: How long the sampling took.
        stopped: Why there are fewer trajectories than the budget, if the solution does not say it.
        n_tokens: The sampled tokens, if there are more than those of the trajectories.
        trajectories: Their documents, if they are to be included.
    """
    indices = [trajectory.index for trajectory in solution.trajectories]
    least = solution.min_probability
    document = tally_document(
        solution.tally, solution.ballot, indices, min_probability=least, line=solution.kind.line
    )
    if solution.composed is not None and not document["abstained"]:
        document["answer"] = solution.composed.text
    return {
        **document,
        "answer_kind": solution.kind.name,
        "reply": "" if document["abstained"] else solution.reply,
        "fields": _fields(solution),
        "template": solution.problem.template,
        "budget": solution.n_asked,
        "best": None if solution.best is None else solution.best.index,
        "stopped": solution.stopped if stopped is None else stopped,
        "n_tokens": solution.n_tokens if n_tokens is None else n_tokens,
        "n_tokens_saved": solution.n_tokens_saved,
        "n_reflections": solution.n_reflections,
        "seconds": round(seconds, 3),
        "trajectories": trajectories,
    }


def _fields(solution: Solution) -> list[FieldDocument] | None:
    if solution.composed is None or solution.withheld is not None:
        return None
    return [
        {
            "path": each.path,
            "value": each.value,
            "votes": each.votes,
            "n": each.n,
            "share": number(each.share),
            "probability": number(each.probability),
            "confidence": number(each.confidence),
            "runner_up": _runner_up(each),
        }
        for each in solution.composed.fields
    ]


def _runner_up(each: FieldVote) -> RunnerUpDocument | None:
    second = each.runner_up
    return None if second is None else {"value": second.value, "votes": second.votes}


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


def ask_document(document: SolutionDocument, problem: Problem, model: str, steering: str) -> AskDocument:
    """Return what `ask --json` prints; `steering` says what SelfStepConf did."""
    messages: list[MessageDocument] = [
        {"role": message.role, "content": message.content} for message in problem.messages()
    ]
    return {
        "question": problem.question,
        "messages": messages,
        "model": model,
        **document,
        "steering": steering,
    }
