"""What a scorer reads and gives."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from distrivote.confidence.trajectories import LARGEST, SMALLEST
from distrivote.errors import EngineError
from distrivote.voting.scales import permitted

QUESTION, TEXT, ANSWER = "question", "text", "answer"


@dataclass(frozen=True, slots=True)
class Reply:
    """A trajectory of a run, as a scorer sees it."""

    question_id: str
    trajectory: int
    """Its number among those of its question."""

    question: str | None
    """None if the run does not hold the texts of questions."""

    text: str | None
    answer: str | None
    """None if it has none."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON values, as a command reads it."""
        return {name: getattr(self, name) for name in self.__slots__}

    def key(self, fields: Sequence[str]) -> bytes:
        """Return a digest of some of its fields: a scorer that reads only these gives the same again."""
        content = json.dumps([getattr(self, name) for name in fields])
        return hashlib.blake2b(content.encode(), digest_size=16).digest()

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"sample {self.trajectory} of question {self.question_id!r}"


class Scored(NamedTuple):
    """One score."""

    number: int
    """The index of the reply."""

    score: float | None
    """Higher is better, any finite number; None if there is none."""

    n_tokens: int = 0
    """How many tokens of a model it took."""


class Scorer(Protocol):
    """Scores replies."""

    @property
    def name(self) -> str:
        """The name by which it can be found again."""
        ...

    @property
    def column(self) -> str:
        """The usual name of its column."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields of a reply that decide its score."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Those of them that may not be missing."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else decides the scores, for the record."""
        ...

    def score(self, replies: Sequence[Reply]) -> Iterator[Scored]:
        """Yield the score of each reply, in any order, as soon as it is known."""
        ...


def number_of(value: Any, scorer: str, reply: Reply) -> float | None:
    """Return what a scorer gave as a number, None for nothing; EngineError if it is neither.

    What is nearer to 0 than votes take is 0, as of a probability that underflows; beyond them it is an error.
    """
    if value is None:
        return None
    try:
        # float() would accept "1_000".
        number = math.inf if isinstance(value, str) and "_" in value else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if abs(number) < SMALLEST:
        return 0.0
    if math.isnan(number):
        return None
    if not permitted(number, False):
        why = "which is not a finite number" if math.isinf(number) else f"which is beyond {LARGEST:g}"
        raise EngineError(f"the scorer {scorer} gave {_shown(value)} for {reply.place}, {why}")
    return number


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 200:  # Python writes no number of very many digits
        return f"a number of {value.bit_length():,} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
