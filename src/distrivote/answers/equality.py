"""When two answers are one: the named notions, and a caller's own.

    text       as written, white space around aside
    notation   by the plain rules of answers.forms: 0.5 = \\frac12, and x(x+1) is not x^2+x
    math       by notation, and where that can't tell, as mathematics, by math-verify
    choice     as options of a multiple choice: (B), B. and b are one
    short      as a chat reply states them: case, articles, markup and units aside; numbers as numbers
    json       as JSON values, whatever their layout and the order of keys
    tool       the same functions with the same arguments, in any order
    program    as Python, layout, comments and annotations aside
    content    as whole texts that say much the same

`math` needs the extra `math`. Without it, notation decides wherever that can't change a grade, which a
note says; a right answer that is a formula is an error, for the next machine would grade it otherwise.
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
from distrivote.names import Own, check_call, found, own_of, unknown

Equal: TypeAlias = Callable[[str, str], bool]
Key: TypeAlias = Callable[[str], Hashable]


class Sorted(NamedTuple):
    """All answers to a question, sorted at once."""

    ids: Sequence[int]
    """The class of each; -1 for an answer that is set aside and has no vote."""

    notes: tuple[str, ...] = ()
    """What there is to say about them, a sentence each."""


Sort: TypeAlias = Callable[[str, Sequence[str]], Sorted]
"""The question and the distinct answers to it -> their classes."""

RULES_VERSION = 1
"""Raised when the rules of `answers` come to another verdict than before: then runs are graded again."""


@dataclass(frozen=True, slots=True)
class Equality:
    """When two answers are one.

    Answers with the same `key` are one; then `equal` is asked for every two keys. Without a key answers
    count as written. Where two answers can be compared only in view of all others or of the question, `sort`
    does it instead. One of your own needs a name, which runs keep:

    >>> from distrivote.answers.equivalence import classify
    >>> classify(["Paris", "paris", "Rome"], Equality("any case", key=str.lower)).labels
    ('Paris', 'Rome')
    """

    name: str
    key: Key | None = None
    equal: Equal | None = None
    sort: Sort | None = None
    question: str = ""
    """What the answers answer, for `sort`."""

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("an Equality needs a name: runs keep it")

    def about(self, question: str) -> Equality:
        """Return it for the answers to one question."""
        return self if self.sort is None else replace(self, question=question)

    @property
    def is_named(self) -> bool:
        """Whether it is one of those that have names of their own."""
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
        """Return it for one pool of answers, with seconds to spend and doubts of its own."""
        if not self.is_math:
            return self
        judge = shared_verifier().equal(budget) if shared_verifier().is_installed else NotationOnly()
        return replace(self, equal=judge)

    def remembering(self) -> Equality:
        """Return it with an `equal` that asks a function of the caller's about no two answers twice."""
        if self.equal is None or self.is_named or isinstance(self.equal, (MathEqual, NotationOnly)):
            return self
        return replace(self, equal=cache(self.equal))

    def remarks(self) -> Remarks:
        """Return what there is to say of the comparisons in this pool so far."""
        return self.equal.remarks() if isinstance(self.equal, (MathEqual, NotationOnly)) else Remarks()

    def needs_worker(self, answer: str) -> bool:
        """Say whether an answer is likely to be compared by math-verify, which takes a second to load."""
        is_math = self.is_math or isinstance(self.equal, MathEqual)
        return is_math and is_formula(answer) and shared_verifier().is_installed

    def check_truth(self, truth: str | None) -> None:
        """Raise MissingPackageError if it takes math-verify to say which answers equal a right one."""
        if truth is None or not (self.is_math or isinstance(self.equal, NotationOnly)):
            return
        if is_formula(truth) and not shared_verifier().is_installed:
            shown = truth if len(truth) <= 60 else truth[:59] + "…"
            error = MissingPackageError("math-verify", "math", f"grading by the right answer {shown}")
            error.add_note('`same="notation"` grades without it, and takes most equal formulas for different')
            raise error


@runtime_checkable
class Comparing(Protocol):
    """What says when two answers are one, as a kind of answer does."""

    @property
    def same(self) -> Equality: ...


Same: TypeAlias = str | Equality | Comparing | Callable[..., Any]
"""A name, an `Equality`, a kind of answer, or a function: (a, b) -> bool, or (answer) -> key."""


class NotationOnly:
    """The plain rules in the place of mathematics, where math-verify is not installed."""

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
    """Return the letter of an option, else the text in small letters under the plain rules.

    >>> [choice_key(text) for text in ("(B)", "b.", r"\\text{B}", "option B", "B) 12 cm", "12 cm")]
    ['B', 'B', 'B', 'B', 'B', '12cm']
    """
    form = form_of(answer)
    for text in (answer.strip(), form.latex):
        found = _CHOICE.fullmatch(text)
        if found:
            return found[1].upper()
    return form.key.casefold() if isinstance(form.key, str) else form.key


# The modules of kinds load on use: their patterns take as long to compile as a small vote.


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
    """Return the notion of that name, `math` if nothing is said.

    >>> equality("text").name, equality().name
    ('text', 'math')
    """
    if isinstance(same, Equality):
        return same
    if isinstance(same, Comparing):
        return same.same
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
    # `judge` and `command:CMD` are read elsewhere, where they can be carried out.
    own = found(ROLE, name, (*NAMED, "judge", "command"))
    if own is None:
        raise unknown(ROLE, name, NAMED)
    return _own_equality(own)


def _own_equality(own: Own) -> Equality:
    if isinstance(own.value, Equality):
        return replace(own.value, name=own.name)
    is_pairwise = check_call(ROLE, own, 2, 1) == 2
    return Equality(own.name, equal=own.value) if is_pairwise else Equality(own.name, key=own.value)
