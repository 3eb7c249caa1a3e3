"""Which kind of answer replies have, if neither the caller nor the question determines it: `auto`.

The first rule that holds for the replies that were not cut off (for all, if all were) decides:

    marked   three quarters mark an answer (a box, "the answer is", "####")             -> math
    JSON     half are JSON, or have a fenced block of it                                -> json
    code     half have a program, and the question does not ask for an explanation      -> code
    short    half state something short, and the question does not ask for a text       -> short
    else                                                                                -> text

A question that asks for a text ("Write a haiku", "Explain ...") has short answers only if half of the replies
are one short line. Words that only repeat the question ("Love is ...") are not a statement, unless the
question names its answers ("France or Brazil?"). Of four or more replies (of two, if the question asks for a
text) two must state the same: else the apparent statements are the ends of texts that have nothing in common.
The order of the replies makes no difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from distrivote.answers.code.program import program_in
from distrivote.answers.extract import extractor, reply_start
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.programs import CODE
from distrivote.answers.kinds.prose import TEXT
from distrivote.answers.kinds.structures import JSON
from distrivote.answers.kinds.values import MATH, SHORT
from distrivote.answers.short import folded, short
from distrivote.answers.structured.find import find_json
from distrivote.prompts import names_answers, wants_explanation, wants_text

_FEW_WORDS = 12
_WORD = re.compile(r"[^\W_]+")
_MARK = re.compile(r"\\boxed|####|\banswer\b|\bantwort\b|\bréponse\b|\brespuesta\b|答案", re.IGNORECASE)


class Look(NamedTuple):
    """What one reply looks like."""

    is_cut: bool
    marked: bool
    json: bool
    code: bool
    statement: object
    """The short answer that it states, as its comparison key; None if there is none."""

    is_line: bool
    """Whether it is one short line."""


def look_of(text: str, *, is_cut: bool) -> Look:
    """Return what a reply looks like."""
    found_json = find_json(text)
    is_json = found_json.extraction is not None and isinstance(found_json.value, dict | list)
    reply = text[reply_start(text) :].strip()
    has_code = (
        not is_json and ("```" in reply or "~~~" in reply or "def " in reply) and program_in(text) is not None
    )
    is_marked = _MARK.search(reply) is not None and extractor("auto")(text) is not None
    stated = None if is_json or has_code else short(text)
    is_line = "\n" not in reply and len(reply.split()) <= _FEW_WORDS
    return Look(
        is_cut, is_marked, is_json, has_code, None if stated is None else folded(stated.answer), is_line
    )


def kind_of_replies(question: str, looks: Sequence[Look]) -> Kind:
    """Return the kind that replies to a question look like; text if there are none.

    >>> replies = ["Tom has **12** pears.", "5 + 7 = 12", "He has 12 pears."]
    >>> kind_of_replies("How many?", [look_of(each, is_cut=False) for each in replies]).name
    'short'
    """
    whole = [look for look in looks if not look.is_cut] or list(looks)
    n = len(whole)
    if not n:
        return TEXT
    if 4 * sum(look.marked for look in whole) >= 3 * n:
        return MATH
    if 2 * sum(look.json for look in whole) >= n:
        return JSON
    if 2 * sum(look.code for look in whole) >= n and not wants_explanation(question):
        return CODE
    is_for_text = wants_text(question)
    if is_for_text and 2 * sum(look.is_line for look in whole) < n:
        return TEXT
    asked = () if names_answers(question) else set(_WORD.findall(question.casefold()))
    stated = Counter(
        look.statement for look in whole if look.statement is not None and not _repeats(look.statement, asked)
    )
    if 2 * stated.total() >= n and (n < (2 if is_for_text else 4) or max(stated.values()) > 1):
        return SHORT
    return TEXT


def _repeats(statement: object, asked: Collection[str]) -> bool:
    """Say whether a statement has only words of the question."""
    if not asked or not isinstance(statement, str):
        return False
    words = _WORD.findall(statement)
    return bool(words) and all(word in asked for word in words)
