"""What the server has learned about how far the confidences of each model can be trusted.

Every vote adds to a table per model: how well each possible trust explains the confidences of the question.
`auto` uses the table for the next question. Nothing else of a question is kept, and old questions lose
weight once there are many.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from distrivote.voting.ballot import Ballot
from distrivote.voting.electorate import Electorate
from distrivote.voting.kernels.pools import make_pools
from distrivote.voting.lessons import Lessons, learned
from distrivote.voting.trust import Trust

MOST_QUESTIONS = 256
"""A model's table counts as at most this number of questions, so that it can still change."""

MOST_MODELS = 64

_GROUP = 32
"""Questions that are collected before they are added."""


class ModelTrust:
    """The learned trust of each model; safe to use from several threads.

    Questions are added in groups, and before the trust is read: a group costs as much as one question.
    """

    def __init__(self) -> None:
        self._lessons: OrderedDict[str, Lessons] = OrderedDict()
        self._waiting: list[tuple[str, Ballot]] = []
        self._lock = Lock()

    def trust(self, name: str) -> Trust:
        """Return the trust of a model; the default for an unknown one."""
        with self._lock:
            self._add_waiting()
            return self._lessons.get(name, Lessons()).trust()

    def learn(self, name: str, ballot: Ballot) -> None:
        """Add the confidences of one question."""
        if not len(ballot.classes):
            return
        with self._lock:
            self._waiting.append((name, ballot))
            if len(self._waiting) >= _GROUP:
                self._add_waiting()

    def _add_waiting(self) -> None:
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
