"""Which answers are the same according to a judge that compares two at a time.

The judge may be a model (`prompt_for`, `verdict_of`), a command (answers/judgecommand.py) or a function. Of n
different answers each is compared with one representative of each class, the largest classes first, until the
judge says yes, and with at most log2(n) + 1 of them: n log2(n) + n questions at most. The judge is never
asked twice about the same pair, always sees a pair in the same order, and the result is always a partition. A
verdict that is neither yes nor no is counted, and the two answers are taken as different.

`embedding_groups` is for texts, by vectors from a server. It never joins texts with different numbers,
because embeddings hardly distinguish 1914 and 1915.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from distrivote.answers.extract import reply_start
from distrivote.answers.numerals import numbers_in
from distrivote.errors import InputError
from distrivote.problem import Message


class Judge(Protocol):
    """Says whether two answers are the same, None for an unclear verdict."""

    def __call__(self, a: str, b: str, /) -> bool | None: ...


class Judged(NamedTuple):
    """A partition of answers by a judge."""

    ids: tuple[int, ...]
    """The class of each answer, -1 for no answer; numbered in the order of first occurrence."""

    n_asked: int
    """How many questions the judge was asked for this partition."""

    n_unclear: int
    """How many comparisons the judge answered with neither yes nor no."""


class CachedJudge:
    """A judge with a cache: it is asked once about every pair, always in the same order."""

    def __init__(self, ask: Judge) -> None:
        self._ask = ask
        self._said: dict[tuple[str, str], bool | None] = {}
        self.n_asked = 0

    def __call__(self, a: str, b: str, /) -> bool | None:
        pair = (a, b) if _canonical(a) <= _canonical(b) else (b, a)
        if pair not in self._said:
            self.n_asked += 1
            self._said[pair] = self._ask(*pair)
        return self._said[pair]


def judged(answers: Sequence[str | None], ask: Judge, key: Callable[[str], Hashable] | None = None) -> Judged:
    """Sort answers into classes by a judge's verdicts; None and blank answers belong to no class.

    Answers with the same `key` are the same without a question. Pass a CachedJudge to keep its verdicts for
    the next call.

    >>> judged(["Paris", "It is Paris", "Rome", None], lambda a, b: ("Paris" in a) == ("Paris" in b)).ids
    (0, 0, 1, -1)
    """
    judge = ask if isinstance(ask, CachedJudge) else CachedJudge(ask)
    before, n_unclear = judge.n_asked, 0
    forms = [None if answer is None else answer.strip() or None for answer in answers]
    counts = Counter(form for form in forms if form is not None)
    kinds: dict[Hashable, list[str]] = {}
    for form in sorted(counts, key=lambda form: (-counts[form], _canonical(form))):
        kinds.setdefault(form if key is None else key(form), []).append(form)
    sizes = {mark: sum(counts[form] for form in same) for mark, same in kinds.items()}
    most = math.floor(math.log2(len(kinds))) + 1 if kinds else 0
    classes: list[list[Hashable]] = []
    for mark in sorted(kinds, key=lambda mark: (-sizes[mark], _canonical(kinds[mark][0]))):
        ranked = sorted(classes, key=lambda one: -sum(sizes[each] for each in one))
        for one in ranked[:most]:
            verdict = judge(kinds[one[0]][0], kinds[mark][0])
            n_unclear += verdict is None
            if verdict:
                one.append(mark)
                break
        else:
            classes.append([mark])
    group_of = {form: at for at, one in enumerate(classes) for mark in one for form in kinds[mark]}
    numbers: dict[int, int] = {}
    ids = tuple(-1 if f is None else numbers.setdefault(group_of[f], len(numbers)) for f in forms)
    return Judged(ids, judge.n_asked - before, n_unclear)


_LONGEST = 4_000
"""The number of characters of an answer that a model is shown; the middle of a longer answer is left out."""

_PROMPT = """{question}Answer 1:
{a}

Answer 2:
{b}

