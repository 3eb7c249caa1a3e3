"""The key by which two short answers are compared.

Markdown, case, quotes, articles, punctuation at the edges, "about" and a unit after a number do not count.
Numbers count as numbers (answers/numerals.py), dates as dates (answers/dates.py).
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from distrivote.answers.dates import date
from distrivote.answers.forms import normal_form
from distrivote.answers.numerals import numeral

EDGES = " \t\r\n*_`\"'“”„«»‘’()[]$"
_SIGNS = str.maketrans({"−": "-", "–": "-", "⁄": "/"})
_HEDGE = re.compile(
    r"(?:(?:about|approximately|approx|around|roughly|nearly|almost|exactly|precisely|ca|circa|etwa|ungefähr"
    r"|rund|genau|environ|exactement|aproximadamente|unos|unas|cerca de|около|примерно)\b\.?\s*+"
    r"|[≈~约約]\s*+|大约\s*+)",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?:city|town|country|stadt|ville|ciudad|città|cidade)\s(?:(?:of|von|de|di|do|da)\s|d'|(?=\w))"
)
ARTICLES = frozenset(
    [
        "a", "an", "the", "der", "die", "das", "den", "dem", "ein", "eine", "einen", "einem", "einer", "le",
        "la", "les", "l", "un", "une", "des", "el", "los", "las", "una", "il", "lo", "gli", "i", "o", "os",
        "as", "um", "uma", "de", "het",
    ]
)  # fmt: skip
_INITIAL = re.compile(r"\b([^\W\d_])\.\s?(?=[^\W\d_]\b)")
_RAISED = re.compile(r"(?<=[0-9])[⁻⁰¹²³⁴-⁹]+")


def folded(answer: str) -> Fraction | str:
    """Return the key by which a short answer is compared.

    >>> folded("**12 pears**"), folded("The Eiffel Tower."), folded("€1.250")
    (Fraction(12, 1), 'eiffel tower', Fraction(1250, 1))
    """
    raised = _RAISED.sub(lambda found: "^" + found[0], answer)
    text = unicodedata.normalize("NFKC", raised).translate(_SIGNS)
    text = text.strip(EDGES + ",;:!?。！？、").rstrip(".")
    hedge = _HEDGE.match(text)
    if hedge is not None and hedge.end() < len(text):
        text = text[hedge.end() :].strip(EDGES)
    value = numeral(text)
    if value is None and not text.isalpha():
        form = normal_form(text)
        value = form if isinstance(form, Fraction) else None
    if value is not None:
        return value
    day = date(text)
    if day is not None:
        return day
    initials = _INITIAL.sub(r"\1", text.casefold())
    words = re.sub(r"[^\w\s+\-./%°#]", " ", initials).split()
    while len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    plain = " ".join(word.strip(".-/") or word for word in words)
    return _PLACE.sub("", plain, count=1) if _PLACE.match(plain) else plain or text.casefold()
