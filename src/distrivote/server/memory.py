"""What the server has learned about the worth of a model's confidences, question by question.

Every vote leaves its lessons: how well each worth that confidences could have explains them. `auto` weighs
the next question with all of them. Nothing of the questions is kept, only these tables per model, and old
questions fade once there are many.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from distrivote.voting.ballot import Ballot
from distrivote.voting.kernels.pools import make_pools
from distrivote.voting.lessons import Lessons, learned
from distrivote.voting.pipeline import Electorate
from distrivote.voting.trust import Trust

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
        self._lessons: OrderedDict[str, Lessons] = OrderedDict()
        self._waiting: list[tuple[str, Ballot]] = []
        self._lock = Lock()

    def trust(self, name: str) -> Trust:
        """Return what is believed about a model; of an unknown one, what ships."""
        with self._lock:
            self._take_in()
            return self._lessons.get(name, Lessons()).trust()

    def learn(self, name: str, ballot: Ballot) -> None:
        """Take in the confidences of one question."""
        if not len(ballot.classes):
            return
        with self._lock:
            self._waiting.append((name, ballot))
            if len(self._waiting) >= _AT_ONCE:
                self._take_in()

    def _take_in(self) -> None:
        for name, ballot in self._waiting:
            pools = make_pools(ballot.classes[None], ballot.confidences[None], len(ballot.labels))
            known = self._lessons.get(name)
            found = learned(Electorate(pools).evidence, known)
            if found.n_questions == (known.n_questions if known is not None else 0):
                continue
            self._lessons[name] = found.faded(MOST_QUESTIONS)
            self._lessons.move_to_end(name)
            if len(self._lessons) > MOST_MODELS:
                self._lessons.popitem(last=False)
        self._waiting.clear()
