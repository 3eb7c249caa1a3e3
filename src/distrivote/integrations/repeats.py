"""The repeats of one question, as other people's evaluation programs hand them over -> a tally.

Such a program calls at the end of a run that may have taken days. So a vote that can't be held for want
of confidences is not an error here: majority voting decides instead, and a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from distrivote.answers.equality import Equality
from distrivote.answers.equivalence import classify
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
    (['0.5', '0.5', '7'], '0.5', 'sc')
    >>> tally.notes
    ('1 of 3 answers came without a confidence, so majority voting decides.',)
    """
    classes = classify(answers, same)
    notes = [*notes, *classes.remarks.notes]
    n_answered = sum(i >= 0 for i in classes.ids)
    pairs = zip(classes.ids, confidences, strict=True)
    n_silent = sum(i >= 0 and (confidence is None or confidence != confidence) for i, confidence in pairs)
    if method.needs_confidence and n_silent:
        said = "answers came" if n_answered > 1 else "answer came"
        note = f"{n_silent} of {n_answered} {said} without a confidence, so majority voting decides."
        tally = vote(Ballot.of(classes.answers, notes=[*notes, note]), method="sc")
    else:
        tally = vote(Ballot.of(classes.answers, confidences, notes), method=method)
    return Voted(tally, classes.answers)
