"""From the logits of one position to the next token and the k most probable ones.

Plain NumPy on one row of logits at a time, small enough to stay in a processor's cache. The k most
probable entries are those of the model's own distribution, whatever temperature and cuts the sampling
uses.

The k-th largest of the maxima of many small groups is no larger than the k-th largest of all values, so
only the groups with the k largest maxima can hold the k largest values: sorting everything is avoided.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from distrivote.confidence.tokens import SENTINEL
from distrivote.engines.base import SamplingParams

Logits = npt.NDArray[np.float32]

_GROUP = 64
_CANDIDATES = 64
"""How many of the most probable tokens are tried before the whole vocabulary is sorted."""


class Position(NamedTuple):
    """The model's distribution at one position."""

    top_ids: npt.NDArray[np.int64]
    """(n,) The most probable tokens, best first; of equal ones the lower id first."""

    top_logits: npt.NDArray[np.float64]
    highest: float
    log_total: float
    """log of the sum of exp(logit): a logit minus this is a log-probability."""

    entropy: float
    """Of the whole distribution, in nats."""

    self_certainty: float
    """How far the whole distribution is from even, as KL(uniform || p) in nats."""


class TokenSampler:
    """Samples tokens with one set of parameters; holds scratch memory, so use one per thread."""

    def __init__(self, n_vocab: int, params: SamplingParams) -> None:
        self._params = params
        self._n_vocab = n_vocab
        self._n_groups = -(-n_vocab // _GROUP)
        self._padded = np.full(self._n_groups * _GROUP, -np.inf, dtype=np.float32)
        self._gaps = np.empty(n_vocab, dtype=np.float32)
        self._scratch = np.empty(n_vocab, dtype=np.float32)
        self._n_top = min(max(_CANDIDATES, params.n_logprobs), n_vocab)

    def read(self, logits: Logits) -> Position:
        """Return the most probable tokens and the normaliser of one row."""
        self._padded[: self._n_vocab] = logits
        groups = self._padded.reshape(_GROUP, self._n_groups)  # group j: j, j + n_groups, ...
        maxima = groups.max(axis=0)
        n = min(self._n_top, self._n_groups)
        best = np.argpartition(maxima, self._n_groups - n)[self._n_groups - n :]
        values = groups[:, best].ravel()
        ids = (np.arange(_GROUP)[:, None] * self._n_groups + best).ravel()
        n = min(self._n_top, len(values))
        top = np.argpartition(values, len(values) - n)[len(values) - n :]
        order = np.lexsort((ids[top], -values[top]))
        top = top[order]
        highest = float(values[top[0]])
        gaps = np.subtract(logits, np.float32(highest), out=self._gaps)
        weights = np.exp(gaps, out=self._scratch)
        total = float(weights.sum(dtype=np.float64))
        log_total = float(np.log(total))
        return Position(
            ids[top],
            values[top].astype(np.float64),
            highest,
            highest + log_total,
            *_spread(gaps, weights, total, log_total),
        )

    def _log_sum(self, logits: Logits, highest: float, temperature: float) -> float:
        """Return log of the sum of exp((logit - highest) / temperature)."""
        np.subtract(logits, np.float32(highest), out=self._scratch)
        if temperature != 1.0:
            self._scratch *= np.float32(1.0 / temperature)
        np.exp(self._scratch, out=self._scratch)
        return float(np.log(self._scratch.sum(dtype=np.float64)))

    def choose(self, logits: Logits, position: Position, uniform: float) -> int:
        """Return the token that a uniform random number from [0, 1) selects."""
        params = self._params
        if params.temperature == 0.0:
            return int(position.top_ids[0])
        log_total = self._log_sum(logits, position.highest, params.temperature)
        ids = position.top_ids
        weights = np.exp((position.top_logits - position.highest) / params.temperature - log_total)
        if self._enough(weights):
            return int(ids[self._draw(weights, uniform)])
        ids = np.lexsort((np.arange(self._n_vocab), -logits))
        values = logits[ids].astype(np.float64)
        weights = np.exp((values - position.highest) / params.temperature - log_total)
        return int(ids[self._draw(weights, uniform)])

    def _enough(self, weights: npt.NDArray[np.float64]) -> bool:
        """Return whether these most probable tokens include all that may be chosen."""
        params = self._params
        return bool(
            0 < params.top_k <= len(weights)
            or weights.sum() >= params.top_p
            or weights[-1] < params.min_p * weights[0]
            or len(weights) == self._n_vocab
        )

    def _draw(self, weights: npt.NDArray[np.float64], uniform: float) -> int:
        """Return the index chosen among tokens in descending order of probability.

        First top-k, then top-p (the fewest tokens that reach it), then min-p; the rest is renormalised.
        """
        params = self._params
        n = len(weights) if params.top_k == 0 else min(params.top_k, len(weights))
        cumulated = np.cumsum(weights[:n])
        if params.top_p < 1.0:
            limit = params.top_p * (cumulated[-1] if params.top_k else 1.0)
            n = min(int(np.searchsorted(cumulated, limit)) + 1, n)
        if params.min_p > 0.0:
            n = min(n, int(np.count_nonzero(weights >= params.min_p * weights[0])))
        return min(int(np.searchsorted(cumulated[:n], uniform * cumulated[n - 1], side="right")), n - 1)


def with_exchanged(logits: Logits, one: int, other: int) -> Logits:
    """Return a row in which two tokens have exchanged their logits, and so their probabilities.

    >>> with_exchanged(np.array([3.0, 1.0, 2.0], dtype=np.float32), 0, 1).tolist()
    [1.0, 3.0, 2.0]
    """
    exchanged = logits.copy()
    exchanged[one], exchanged[other] = logits[other], logits[one]
    return exchanged


def _spread(gaps: Logits, weights: Logits, total: float, log_total: float) -> tuple[float, float]:
    """Return entropy and self-certainty, from the logits less the largest and their exponentials.

    Impossible tokens, with a logit of -inf or a sentinel, are left out. The exponentials are overwritten.
    """
    if not gaps.min() > SENTINEL:
        usable = gaps > SENTINEL
        gaps, weights = gaps[usable], weights[usable]
    n = len(gaps)
    if n < 2:
        return (0.0 if n else math.nan), math.nan
    # Sums in single precision: NumPy adds pairwise, and double precision would take three times as long.
    weighted = float(np.multiply(weights, gaps, out=weights).sum())
    entropy = min(max(log_total - weighted / total, 0.0), math.log(n))
    return entropy, max(log_total - float(gaps.sum()) / n - math.log(n), 0.0)
