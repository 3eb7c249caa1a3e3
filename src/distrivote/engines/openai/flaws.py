"""What is wrong with a finished reply: its log-probabilities, or that it did not end at its limit.

A server that gave log-probabilities when it was probed may omit them in some replies. Those are asked for
again, since their confidences would be missing or incomparable; a reply whose flaw remains is marked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distrivote.confidence.tokens import SENTINEL, entries_given
from distrivote.trajectory import Trajectory


class Flaw(NamedTuple):
    """What is wrong, in a few words, and whether to retry."""

    words: str
    asks_again: bool = True
    spoils_logprobs: bool = False
    """Whether the log-probabilities are wrong, so that the reply is kept without them."""


_MOST_PROBABLE = 1.1
"""The largest sum of the probabilities at a token; those of servers that round to 8 bits are above 1."""

ENDLESS = Flaw("cut at max_tokens, where the server went on", asks_again=False)


def flaw_of(trajectory: Trajectory, k: int) -> Flaw | None:
    """Return what is wrong with the log-probabilities of a reply, k of which were asked for at each token.

    One entry less than k is no flaw: some servers leave one out where the sampled token is not among them.

    >>> flaw_of(Trajectory("4", ("4",), np.full((1, 5), -3.0), np.full(1, -3.0)), k=20).words
    '5 log-probabilities at each token instead of 20'
    """
    if not k or not trajectory.text:
        return None
    if not trajectory.tokens:
        return Flaw("no log-probabilities")
    record = trajectory.interventions
    sampled = np.ones(trajectory.n_tokens, bool)
    for insertion in () if record is None else record.insertions:
        sampled[insertion.start : insertion.start + insertion.n_tokens] = False
    top = trajectory.top_logprobs[sampled]
    if not len(top):
        return None
    given = entries_given(top)
    if given < k - 1:
        return Flaw(f"{given} log-probabilities at each token instead of {k}")
    is_usable = np.isfinite(top) & (top > SENTINEL)
    sums = np.exp(np.where(is_usable, top, -np.inf)).sum(axis=1)
    n_above = int(np.count_nonzero(sums > _MOST_PROBABLE))
    if n_above:
        words = f"the probabilities at {n_above} of {len(top)} tokens add up to {sums.max():.3g}"
        return Flaw(words, spoils_logprobs=True)
    n_lacking = int(np.count_nonzero(is_usable.sum(axis=1) < k - 1))
    if not n_lacking:
        return None
    words = f"fewer than {k} usable log-probabilities at {n_lacking} of {len(top)} tokens"
    return Flaw(words, asks_again=False)
