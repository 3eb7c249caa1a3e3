"""The value that a part of a reply states (a marked span, a sentence, a clause), for `short`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from distrivote.answers.extract import Extraction
from distrivote.answers.folding import ARTICLES, EDGES
from distrivote.answers.numerals import SPELLED
from distrivote.answers.phrases import (
    AMOUNT,
    AMOUNTS,
    AND_AMOUNT,
    APPOSITION,
    ASIDE,
    BESIDE,
    BOLD,
    CONNECTIVE,
    COPULA,
    DEFINITE,
    DESCRIBING,
    EQUALS,
    JOINED,
    MADE_BY,
    POLITE,
    PRONOUN,
    STOP,
    THE,
)

LONGEST = 120
"""The maximum length of an answer in characters; a longer span is prose and not a short answer."""

LONG_SENTENCE = 400


def clause_value(text: str, start: int, end: int) -> Extraction | None:
    """Return the value of a marked span, which may be a sentence: "Answer: Tom has 12 pears."."""
    value = stretch_value(text, start, end)
    if value is None:
        return None
    begin = value.end - len(value.answer)
    amounts = [match.start() for match in AMOUNTS.finditer(text, begin, value.end)]
    label = text.rfind(": ", begin, amounts[0]) if amounts else -1
    if label >= 0 and not text[label + 2 : amounts[0]].strip(EDGES):  # "Total: $12"
        return stretch_value(text, label + 2, value.end)
    if value.answer.count(" ") < 3 or (len(amounts) > 1 and amounts[0] == begin):  # "2 hours and 30 minutes"
        return value
    return sentence_value(text, begin, value.end) or value


def sentence_value(text: str, start: int, end: int, numbers_only: bool = False) -> Extraction | None:
    if end - start > LONG_SENTENCE:
        return None
    equals = EQUALS.search(text[start:end].rstrip(" .*$\\])"))
    if equals is not None:
        return clause_value(text, start + equals.start(1), start + equals.end(1))
    made = MADE_BY.search(text, start, end)
    if made is not None:
        by = re.compile(r"\s(?:in|im)\s(?=[0-9])").search(text, made.end(), end)
        return stretch_value(text, made.end(), end if by is None else by.start())
    aside = ASIDE.search(text, start, end)
    number = _number(text, start, end if aside is None else aside.start())
    if number is not None or numbers_only:
        return number
    named = named_value(text, start, end)
    if named is not None:
        return named
    spelled = _last(SPELLED.finditer(text, start, end if aside is None else aside.start()))
    return None if spelled is None else Extraction(spelled[0], spelled.end())


def _number(text: str, start: int, end: int) -> Extraction | None:
    """Return the number that a sentence states as a value, else its last number outside brackets."""
    copula = _last(COPULA.finditer(text, start, end))
    stated = None if copula is None else AMOUNT.match(text, copula.end(), end)
    if stated is not None:
        return Extraction(stated[1].strip(), stated.end(1))
    last, beside = None, None
    for number in AMOUNTS.finditer(text, start, end):
        opened = text.rfind("(", start, number.start())
        opened = -1 if text[opened - 1 : opened] == "\\" else opened  # \(12\) is a formula
        closed = text.rfind(")", start, number.start()) > opened
        if not (opened < 0 or closed or not text[start:opened].strip(EDGES)):
            continue
        if BESIDE.search(text[max(start, number.start() - 16) : number.start()]):
            beside = number
        else:
            last = number
    last = last or beside
    if last is None:
        return None
    joined = AND_AMOUNT.search(text[max(start, last.start() - 24) : last.start()])
    if joined is None:
        return Extraction(last[0].strip(), last.end())
    unit = re.compile(r"\s[^\W\d_]+").match(text, last.end(), end)  # 2 hours and 30 minutes
    stop = last.end() if unit is None else unit.end()
    return Extraction(text[last.start() - len(joined[0]) : stop], stop)


def named_value(text: str, start: int, end: int) -> Extraction | None:
    """Return what a sentence states as a value; if it has a name and a description, the name."""
    copula = _last(COPULA.finditer(text, start, end))
    if copula is None:
        return None
    value = stretch_value(text, copula.end(), end)
    subject = stretch_value(text, start, copula.start())
    if value is not None and subject is not None and not PRONOUN.fullmatch(subject.answer):
        described = text[copula.end() : end].strip(EDGES)
        about = text[start : copula.start()].strip(EDGES)
        is_name = about[:1].isupper() and not DEFINITE.match(about) and THE.match(described)
        if (is_name or _describes(described)) and not _describes(about):
            return subject if len(subject.answer.split()) <= 4 else None
    return value if value is not None and len(text[copula.end() : value.end].split()) <= 5 else None


def _describes(phrase: str) -> bool:
    if re.match(r"[^\W\d_]+['’]s?\s[^\W\d_]", phrase):  # Germany's capital
        return True
    is_han = re.match(r"[\u3040-\u9fff]", phrase) is not None
    place = re.match(r"(?:the |la )?(?:city|town|ville|ciudad) (?:of|de)\b", phrase, re.IGNORECASE)
    return not place and bool((is_han or DEFINITE.match(phrase)) and DESCRIBING.search(phrase))


def stretch_value(text: str, start: int, end: int) -> Extraction | None:
    """Return a span without markup at its edges and without a second sentence, None if it is not a value."""
    while start < end and text[start] in EDGES + ":：":
        start += 1
    for stop in STOP.finditer(text, start, end):
        if text[start : stop.start()].strip(EDGES):
            end = stop.start()
            break
    comma = APPOSITION.search(text, start, end)
    if comma is not None and not JOINED.search(text, start, end):
        after = text[comma.end() : end]
        is_name = text[start].isupper() and after[:1].isupper() and not CONNECTIVE.match(text, start)
        if is_name or re.split(r"[\s'’]", after, maxsplit=1)[0].casefold() in ARTICLES:
            end = comma.start()
    while end > start and text[end - 1] in EDGES + ".,;:!，、":
        end -= 1
    answer = BOLD.sub(lambda m: m[1] or m[2], text[start:end]).strip(EDGES)
    polite = POLITE.search(answer)
    if polite is not None and polite.start():
        end -= len(polite[0])
        answer = answer[: polite.start()].strip(EDGES)
    if not answer or len(answer) > LONGEST or not re.search(r"\w|[^\x00-\x7f\s]", answer):
        return None
    return Extraction(answer, end)


def _last(matches: Iterable[re.Match[str]]) -> re.Match[str] | None:
    found = None
    for match in matches:
        found = match
    return found
