"""The record of a finished trajectory, from its tokens and their confidences.

It goes through the same stream as a live trajectory, so the two are equal to the last bit. It repeats the
judgements; it does not check whether an engine carried them out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from distrivote.errors import InputError
from distrivote.steering.reflection import SelfStepConf
from distrivote.trajectory import Insertion, Interventions


def replay(
    controller: SelfStepConf,
    tokens: Sequence[str],
    confidences: Sequence[float],
    entropies: Sequence[float] | None = None,
    insertions: Sequence[Insertion] | None = None,
) -> Interventions:
    """Return the record that the controller's stream makes of these tokens.

    Without `insertions` they are found: tokens after a step that dropped are injected if they spell the
    reflection. A reflection at the end of the text is not found in this way.

    >>> record = replay(SelfStepConf(), ["Yes", ".\\n\\n", "Hm\\n\\n", "wait", ","], [9, 11, 7, 6, 8])
    >>> record.step_ends, record.step_confidences, record.insertions
    ((2, 3, 5), (10.0, 7.0, 7.0), (Insertion(start=3, n_tokens=1),))
    """
    if controller.released:
        raise InputError(
            "the record of SelfStepConf as published can't be made from a text: it depends on the most likely"
            " tokens, which may differ from the sampled ones"
        )
    n = len(tokens)
    if entropies is None:
        entropies = [math.nan] * n
    if not n == len(confidences) == len(entropies):
        raise InputError(
            f"{n} tokens, {len(confidences)} confidences and {len(entropies)} entropies: give one of"
            " each per token, NaN where unknown"
        )
    _check_insertions(insertions or (), n)
    lengths = {insertion.start: insertion.n_tokens for insertion in insertions or ()}
    stream = controller.start()
    n_left = 0
    for i, (text, confidence, entropy) in enumerate(zip(tokens, confidences, entropies, strict=True)):
        n_left = n_left or lengths.get(i, 0)
        if n_left:
            n_left -= 1
            stream.push_injected(text, confidence)
        elif stream.push(text, confidence, entropy) is not None and insertions is None:
            n_left = _n_spelling(controller.reflection, tokens, i + 1)
    record = stream.record()
    return record if insertions is None else replace(record, insertions=tuple(insertions))


def _n_spelling(text: str, tokens: Sequence[str], start: int) -> int:
    """Return how many tokens from `start` spell the text, or its beginning if the tokens end first."""
    end = start
    while text and end < len(tokens) and text.startswith(tokens[end]):
        text = text.removeprefix(tokens[end])
        end += 1
    return end - start if not text or end == len(tokens) else 0


def _check_insertions(insertions: Sequence[Insertion], n_tokens: int) -> None:
    edges = [0, *(edge for i in insertions for edge in (i.start, i.start + i.n_tokens)), n_tokens]
    empty = any(insertion.n_tokens < 1 for insertion in insertions)
    if empty or any(edge > following for edge, following in pairwise(edges)):
        raise InputError(
            f"insertions {[(i.start, i.n_tokens) for i in insertions[:8]]} overlap or exceed"
            f" {n_tokens} tokens: give them in order of their start, with at least one token each"
        )
