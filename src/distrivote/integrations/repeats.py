"""The repeats of one question, as other people's evaluation programs hand them over -> a tally.

Such a program calls at the end of a run that may have taken days. So answers without a confidence are no
error: what `vote` makes of them is in the tally, with a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from distrivote.answers.equality import Equality
from distrivote.voting.ballot import Ballot, Tally
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.vote import vote


class Voted(NamedTuple):
    """What a vote made of the repeats."""

    tally: Tally
    answers: list[str | None]
    """Each repeat's answer under its class's label, so that those for the winner can be told."""


def vote_on(
    answers: Sequence[str | None],
    confidences: Sequence[float | None],
    method: Pipeline,
    *,
    same: str | Equality | None = None,
    notes: Sequence[str] = (),
) -> Voted:
    """Vote on answers; `same` says when two of them are one, by mathematics if nothing is said.

    None is no answer and no confidence.

    >>> from distrivote.voting.methods import parse_method
    >>> tally, answers = vote_on(["0.5", "1/2", "7"], [9.0, None, 8.0], parse_method("dis-gmm"))
    >>> answers, tally.answer, tally.method
    (['0.5', '0.5', '7'], '0.5', 'dis-gmm')
    >>> tally.notes[0]
    '1 of 3 answers has no confidence: it counts in the majority only.'
    """
    ballot = Ballot.from_answers(answers, confidences, same=same, notes=notes)
    given = [None if number < 0 else str(ballot.labels[number]) for number in ballot.classes.tolist()]
    return Voted(vote(ballot, method=method), given)
