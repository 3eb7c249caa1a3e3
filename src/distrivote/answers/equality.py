"""When two answers are the same: the named rules, and a caller's own.

    text       as written, except for white space at both ends
    notation   by the plain rules of answers.forms: 0.5 = \\frac12, and x(x+1) is not x^2+x
    math       by notation, and where notation can't tell, as mathematics, by math-verify
    choice     as options of a multiple choice: (B), B. and b are the same
    short      as a chat reply states them: without case, articles, markup and units; numbers as numbers
    json       as JSON values, whatever their layout and the order of keys
    tool       the same functions with the same arguments, in any order
    program    as Python, without layout, comments and annotations
    content    as whole texts with similar content

`math` needs the extra `math`. Without it, notation decides wherever that can't change a grade, and a
note says so; a right answer that is a formula is an error, because a machine with the extra would grade it
differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from distrivote.answers.forms import form_of, is_formula, normal_form, plainly_equal
from distrivote.answers.mathverify import MathEqual, math_equal, shared_verifier
from distrivote.answers.remarks import Remarks
from distrivote.defaults import SAME
from distrivote.errors import InputError, MissingPackageError
from distrivote.names import SAME as ROLE
from distrivote.names import Own, check_call, found, guarded, guarded_whole, own_of, unknown

Equal: TypeAlias = Callable[[str, str], bool]
Key: TypeAlias = Callable[[str], Hashable]


class Sorted(NamedTuple):
    """All answers to a question, sorted into classes together."""

    ids: Sequence[int]
    """The class of each answer; -1 for an answer that is set aside and has no vote."""

    notes: tuple[str, ...] = ()
    """Notes about the answers, a sentence each."""


Sort: TypeAlias = Callable[[str, Sequence[str]], Sorted]
"""The question and the distinct answers to it -> their classes."""

RULES_VERSION = 1
"""Increased when the rules of `answers` give another verdict than before: then runs are graded again."""


@dataclass(frozen=True, slots=True)
class Equality:
    """When two answers are the same.

    Answers with the same `key` are the same; then `equal` is called for every two keys. Without a key answers
    count as written. If two answers can be compared only together with all others, or with the question,
    `sort` does it instead. Your own `Equality` needs a name, which runs store:

    >>> from distrivote.answers.equivalence import classify
    >>> classify(["Paris", "paris", "Rome"], Equality("any case", key=str.lower)).labels
    ('Paris', 'Rome')
    """

    name: str
    key: Key | None = None
    equal: Equal | None = None
    sort: Sort | None = None
    question: str = ""
    """The question that the answers belong to, for `sort`."""

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("an Equality needs a name: runs store it")

    def about(self, question: str) -> Equality:
        """Return the equality for the answers to one question."""
        return self if self.sort is None else replace(self, question=question)

    @property
    def is_named(self) -> bool:
        """Whether it is one of the named rules."""
        return NAMED.get(self.name) == self.about("")

    @property
    def is_math(self) -> bool:
        return self.equal is math_equal

    @property
    def version(self) -> str:
        """What else a grade depends on: the version of the rules and, for mathematics, of math-verify."""
        if not self.is_math:
            return str(RULES_VERSION)
        return f"{RULES_VERSION}, math-verify {shared_verifier().version or 'not installed'}"

    def for_pool(self, budget: float | None = None) -> Equality:
        """Return the equality for one pool of answers, with its own time limit and count of doubts."""
        if not self.is_math:
            return self
        judge = shared_verifier().equal(budget) if shared_verifier().is_installed else NotationOnly()
        return replace(self, equal=judge)

    def remembering(self) -> Equality:
        """Return the equality with a cached `equal`: a caller's function is called once per pair."""
        if self.equal is None or self.is_named or isinstance(self.equal, (MathEqual, NotationOnly)):
            return self
        return replace(self, equal=cache(self.equal))

    def remarks(self) -> Remarks:
        """Return the remarks about the comparisons in this pool so far."""
        return self.equal.remarks() if isinstance(self.equal, (MathEqual, NotationOnly)) else Remarks()

    def needs_worker(self, answer: str) -> bool:
        """Say whether an answer is likely to be compared by math-verify, which takes a second to load."""
        is_math = self.is_math or isinstance(self.equal, MathEqual)
        return is_math and is_formula(answer) and shared_verifier().is_installed

    def check_truth(self, truth: str | None) -> None:
        """Raise MissingPackageError if math-verify is needed to tell which answers equal the right one."""
        if truth is None or not (self.is_math or isinstance(self.equal, NotationOnly)):
            return
        if is_formula(truth) and not shared_verifier().is_installed:
            shown = truth if len(truth) <= 60 else truth[:59] + "…"
            error = MissingPackageError("math-verify", "math", f"grading by the right answer {shown}")
            error.add_note('`same="notation"` grades without it, and takes most equal formulas for different')
            raise error


