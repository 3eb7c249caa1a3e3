"""Kinds of answers by name, the same in Python, the CLI and the server.

auto          by the question, else by what the replies look like (answers/kinds/looks.py)
math          a number or formula: boxed, or as a chat reply states it
boxed         a boxed answer only, as the paper reads replies
number        the number that a reply states
choice        the letter of an option
short         what a chat reply states: a name, a date, a number, a few words
label:a,b,c   one of these labels
json          the JSON of a reply, as a whole; json:fields votes on each field by itself
tool          the tool calls of a reply
code          a program; compared by behaviour only where programs may be run
text          the whole reply
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from distrivote.answers.equality import NAMED, equality
from distrivote.answers.extract import Extraction, Extractor, extractor
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.programs import CODE
from distrivote.answers.kinds.prose import TEXT
from distrivote.answers.kinds.structures import JSON, JSON_BY_FIELD, TOOL
from distrivote.answers.kinds.values import BOXED, CHOICE, MATH, NUMBER, SHORT, label_kind
from distrivote.defaults import ANSWER
from distrivote.errors import InputError
from distrivote.names import ANSWER as ROLE
from distrivote.names import Own, called, check_call, found, guarded_whole, is_ours, misgiven, own_of, unknown

KINDS = {
    kind.name: kind for kind in (MATH, BOXED, NUMBER, CHOICE, SHORT, JSON, JSON_BY_FIELD, TOOL, CODE, TEXT)
}

_LABEL = "label"


def kind_named(name: str) -> Kind:
    """Return the kind of that name; `auto` is not a kind: a question or its replies resolve it.

    >>> kind_named("short").title, kind_named("label:yes,no").name
    ('short answer', 'label:yes,no')
    """
    if name == _LABEL or name.startswith(f"{_LABEL}:"):
        return label_kind(name)
    if name in KINDS:
        return KINDS[name]
    known = (ANSWER, *KINDS, "label:A,B")
    own = found(ROLE, name, known)
    if own is None:
        raise unknown(ROLE, name, known)
    return _own_kind(own)


OwnAnswer: TypeAlias = Callable[[str], Any]
"""A user's function: a reply -> its answer as text, an `Extraction`, or None."""


def asked_kind(answer: str | Kind | OwnAnswer) -> Kind | None:
    """Return the kind that was asked for, None for `auto`; InputError for anything else."""
    if isinstance(answer, Kind):
        return _whole_kind(answer)
    if callable(answer):
        return _own_kind(own_of(ROLE, answer))
    if not isinstance(answer, str):
        raise InputError(
            f"answer is {answer!r}",
            hint=f"give one of auto, {', '.join(KINDS)}, a function (text) -> answer or None, or a Kind",
            argument="answer",
        )
    return None if answer == ANSWER else kind_named(answer)


def _own_kind(own: Own) -> Kind:
    """Return the kind of a user's object; answers that a function finds are compared as mathematics."""
    if isinstance(own.value, Kind):
        return _whole_kind(replace(own.value, name=own.name))
    check_call(ROLE, own, 1)
    return Kind(own.name, _finder(own), NAMED["math"], f"found by {own.name}")


def _whole_kind(kind: Kind) -> Kind:
    """Return a kind with the user's functions in it guarded; one of the library's own is returned itself."""
    if not is_ours(kind.find):
        kind = replace(kind, find=_finder(Own(kind.name, kind.find)))
    kind, same = guarded_whole(ROLE, kind.name, kind), equality(kind.same)
    return kind if same is kind.same else replace(kind, same=same)


def _finder(own: Own) -> Extractor:
    def find(text: str) -> Extraction | str | None:
        answer: Any = called(ROLE, own.name, own.value, text)
        if answer is None or isinstance(answer, str | Extraction):
            return answer
        raise misgiven(ROLE, own, f"returned {str(answer)[:60]}")

    return extractor(find)
