"""Whole replies as answers: the same if their content is similar; the medoid of a class is shown."""

from __future__ import annotations

from distrivote.answers.equality import NAMED
from distrivote.answers.extract import Extraction, reply_start
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.texts import medoid


def whole_reply(text: str) -> Extraction | None:
    """Return the whole reply after its thinking.

    >>> whole_reply("<think>hm</think> Hello!").answer
    'Hello!'
    """
    start, end = reply_start(text), len(text.rstrip())
    while start < end and text[start].isspace():
        start += 1
    return Extraction(text[start:end], end, start) if start < end else None


TEXT = Kind(
    "text",
    whole_reply,
    NAMED["content"],
    "text",
    is_long=True,
    pick=medoid,
    no_probability="A text has no probability of being right: the share says how far the replies agree",
)