@runtime_checkable
class Comparing(Protocol):
    """An object that has an equality, as a kind of answer does."""

    @property
    def same(self) -> Equality: ...


Same: TypeAlias = str | Equality | Comparing | Callable[..., Any]
"""A name, an `Equality`, a kind of answer, or a function: (a, b) -> bool, or (answer) -> key."""


class NotationOnly:
    """The plain rules instead of mathematics, if math-verify is not installed."""

    def __init__(self) -> None:
        self._formulas: set[str] = set()

    def verdict(self, a: str, b: str) -> bool | None:
        self._formulas.update(answer for answer in (a, b) if form_of(answer).is_open)
        return plainly_equal(a, b)

    def __call__(self, a: str, b: str) -> bool:
        return bool(self.verdict(a, b))

    def remarks(self) -> Remarks:
        return Remarks(n_formulas=len(self._formulas))


_CHOICE = re.compile(
    r"(?:(?:the|correct|final|answer|option|choice|is|letter)[ :]+)*"
    r"[(\[]?([A-Za-z])(?:[)\].:]+(?:\s.*)?)?",
    re.IGNORECASE | re.DOTALL,
)


def choice_key(answer: str) -> Hashable:
    """Return the letter of an option, else the text in lower case under the plain rules.

    >>> [choice_key(text) for text in ("(B)", "b.", r"\\text{B}", "option B", "B) 12 cm", "12 cm")]
    ['B', 'B', 'B', 'B', 'B', '12cm']
    """
    form = form_of(answer)
    for text in (answer.strip(), form.latex):
        found = _CHOICE.fullmatch(text)
        if found:
            return found[1].upper()
    return form.key.casefold() if isinstance(form.key, str) else form.key


# The modules of kinds are imported on use: compiling their patterns takes as long as a small vote.


def _short_key(answer: str) -> Hashable:
    from distrivote.answers.folding import folded

    return folded(answer)


def _json_key(answer: str) -> Hashable:
    from distrivote.answers.structured.same import text_key

    return text_key(answer)


def _tool_key(answer: str) -> Hashable:
    from distrivote.answers.structured.tools import calls_from, calls_key

    return calls_key(calls_from(answer)) or answer


def _program_key(answer: str) -> Hashable:
    from distrivote.answers.code.program import program_key

    return program_key(answer)


def _by_content(_question: str, answers: Sequence[str]) -> Sorted:
    from distrivote.answers.texts import sort_texts

    return Sorted(sort_texts(answers))


NAMED = {
    "text": Equality("text"),
    "notation": Equality("notation", normal_form, plainly_equal),
    "math": Equality("math", normal_form, math_equal),
    "choice": Equality("choice", choice_key),
    "short": Equality("short", _short_key),
    "json": Equality("json", _json_key),
    "tool": Equality("tool", _tool_key),
    "program": Equality("program", _program_key),
    "content": Equality("content", sort=_by_content),
}


def equality(same: Same | None = None) -> Equality:
    """Return the equality of that name, `math` by default.

    >>> equality("text").name, equality().name
    ('text', 'math')
    """
    if isinstance(same, Equality):
        return guarded_whole(ROLE, same.name, same)
    if isinstance(same, Comparing):
        return equality(same.same)
    if callable(same):
        return _own_equality(own_of(ROLE, same))
    if same is not None and not isinstance(same, str):
        raise InputError(
            f"same is {same!r}",
            hint=f"give one of {', '.join(NAMED)}, a function (a, b) -> bool, or an Equality",
            argument="same",
        )
    name = SAME if same is None else same
    if name in NAMED:
        return NAMED[name]
    # `judge` and `command:CMD` are resolved in `judging`, where they can be carried out.
    own = found(ROLE, name, (*NAMED, "judge", "command"))
    if own is None:
        raise unknown(ROLE, name, NAMED)
    return _own_equality(own)


def _own_equality(own: Own) -> Equality:
    if isinstance(own.value, Equality):
        return equality(replace(own.value, name=own.name))
    is_pairwise = check_call(ROLE, own, 2, 1) == 2
    call = guarded(ROLE, own)
    return Equality(own.name, equal=call) if is_pairwise else Equality(own.name, key=call)
