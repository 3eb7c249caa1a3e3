"""One request as an engine that owns sampling would steer it: the slow twin of the plugin's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from distrivote.confidence import token_confidence, token_entropy
from distrivote.engines.tokens.tables import TokenTable
from distrivote.steering import SelfStepConf


class Twin:
    def __init__(
        self, controller: SelfStepConf | None, table: TokenTable, cut: Callable[[str, str], Sequence[int]]
    ) -> None:
        self.controller = controller
        self.tokens: list[int] = []
        self.due: list[int] = []
        self.n_forced = 0
        self._stream = None if controller is None else controller.start()
        self._table = table
        self._cut = cut

    def sampled(self, token: int, logits: np.ndarray) -> None:
        """Take a token and what the model said there; it must be the one that is due, if one is."""
        self.tokens.append(token)
        if self._stream is None or self.controller is None:
            return
        logits = logits.astype(np.float64)
        logprobs = np.sort(logits - np.logaddexp.reduce(logits))[None, -20:]
        confidence = float(token_confidence(logprobs).values[0])
        text = self._table.pieces[token].decode("utf-8", "replace")
        if self.due:
            assert token == self.due.pop(0)
            self.n_forced += 1
            self._stream.push_injected(text, confidence)
        elif self._stream.push(text, confidence, float(token_entropy(logprobs).values[0])) is not None:
            self.due = list(self._cut(self._table.context(self.tokens), self.controller.reflection))
