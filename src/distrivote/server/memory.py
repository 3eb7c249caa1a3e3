"""What the server has learned about the worth of a model's confidences, question by question.

Every vote leaves a little: how well each separation explains its confidences. `auto` weighs the next
question with it. Nothing of the questions is kept, only a belief per model, and old questions fade once
there are many.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from threading import Lock

import numpy as np

from distrivote.voting.ballot import Ballot
from distrivote.voting.kernels.pools import FloatArray, make_pools
from distrivote.voting.pipeline import Electorate
from distrivote.voting.trust import Trust, learned, likelihoods

MOST_QUESTIONS = 256
"""A belief counts as no more questions than this, so that it can still change."""

MOST_MODELS = 64

_AT_ONCE = 32
"""Questions that may wait to be taken in."""


class Memory:
    """A belief per model; safe to use from several threads.

    Questions are taken in several at a time, and before the belief is asked for: it costs the same for one
    as for all of them.
    """

    def __init__(self) -> None:
        self._trusts: OrderedDict[str, Trust] = OrderedDict()
        self._waiting: list[tuple[str, Ballot]] = []
        self._lock = Lock()

    def trust(self, name: str) -> Trust:
        """Return what is believed about a model; of an unknown one, what ships."""
        with self._lock:
            self._take_in()
            return self._trusts.get(name, Trust())

    def learn(self, name: str, ballot: Ballot) -> None:
        """Take in the confidences of one question."""
        if not len(ballot.classes):
            return
        with self._lock:
            self._waiting.append((name, ballot))
            if len(self._waiting) >= _AT_ONCE:
                self._take_in()

    def _take_in(self) -> None:
        told: dict[str, list[FloatArray]] = {}
        for name, ballot in self._waiting:
            told.setdefault(name, []).append(_told(ballot))
        self._waiting.clear()
        for name, rows in told.items():
            likely = np.concatenate(rows)
            if not len(likely):
                continue
            found = learned(likely, self._trusts.get(name))
            self._trusts[name] = replace(found, n_questions=min(found.n_questions, MOST_QUESTIONS))
            self._trusts.move_to_end(name)
            if len(self._trusts) > MOST_MODELS:
                self._trusts.popitem(last=False)


def _told(ballot: Ballot) -> FloatArray:
    pools = make_pools(ballot.classes[None], ballot.confidences[None], len(ballot.labels))
    return likelihoods(Electorate(pools).evidence)
