"""Prompts that leave a model no room to reply: their jobs are skipped, and an error at the end says which."""

from __future__ import annotations

from collections.abc import Sequence

from distrivote.errors import InputError
from distrivote.nouns import count, verb
from distrivote.problem import Message

_SHOWN = 60
"""How many characters of a question are shown."""


def too_long(
    messages: Sequence[Message], n_tokens: int, limit: int, model: str, advice: str = "shorten it"
) -> str:
    """Return the message about a prompt that is too long.

    >>> too_long([Message("user", "2 + 2?")], 9, 8, "a-model")
    "the prompt '2 + 2?' has 9 tokens, and a-model reads 8 at most: shorten it"
    """
    question = " ".join(messages[-1].content.split())
    shown = question if len(question) <= _SHOWN else question[: _SHOWN - 1] + "…"
    return f"the prompt {shown!r} has {count(n_tokens, 'token')}, and {model} reads {limit} at most: {advice}"


def not_sampled(refusals: Sequence[str], n_jobs: int) -> InputError:
    """Return the error for the skipped jobs, given a sentence for each, after all others have finished."""
    if n_jobs == 1:
        return InputError(refusals[0])
    were = verb(len(refusals), "were")
    return InputError(f"{len(refusals)} of {count(n_jobs, 'question')} {were} not sampled: {refusals[0]}")
