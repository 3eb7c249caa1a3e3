"""When two answers are one: the four named notions, and a caller's own.

    text       as written, white space around aside
    notation   by the plain rules of answers.forms: 0.5 = \\frac12, and x(x+1) is not x^2+x
    math       by notation, and where that can't tell, as mathematics, by math-verify
    choice     as options of a multiple choice: (B), B. and b are one

`math` needs the extra `math`. Without it, notation decides wherever that can't change a grade, which a
note says; a right answer that is a formula is an error, for the next machine would grade it otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from distrivote.answers.forms import form_of, is_formula, normal_form, plainly_equal
from distrivote.answers.mathverify import MathEqual, math_equal, shared_verifier
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError, MissingPackageError, UnknownNameError
from distrivote.problem import DEFAULT_SAME

Equal: TypeAlias = Callable[[str, str], bool]
Key: TypeAlias = Callable[[str], Hashable]

RULES_VERSION = 1
"""Raised when the rules of `answers` come to another verdict than before: then runs are graded again."""


@dataclass(frozen=True, slots=True)
class Equality:
    """When two answers are one.

    Answers with the same `key` are one; then `equal` is asked for every two keys. Without a key answers
    count as written. One of your own needs a name, which runs keep:

    >>> from distrivote.answers.equivalence import classify
    >>> classify(["Paris", "paris", "Rome"], Equality("any case", key=str.lower)).labels
    ('Paris', 'Rome')
    """

    name: str
    key: Key | None = None
    equal: Equal | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("an Equality needs a name: runs keep it")

    @property
    def is_named(self) -> bool:
        """Whether it is one of those that have names of their own."""
        return NAMED.get(self.name) == self

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


NAMED = {
    "text": Equality("text"),
    "notation": Equality("notation", normal_form, plainly_equal),
    "math": Equality("math", normal_form, math_equal),
    "choice": Equality("choice", choice_key),
}


def equality(same: str | Equality | None = None) -> Equality:
    """Return the notion of that name, `math` if nothing is said.

    >>> equality("text").name, equality().name
    ('text', 'math')
    """
    if isinstance(same, Equality):
        return same
    if same is not None and not isinstance(same, str):
        raise InputError(
            f"same is {same!r}", hint=f"give one of {', '.join(NAMED)}, or an Equality", argument="same"
        )
    name = DEFAULT_SAME if same is None else same
    if name not in NAMED:
        raise UnknownNameError("way to compare answers", name, NAMED, argument="same")
    return NAMED[name]
