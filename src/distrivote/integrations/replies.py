"""The confidence of one reply in a running evaluation.

One unusual reply must not abort an evaluation: if it can't be measured it has no confidence, and a note says
why. The caller checks the settings before the first reply.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from distrivote.answers.extract import OwnExtractor
from distrivote.confidence import DEFAULT_K, DEFAULT_MEASURE, entries_given
from distrivote.engines.responses import trajectories_from_openai
from distrivote.errors import InputError
from distrivote.voting.ballot import Ballot


class ReplyConfidence(NamedTuple):
    """How sure the model was of one reply."""

    value: float | None
    """None if there is nothing to measure."""

    k: int
    """The number k of most probable tokens that were used: values for different k are not comparable."""

    notes: tuple[str, ...]


def reply_confidence(
    choice: Any,
    *,
    extract: str | re.Pattern[str] | OwnExtractor = "auto",
    measure: str = DEFAULT_MEASURE,
    k: int = DEFAULT_K,
) -> ReplyConfidence:
    """Return the confidence of a choice in OpenAI's form, a dict or an object.

    >>> top = [{"token": "4", "logprob": -0.1}, {"token": "5", "logprob": -2.3}]
    >>> logprobs = {"content": [{"token": "4", "logprob": -0.1, "top_logprobs": top}]}
    >>> reply_confidence({"message": {"content": "4"}, "logprobs": logprobs})[:2]
    (1.2, 2)
    >>> reply_confidence({"message": {"content": "4"}}).value is None
    True
    """
    try:
        (trajectory,) = trajectories_from_openai({"choices": [choice]})
        ballot = Ballot.from_trajectories([trajectory], extract=extract, measure=measure, k=k)
    except InputError as error:
        return ReplyConfidence(None, 0, (str(error),))
    value = float(ballot.confidences[0])
    used = min(entries_given(trajectory.top_logprobs), k)
    return ReplyConfidence(None if value != value else value, used, ballot.notes)
