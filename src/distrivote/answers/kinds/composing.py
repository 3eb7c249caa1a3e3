"""An object composed from the votes on its fields, each value with the confidence of its own tokens."""

from __future__ import annotations

from collections.abc import Sequence

from distrivote.answers.structured.confidences import value_confidences
from distrivote.answers.structured.fields import Composed, compose
from distrivote.answers.structured.parse import Document, document
from distrivote.answers.structured.schema import Schema
from distrivote.answers.structured.slots import Elect
from distrivote.trajectory import Floats, Trajectory


def composed(
    trajectories: Sequence[Trajectory],
    answers: Sequence[tuple[str | None, int | None]],
    elect: Elect,
    whole: int,
    schema: Schema | None = None,
) -> Composed:
    """Return what the trajectories say field by field.

    Args:
        trajectories: All trajectories of a question.
        answers: The JSON of each, None if it has no vote, and its offset in the text.
        elect: The vote.
        whole: The trajectory whose object won as a whole.
        schema: What the result must satisfy.
    """
    documents: list[Document | None] = []
    confidences: list[Floats | None] = []
    for trajectory, (answer, start) in zip(trajectories, answers, strict=True):
        if answer is None or start is None:
            documents.append(None)
            confidences.append(None)
            continue
        found = document(trajectory.text, start, start + len(answer))
        documents.append(found)
        confidences.append(value_confidences(trajectory, found.places) if trajectory.tokens else None)
    return compose(documents, confidences, elect, whole, None if schema is None else schema.flaw)
