"""Kinds whose answer is a value: a number, a formula, an option, a label, a short statement.

boxed    the last complete \\boxed{...} and nothing else, as the paper reads replies
math     the same; in a reply without a box, the value that it states in chat style
number   the number that a reply states, else its last one
choice   the letter of an option
short    what a chat reply states: marked, bold, or the value of its last sentence
label    one of a given set of words
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from distrivote.answers.equality import NAMED, Equality
from distrivote.answers.extract import Extraction, boxed, choice, number, reply_start
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.labels import find_label, labels_of
from distrivote.answers.short import folded, short
from distrivote.prompts import options_of

_MATHEMATICS = re.compile(r"[0-9\\=^∞π√]")
"""A number or a formula has one of these; words without a box are not mathematics."""


def math_answer(text: str) -> Extraction | None:
    """Return the boxed answer, else the value that a reply states in chat style.

    >>> math_answer("So Tom has **12 pears**.").answer, math_answer("I can't tell!") is None
    ('12', True)
    """
    found = boxed(text)
    if found is not None or "\\boxed" in text:  # a box that is not closed was cut off
        return found
    found = _as_number(short(text))
    return found if found is not None and _MATHEMATICS.search(found.answer) else None


def stated_number(text: str) -> Extraction | None:
    """Return the number that a reply states, else its last number.

    >>> stated_number("The answer is 7 pears. It took 2 steps, and that is all.").answer
    '7'
    """
    found = _as_number(boxed(text) or short(text))
    if found is not None and isinstance(folded(found.answer), Fraction):
        return found
    start = reply_start(text)  # the last number in the thinking is not an answer
    last = number(text[start:])
    return None if last is None else Extraction(last.answer, start + last.end)


def _as_number(found: Extraction | None) -> Extraction | None:
    """Return a number without the unit after it; any other answer unchanged."""
    if found is None or not isinstance(folded(found.answer), Fraction):
        return found
    inside = number(found.answer)
    return found if inside is None else Extraction(inside.answer, found.end)


def choice_kind(question: str) -> Kind:
    """Return the kind whose answers are the options of a question, by letter or by what the option says.

    >>> find = choice_kind("The largest planet? A) Mars B) Jupiter").find
    >>> find("The answer is (B).").answer, find("It is **Jupiter**.").answer, find("The answer is D.")
    ('B', 'B', None)
    """
    options = options_of(question)
    if not options:
        return CHOICE
    letters = {folded(text): letter for letter, text in options.items()}
    letters |= {folded(letter): letter for letter in options}  # stated in a language other than English

    def find(text: str) -> Extraction | None:
        found = choice(text)
        if found is not None:
            return found if found.answer in options else None
        said = short(text)
        letter = None if said is None else letters.get(folded(said.answer))
        return None if said is None or letter is None else Extraction(letter, said.end)

    return replace(CHOICE, find=find)


def label_kind(spec: str) -> Kind:
    """Return the kind of `label:a,b,c`: one of a set of labels.

    >>> label_kind("label:positive,negative").title
    'one of positive, negative'
    """
    labels = labels_of(spec)
    same = Equality("label", key=str.casefold)
    return Kind(spec, lambda text: find_label(text, labels), same, f"one of {', '.join(labels)}")


BOXED = Kind("boxed", boxed, NAMED["math"], "boxed answer", reads_thinking=True)
MATH = Kind("math", math_answer, NAMED["math"], "number or formula")
NUMBER = Kind("number", stated_number, NAMED["math"], "number")
CHOICE = Kind("choice", choice, NAMED["choice"], "choice")
SHORT = Kind("short", short, NAMED["short"], "short answer")
