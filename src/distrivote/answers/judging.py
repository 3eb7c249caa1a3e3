"""Judges as an equality: the model that was asked (`judge`), its server's embeddings (`embeddings`,
`embeddings:MODEL`), or a command (`command:CMD`).

A judge is not asked about answers that are the same by the rules of their kind. Its verdicts are cached, so
that a vote that is counted again asks only about new answers. A judge that fails is not asked again: answers
that it has not compared count as different, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from distrivote.answers.equality import Equality, Key, Same, Sorted, equality
from distrivote.answers.judge import CachedJudge, Judge, embedding_groups, judged
from distrivote.errors import EngineError, InputError
from distrivote.nouns import count, verb

MODEL = "judge"
"""The name of the judge that is the model itself."""

EMBEDDINGS = "embeddings"
"""The name of the grouping by a server's embeddings; after a colon, the model that makes them."""

COMMAND = "command:"

JudgeOf: TypeAlias = Callable[[str], Judge]
"""A question -> the judge of the answers to it."""

Embed: TypeAlias = Callable[[Sequence[str], str | None], Sequence[Sequence[float]]]
"""Texts, and the model if it was given -> a vector for each text."""


class Judging:
    """Sorts the answers to questions by the verdicts of a judge."""

    def __init__(self, judge_of: JudgeOf, key: Key | None = None) -> None:
        self._judge_of, self._key = judge_of, key
        self._judges: dict[str, tuple[_Patient, CachedJudge]] = {}

    def __call__(self, question: str, answers: Sequence[str]) -> Sorted:
        if question not in self._judges:
            patient = _Patient(self._judge_of(question))
            self._judges[question] = patient, CachedJudge(patient)
        patient, judge = self._judges[question]
        found = judged(answers, judge, self._key)
        patient.rest()
        notes = [f"the judge compared {count(judge.n_asked, 'pair')} of answers"] if judge.n_asked else []
        if found.n_unclear:
            do = verb(found.n_unclear, "count")
            notes.append(f"{count(found.n_unclear, 'pair')} without a clear verdict {do} as different")
        if patient.failure is not None:
            notes.append(f"the judge failed and was asked no more: {patient.failure}")
        return Sorted(found.ids, tuple(notes))


class _Patient:
    """A judge whose failure is not an error: after a failure all its verdicts are unclear."""

    def __init__(self, ask: Judge) -> None:
        self._ask = ask
        self.failure: EngineError | None = None

    def __call__(self, a: str, b: str, /) -> bool | None:
        if self.failure is not None:
            return None
        try:
            return self._ask(a, b)
        except EngineError as error:
            self.failure = error
            return None

    def rest(self) -> None:
        """Release the judge's resources until it is asked again."""
        close = getattr(self._ask, "close", None)
        if close is not None:
            close()


def judged_equality(name: str, judge_of: JudgeOf, base: Equality | None = None) -> Equality:
    """Return an equality by a judge, which compares answers whose keys by `base` differ.

    >>> from distrivote.answers.equivalence import classify
    >>> same = judged_equality("first letter", lambda _: lambda a, b: a[0] == b[0])
    >>> classify(["Paris", "Pa", "Rome"], same).ids
    (0, 0, 1)
    """
    return Equality(name, sort=Judging(judge_of, None if base is None else base.key))


def embedded_equality(name: str, embed: Embed, base: Equality) -> Equality:
    """Return an equality of texts by their embeddings; if the server fails, `base` is used."""
    model = name.partition(":")[2] or None

    def sort(question: str, answers: Sequence[str]) -> Sorted:
        try:
            vectors = embed(answers, model)
        except EngineError as error:
            note = f"the server gave no embeddings, so the texts were grouped by their words: {error}"
            found = base.sort(question, answers) if base.sort is not None else Sorted(range(len(answers)))
            return Sorted(found.ids, (*found.notes, note))
        return Sorted(embedding_groups(vectors, answers), (f"the texts were grouped by {name}",))

    return Equality(name, sort=sort)


def needs_engine(same: Same | None) -> bool:
    """Say whether an engine decides which answers are the same: a judge, or embeddings.

    >>> needs_engine("judge"), needs_engine("embeddings:bge-m3"), needs_engine("math")
    (True, True, False)
    """
    return isinstance(same, str) and (same == MODEL or uses_embeddings(same))


def uses_embeddings(same: Same | None) -> bool:
    """Say whether texts are grouped by embeddings."""
    return isinstance(same, str) and (same == EMBEDDINGS or same.startswith(f"{EMBEDDINGS}:"))


def asked_same(same: Same | None) -> Equality | None:
    """Return the equality that was asked for, which may be a command; None if an engine has to decide.

    Only the user who starts the program may name a command: a server's requests go through `equality`.
    """
    if same is None or needs_engine(same):
        return None
    if not isinstance(same, str) or not same.startswith(COMMAND):
        return equality(same)
    from distrivote.answers.judgecommand import checked_command, command_judge

    command = checked_command(same.removeprefix(COMMAND))
    return judged_equality(same, lambda question: command_judge(command, question))


def no_model() -> InputError:
    """Return the error for a missing model that could decide."""
    return InputError(
        "there is no model here that could decide whether answers are the same",
        hint="ask one, or give `same` as command:CMD",
        argument="same",
    )
