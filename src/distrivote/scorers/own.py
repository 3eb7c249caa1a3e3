"""A scorer in Python: a function (reply) -> number, or an object with `score_all(replies)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from distrivote.errors import DistrivoteError, OwnCodeError
from distrivote.names import SCORER, Own, called, check_call, misfit, raised
from distrivote.scorers.scorer import ANSWER, QUESTION, TEXT, Reply, Scored, number_of

N_TOGETHER = 64
"""How many replies an object gets at once."""


class OwnScorer:
    """Scores by a function or an object of the user."""

    reads = ("question_id", QUESTION, TEXT, ANSWER)
    needs = (TEXT,)
    settings: Mapping[str, Any] = {}

    def __init__(self, own: Own) -> None:
        self.name = own.name
        self.column = own.name.rpartition(":")[2].rpartition(".")[2]
        value = called(SCORER, own.name, own.value) if isinstance(own.value, type) else own.value
        self._all: Callable[[Sequence[Reply]], Any] | None = getattr(value, "score_all", None)
        self._one: Callable[[Reply], Any] | None = None
        if self._all is None:
            if not callable(value):
                raise misfit(SCORER, own)
            check_call(SCORER, own._replace(value=value), 1)
            self._one = value

    def score(self, replies: Sequence[Reply]) -> Iterator[Scored]:
        """Yield the scores in the order of the replies."""
        step = 1 if self._all is None else N_TOGETHER
        for first in range(0, len(replies), step):
            some = replies[first : first + step]
            for at, value in enumerate(self._values(some)):
                yield Scored(first + at, number_of(value, self.name, some[at]))

    def _values(self, replies: Sequence[Reply]) -> list[Any]:
        try:
            if self._one is not None:
                return [self._one(replies[0])]
            assert self._all is not None
            values = list(islice(self._all(replies), len(replies) + 1))  # an iterator may have no end
        except DistrivoteError:
            raise
        except Exception as error:  # a user's function may raise anything
            raise OwnCodeError(
                f"the scorer {self.name!r} raised {raised(error)}, at {replies[0].place}"
            ) from error
        if len(values) != len(replies):
            n = "more" if len(values) > len(replies) else f"{len(values)}"
            raise OwnCodeError(f"the scorer {self.name!r} gave {n} scores for {len(replies)} replies")
        return values
