"""The repeats of one question, as other evaluation programs pass them -> a tally.

Such a program calls at the end of a run that may have taken days. So answers without a confidence are not an
error: the tally holds the result of `vote` and a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from distrivote.answers.equality import Equality
from distrivote.voting.ballot import Ballot
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.tally import Tally
from distrivote.voting.vote import vote


class Voted(NamedTuple):
    """The result of a vote over the repeats."""

    tally: Tally
    answers: list[str | None]
    """The label of each repeat's class, which identifies the repeats that gave the winner."""

    ballot: Ballot


def vote_on(
    answers: Sequence[str | None],
    confidences: Sequence[float | None],
    method: Pipeline,
    *,
    same: str | Equality | None = None,
    notes: Sequence[str] = (),
) -> Voted:
    """Vote on answers; `same` says when two of them are equal, by default math.

    None is a missing answer or confidence.

    >>> from distrivote.voting.methods import parse_method
    >>> tally, answers, _ = vote_on(["0.5", "1/2", "7"], [9.0, None, 8.0], parse_method("dis-gmm"))
    >>> answers, tally.answer, tally.method
    (['0.5', '0.5', '7'], '0.5', 'dis-gmm')
    >>> tally.notes[0]
    '1 of 3 answers has no confidence: it counts in the majority only.'
    """
    ballot = Ballot.from_answers(answers, confidences, same=same, notes=notes)
    given = [None if number < 0 else str(ballot.labels[number]) for number in ballot.classes.tolist()]
    return Voted(vote(ballot, method=method), given, ballot)
