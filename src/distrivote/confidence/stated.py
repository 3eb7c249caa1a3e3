"""The confidence that a model states itself, where a server gives no log-probabilities.

The reply is asked to end in a line "Confidence: N", N from 0 to 100 (`problem.CONFIDENCE_REQUEST`). The line
is removed before anything else reads the reply. This signal is weaker than log-probabilities: models tend to
be overconfident, and most of their replies state one of a few numbers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from distrivote.trajectory import Trajectory

STATED = "stated"
"""The name of the measure."""

SMALLEST_STATED = 0.001
"""What a stated 0 counts as: a confidence is positive."""

_LINE = re.compile(
    r"[\W_]*(?:final |my )?confidence(?: level| score)?(?:\s*\(0\s*(?:-|–|to)\s*100\))?[^\w\n]*(?:is )?"
    r"(?:\\boxed\{)?(?P<number>\d{1,3}(?:\.\d+)?)\s*(?:\\?%|/\s*100|out of 100)?[\W_]*",
    re.I,
)
_LAST_LINES = 3
"""The number of lines at the end in which the stated confidence is looked for."""


class Stated(NamedTuple):
    """A stated confidence, and where its line is in the text."""

    value: float
    """From 0 to 1, above 0."""

    start: int
    end: int


def stated_in(text: str) -> Stated | None:
    """Return the confidence that a text states in one of its last lines, None if it states none.

    >>> stated_in("So it is 4.\\n\\nConfidence: 85%").value
    0.85
    """
    end = len(text)
    for _ in range(_LAST_LINES):
        kept = text[:end].rstrip()
        start = kept.rfind("\n") + 1
        found = _LINE.fullmatch(kept[start:])
        if found is not None:
            number = float(found["number"])
            is_share = "." in found["number"] and number <= 1 and "%" not in found[0]
            value = number if is_share else number / 100
            return Stated(max(value, SMALLEST_STATED), start, len(kept)) if value <= 1 else None
        if start == 0:
            return None
        end = start
    return None


def unstated(trajectory: Trajectory) -> Trajectory:
    """Return a trajectory without the line that states its confidence, and with that confidence.

    >>> found = unstated(Trajectory("It is 4.\\nConfidence: 90"))
    >>> found.text, found.stated
    ('It is 4.', 0.9)
    """
    found = None if trajectory.stated is not None else stated_in(trajectory.text)
    if found is None:
        return trajectory
    text = trajectory.text
    before, behind = text[: found.start].rstrip(), text[found.end :].strip()
    if behind:
        # Tokens amid others are gone, so that the rest do not spell a text any more.
        return replace(
            trajectory,
            text=f"{before}\n{behind}",
            tokens=(),
            top_logprobs=np.empty((0, 0)),
            logprobs=np.empty(0),
            interventions=None,
            entropies=None,
            self_certainties=None,
            n_reply_tokens=trajectory.n_tokens,
            stated=found.value,
        )
    return replace(_up_to(trajectory, len(before)), stated=found.value)


def _up_to(trajectory: Trajectory, end: int) -> Trajectory:
    """Return a trajectory up to a character."""
    tokens: list[str] = []
    at = 0
    for token in trajectory.tokens:
        if at >= end:
            break
        tokens.append(token[: end - at])
        at += len(token)
    n = len(tokens)
    record, entropies, certainties = (
        trajectory.interventions,
        trajectory.entropies,
        trajectory.self_certainties,
    )
    return replace(
        trajectory,
        text=trajectory.text[:end],
        tokens=tuple(tokens),
        top_logprobs=trajectory.top_logprobs[:n],
        logprobs=trajectory.logprobs[:n],
        interventions=None if record is None else record.up_to(n),
        entropies=None if entropies is None else entropies[:n],
        self_certainties=None if certainties is None else certainties[:n],
    )