Do both answers say the same? Wording, format and detail do not matter; a different number, name, date or \
conclusion does. Reply with one word, yes or no."""

_WORD = re.compile(
    r"[\W_]*(?:(yes|true|1|ja|oui|sí|sim|да|是的?|same|equivalent|identical)"
    r"|(no|false|0|nein|non|não|нет|不是?|否|different))(?![^\W_]|['’])",
    re.IGNORECASE,
)
_DIFFERENT = re.compile(r"\b(?:not (?:say |mean )?the same|not equivalent|differ(?:s|ent)?)\b", re.IGNORECASE)
_SAME = re.compile(r"\b(?:the same|equivalent|identical)\b", re.IGNORECASE)
_LAST = re.compile(r"(?:answer|verdict)[\s*_]{0,3}(?:is|:)[\s*_]{0,3}(?:(yes)|(no))\b", re.IGNORECASE)


def prompt_for(question: str, a: str, b: str) -> tuple[Message, ...]:
    """Return the prompt that asks a model about two answers to a question.

    >>> print(prompt_for("2 + 2?", "4", "four")[0].content.splitlines()[0])
    Two answers to this question: 2 + 2?
    """
    put = f"Two answers to this question: {_shown(question)}\n\n" if question.strip() else ""
    return (Message("user", _PROMPT.format(question=put, a=_shown(a), b=_shown(b))),)


def verdict_of(reply: str) -> bool | None:
    """Return the verdict in a judge's reply, None if it is neither yes nor no.

    >>> [verdict_of(text) for text in ("Yes.", "**no**, they differ", "They are the same.", "Perhaps")]
    [True, False, True, None]
    """
    text = reply[reply_start(reply) :].strip()
    found = _WORD.match(text) or _LAST.search(text)
    if found is not None:
        return found[1] is not None
    if _DIFFERENT.search(text):
        return False
    return True if _SAME.search(text) else None


def embedding_groups(
    vectors: npt.ArrayLike, texts: Sequence[str], threshold: float = 0.85
) -> tuple[int, ...]:
    """Return the class of each text by its vector, numbered in the order of first occurrence.

    Frequent texts come first. A text joins the class whose first text is nearest to it, if it names the same
    numbers and their cosine is at least `threshold`; else it begins a class. Equal texts have one class.

    >>> embedding_groups([[1, 0], [1, 0.1], [1, 0.1]], ["in 1914", "in the year 1914", "in 1915"])
    (0, 0, 1)
    """
    if not texts:
        return ()
    table = np.asarray(vectors, np.float64)
    if table.ndim != 2 or len(table) != len(texts):
        raise InputError(f"{len(texts)} texts have embeddings of shape {table.shape}, not one row each")
    if not np.isfinite(table).all():
        raise InputError("an embedding has a value that is not a finite number")
    if not 0 < threshold <= 1:
        raise InputError(f"the threshold {threshold} is not above 0 and up to 1", hint="0.85 is the default")
    forms = [text.strip() for text in texts]
    counts = Counter(forms)
    vector: dict[str, tuple[float, ...]] = {}
    for form, row in zip(forms, map(tuple, table.tolist()), strict=True):
        vector[form] = min(vector.get(form, row), row)  # whichever came first
    ordered = sorted(counts, key=lambda form: (-counts[form], _canonical(form)))
    rows = np.array([vector[form] for form in ordered])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    founders: dict[tuple[object, ...], list[int]] = {}
    group_of: dict[str, int] = {}
    for at, form in enumerate(ordered):
        near = founders.setdefault(numbers_in(form), [])
        cosines = np.round(rows[near] @ rows[at], 12) if near else np.zeros(0)
        if near and cosines.max() >= threshold:
            group_of[form] = near[int(np.argmax(cosines))]
        else:
            near.append(at)
            group_of[form] = at
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(group_of[form], len(numbers)) for form in forms)


def _canonical(form: str) -> tuple[int, str]:
    return len(form), form


def _shown(text: str) -> str:
    plain = text.strip()
    if len(plain) <= _LONGEST:
        return plain
    half = _LONGEST // 2
    return f"{plain[:half]} […] {plain[-half:]}"
