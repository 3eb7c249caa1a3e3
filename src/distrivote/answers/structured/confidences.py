"""The confidence of single values: the mean confidence of the tokens that hold each value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distrivote.answers.structured.parse import Place
from distrivote.confidence.tokens import DEFAULT_K, TokenValues, token_confidence
from distrivote.trajectory import Floats, Trajectory


def value_confidences(
    trajectory: Trajectory, places: Sequence[Place], k: int = DEFAULT_K, tokens: TokenValues | None = None
) -> Floats:
    """Return the confidence at each place of a text, NaN if no token there has one.

    A token that is only partly in a place counts, since token boundaries need not match values. `tokens` are
    the confidences of the tokens, if they are already computed.

    >>> trajectory = Trajectory("a: 12", ("a:", " 1", "2"), np.log([[0.9, 0.1]] * 3), np.zeros(3))
    >>> value_confidences(trajectory, [(3, 5)]).round(4).tolist()
    [1.204]
    """
    if not places:
        return np.empty(0)
    n = len(trajectory.tokens)
    if not n:
        return np.full(len(places), np.nan)
    values = (token_confidence(trajectory.top_logprobs, k) if tokens is None else tokens).values
    ends = np.fromiter(map(len, trajectory.tokens), dtype=np.int64, count=n).cumsum()
    bounds = np.asarray(places, dtype=np.int64)
    first = np.minimum(np.searchsorted(ends, bounds[:, 0], side="right"), n - 1)
    last = np.searchsorted(ends, bounds[:, 1], side="left") + 1
    has = ~np.isnan(values)
    stretches = np.column_stack((first, np.clip(last, first + 1, n))).ravel()
    # One more at the end, because a span may end with the last token.
    sums = np.add.reduceat(np.append(np.where(has, values, 0.0), 0.0), stretches)[::2]
    n_tokens = np.add.reduceat(np.append(has, False).astype(np.int64), stretches)[::2]
    means = sums / np.maximum(n_tokens, 1)
    # A value not above 0 is not a measurement, as everywhere.
    return np.where((n_tokens > 0) & (means > 0), means, np.nan)
